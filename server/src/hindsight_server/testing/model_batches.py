"""Files and batches of OpenAI's API on a `ModelServer`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from email.parser import BytesParser
from typing import Any

Answer = Callable[[Mapping[str, Any]], tuple[int, dict[str, Any]]]
"""For the body of a question: a status and the body of its answer."""


class Batches:
    """What was left with the server. A batch is answered when it is looked at, unless it is held back.

    Attributes:
        held: batches are worked on and never done.
        ends: the status in which a batch ends; all but ``completed`` and ``expired`` leave it without answers.
        refused: the status with which batches are refused, or None.
        made: the batches in the order of their making, with their questions.
        files: the files that are there, by id.
        looks: how often a batch was looked at.
    """

    def __init__(self, *, held: bool = False, ends: str = "completed", refused: int | None = None) -> None:
        self.held = held
        self.ends = ends
        self.refused = refused
        self.made: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.looks = 0
        self._count = 0
        self._lock = threading.Lock()

    def handle(self, method: str, path: str, data: bytes, answer: Answer) -> tuple[int, bytes]:
        """Answer a request; a status and a body."""
        with self._lock:
            if path.startswith("/files"):
                return self._file(method, path, data)
            status, body = self._batch(method, path, data, answer)
            return status, json.dumps(body).encode()

    def _file(self, method: str, path: str, data: bytes) -> tuple[int, bytes]:
        if method == "POST":
            boundary = data.split(b"\r\n", 1)[0][2:]
            head = b"Content-Type: multipart/form-data; boundary=" + boundary + b"\n\n"
            sent = next(part for part in BytesParser().parsebytes(head + data).walk() if part.get_filename())
            content = sent.get_payload(decode=True)
            if not isinstance(content, bytes):
                raise TypeError("no file came")
            return 200, json.dumps({"id": self._kept(content), "object": "file", "purpose": "batch"}).encode()
        file_id = path.split("/")[2]
        found = self.files.pop(file_id, None) if method == "DELETE" else self.files.get(file_id)
        if found is None:
            return 404, b"{}"
        return 200, found if method == "GET" else json.dumps({"id": file_id, "deleted": True}).encode()

    def _batch(self, method: str, path: str, data: bytes, answer: Answer) -> tuple[int, dict[str, Any]]:
        if self.refused is not None:
            return self.refused, {"error": {"code": "refused"}}
        if path == "/batches" and method == "GET":
            return 200, {"object": "list", "data": self.made[::-1], "has_more": False}
        if path == "/batches":
            made = {"object": "batch", "status": "in_progress", "output_file_id": None, **json.loads(data)}
            self._count += 1
            self.made.append({"id": f"batch_{self._count}", **made})
            return 200, self.made[-1]
        batch = next((one for one in self.made if one["id"] == path.split("/")[2]), None)
        if batch is None:
            return 404, {}
        if path.endswith("/cancel"):
            batch["status"] = "cancelled"
        else:
            self.looks += 1
        if batch["status"] == "in_progress" and not self.held:
            self._end(batch, answer)
        return 200, batch

    def _end(self, batch: dict[str, Any], answer: Answer) -> None:
        batch["status"] = self.ends
        if self.ends not in ("completed", "expired"):
            return
        lines = self.files[batch["input_file_id"]].splitlines()
        rows = []
        for line in lines if self.ends == "completed" else lines[: len(lines) // 2]:  # the time was up halfway
            asked = json.loads(line)
            status, body = answer(asked["body"])
            response = {"status_code": status, "body": body}
            rows.append(json.dumps({"custom_id": asked["custom_id"], "response": response, "error": None}))
        batch["output_file_id"] = self._kept("\n".join(rows).encode())

    def _kept(self, content: bytes) -> str:
        self._count += 1
        self.files[f"file-{self._count}"] = content
        return f"file-{self._count}"
