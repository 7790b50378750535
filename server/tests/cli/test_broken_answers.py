"""Answers that end before they are whole: a server that is stopped, or a connection that is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.cli.api import Api, ApiError
from hindsight_server.cli.archives import export
from hindsight_server.cli.state import State

ARCHIVE = b"PK" + b"x" * 998


class _Server(BaseHTTPRequestHandler):
    """Exports a bank, and loses the connection after half of the archive, and of the list of banks."""

    def do_POST(self) -> None:
        self._answer(json.dumps({"operation_id": "o"}).encode())

    def do_GET(self) -> None:
        if self.path.endswith("/operations/o"):
            result = {"download_url": "/archive", "byte_size": len(ARCHIVE), "documents_exported": 1}
            status = {"status": "completed", "result_metadata": {**result, "facts_exported": 1}}
            self._answer(json.dumps(status).encode())
        else:
            self._answer(ARCHIVE, half=True)

    def _answer(self, body: bytes, *, half: bool = False) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if half else body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def state() -> Iterator[State]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield State(url=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def test_half_an_answer_is_told_as_such(state: State) -> None:
    with pytest.raises(ApiError, match="broke off") as told:
        Api(state).get("/v1/default/banks")
    assert told.value.code == 2


def test_half_an_archive_is_no_success(state: State, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        export(state, "b", "transfer/export", tmp_path / "b.zip")
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert "is not whole: 500 of 1000 bytes came" in said.err
    assert said.out == ""
