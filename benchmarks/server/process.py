"""A server process: starting it, and what it costs, read from /proc (Linux)."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0


@dataclass(frozen=True)
class Target:
    """The server under test; `pid` is None when nobody said which process it is (then CPU and memory stay unknown)."""

    url: str
    pid: int | None
    start_seconds: float | None = None

    def cpu_seconds(self) -> float | None:
        """Processor time used so far by the process and its children."""
        if self.pid is None:
            return None
        return sum(_cpu(pid) for pid in _tree(self.pid))

    def memory_mb(self) -> float | None:
        """Proportional set size of the process and its children, in MB."""
        if self.pid is None:
            return None
        return sum(_pss(pid) for pid in _tree(self.pid)) / 1024


@contextmanager
def own_server(embeddings: str, data: Path | None = None, **variables: str) -> Iterator[Target]:
    """A fresh server on a free loopback port, ended afterwards.

    Args:
        embeddings: the provider.
        data: its data folder; without it, an empty one that is deleted at the end.
        variables: further environment variables for it.
    """
    folder = Path(tempfile.mkdtemp(prefix="hindsight-bench-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "hindsight_server.cli.main", "serve", "--port", str(port)]
    log = (folder / "server.log").open("wb")
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--data-dir", str(data or folder / "data")],
        stdout=log,
        stderr=log,
        env={**os.environ, "HINDSIGHT_API_EMBEDDINGS_PROVIDER": embeddings, **variables},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        while not healthy(url):
            if process.poll() is not None or time.perf_counter() - began > START_SECONDS:
                raise SystemExit("The server did not start:\n" + (folder / "server.log").read_text())
            time.sleep(0.02)
        yield Target(url, process.pid, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
