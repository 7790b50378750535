"""A real `hindsight serve` process, for tests and benchmarks.

Example:
    >>> with ServerProcess(folder) as server:
    ...     client = Hindsight(base_url=server.url)
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0


class ServerFailed(RuntimeError):
    """The server ended, or was not ready in time; the message holds the end of its log."""


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """A server of its own on a free loopback port. It can be killed and started again on the same data.

    Args:
        folder: holds its data and its log.
        environment: variables of the server; none of the caller's ``HINDSIGHT_*`` reach it. The embedder is the
            hashing one unless it is named here.
        arguments: more arguments of ``hindsight serve``.
    """

    def __init__(
        self, folder: Path, *, environment: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self._environment = {"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "hashing", **(environment or {})}
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ServerFailed("the server was not started")
        return self._process.pid

    def start(self) -> None:
        """Start and wait until it is ready to recall. Raises ServerFailed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
        command = [sys.executable, "-m", "hindsight_server.cli.main", "serve", "--port", str(self.port)]
        command += ["--data-dir", str(self.folder / "data"), *self._arguments]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 -- our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment | self._environment,
                start_new_session=True,
            )
        self._wait_ready(self._process)

    def stop(self) -> int:
        """End it in order (SIGTERM), by force when it does not obey; its exit code."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(_STOP_SECONDS)
        return self.kill()

    def kill(self) -> int:
        """End it as a crash would (SIGKILL); its exit code."""
        if self._process is None:
            return 0
        self._process.kill()
        return self._process.wait(_STOP_SECONDS)

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise ServerFailed(f"the server ended with {process.returncode}: {self._log_end()}")
            if self._is_ready():
                return
            time.sleep(0.05)
        self.kill()
        raise ServerFailed(f"the server was not ready in {_START_SECONDS:.0f} s: {self._log_end()}")

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/health/ready", timeout=5) as answer:  # noqa: S310 -- loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _log_end(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]
