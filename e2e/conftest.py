"""A real `hindsight serve` process for the end-to-end tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

START_SECONDS = 60.0
STOP_SECONDS = 20.0


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(folder: Path, *, port: int | None = None) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server with the hashing embedder on `folder`; returns once it is ready to recall."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    environment["HINDSIGHT_API_EMBEDDINGS_PROVIDER"] = "hashing"
    command = [sys.executable, "-m", "hindsight_server.cli.main", "serve", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--data-dir", str(folder / "data")]
    log = folder / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the server ended with {process.returncode}: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(url + "/health/ready", timeout=5) as answer:
                if answer.status == 200:
                    return process, url
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    stop_server(process)
    pytest.fail(f"the server was not ready in {START_SECONDS} s: {log.read_text()[-2000:]}")


def stop_server(process: subprocess.Popen[bytes]) -> int:
    """End the server by SIGTERM, and by SIGKILL when it does not obey; its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait(STOP_SECONDS)


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real server with an empty data folder, shared by the session: give each test its own bank."""
    process, url = start_server(tmp_path_factory.mktemp("hindsight-server"))
    try:
        yield url
    finally:
        stop_server(process)
