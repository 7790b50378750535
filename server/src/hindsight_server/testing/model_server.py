"""A language model's server on loopback whose answers are written beforehand: OpenAI's API, and Anthropic's.

For tests with a real `hindsight serve`, and for what only a wire can do wrong: late, torn, mistyped or missing answers.

Example:
    >>> with ModelServer([{"facts": []}, Fail(429, {"retry-after": "1"}), "Oslo."]) as model:
    ...     with ServerProcess(folder, environment=model.environment()) as server:
    ...         client = Hindsight(base_url=server.url)
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from hindsight_server.testing.model_batches import Batches
from hindsight_server.testing.model_wire import anthropic_answer, openai_answer, read_question


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, in the same words for both APIs.

    Args:
        system: the system messages, joined.
        text: the text of the last message that is not the model's own.
        tools: the names of the offered tools.
        tool_choice: ``auto``, ``required``, a tool's name, or None without tools.
        schema: the JSON schema of a structured answer, when the API was asked for one.
        image_count: pictures in all messages.
        body: the request as it came.
        headers: its headers, names in lower case.
        path: its path with the query.
    """

    system: str
    text: str
    tools: tuple[str, ...]
    tool_choice: str | None
    schema: Mapping[str, Any] | None
    image_count: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """An answer.

    Args:
        tools: the tools it calls, with their arguments; a string is sent as it is.
        finish: why it ended; ``length`` is a cut-off answer.
        reasoning: goes into the field for it, beside the text.
        seconds: how long the answer takes.
    """

    text: str | None = ""
    tools: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    finish: str | None = None
    reasoning: str | None = None
    input_tokens: int = 10
    output_tokens: int = 5
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fail:
    """An error of the provider; `message` stands where it puts its own."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted failure"
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """Bytes in the place of an answer. With `torn`, the connection ends before all that was announced is sent."""

    data: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    torn: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends without an answer."""


Reply = Say | Fail | Raw | Drop | str | Mapping[str, Any]
"""What the server does; a string is the text of an answer, a mapping the JSON object of one."""

Script = Iterable[Reply] | Callable[[Question], Reply]


class ModelServer:
    """Answers each question with the next reply of a script, or with what a function makes of it.

    It listens on a free loopback port from the start to the end of its ``with`` block. A question after the end of
    the script is refused (400) and noted in `surplus`.

    Args:
        script: the replies in order; or a function, called for one question at a time.
        seconds: how long each answer takes, besides its own time.
        batches: where files and batches are left; their questions are answered by the script too. None knows none.

    Attributes:
        questions: what was asked, in the order of arrival.
        surplus: questions that came after the end of the script.
    """

    def __init__(self, script: Script, *, seconds: float = 0.0, batches: Batches | None = None) -> None:
        self._make = script if callable(script) else None
        self._replies: Iterator[Reply] = iter(()) if callable(script) else iter(script)
        self._seconds = seconds
        self.batches = batches
        self._lock = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.questions: list[Question] = []
        self.surplus = 0

    @property
    def url(self) -> str:
        """The address for a client of OpenAI's API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def environment(self, *, provider: str = "openai", **more: str) -> dict[str, str]:
        """The variables that make a server ask this one.

        Args:
            more: further settings without their prefix, for example ``LLM_TIMEOUT="2"``.
        """
        named = {"LLM_PROVIDER": provider, "LLM_MODEL": "scripted", "LLM_BASE_URL": self.url} | more
        return {f"HINDSIGHT_API_{name}": value for name, value in named.items()}

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, count: int, seconds: float = 30.0) -> bool:
        """Wait until so many questions have arrived; False when they do not in time."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self.questions) >= count, seconds)

    def reply(self, question: Question) -> tuple[Reply, float]:
        """The reply to a question, and the seconds before it. Called by the connections."""
        with self._lock:
            self.questions.append(question)
            self._lock.notify_all()
            found = self._make(question) if self._make else next(self._replies, None)
            if found is None:
                self.surplus += 1
                found = Fail(400, message="the script has ended", code="script_ended")
        own = found.seconds if isinstance(found, Say | Raw) else 0.0
        return found, self._seconds + own


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self._of_batches("POST", data):
            return
        body = json.loads(data)
        headers = {name.lower(): value for name, value in self.headers.items()}
        question = Question(**read_question(body), body=body, headers=headers, path=self.path)
        reply, seconds = self.server.owner.reply(question)
        time.sleep(seconds)
        if isinstance(reply, Drop):
            self.close_connection = True
            self.connection.close()
        elif isinstance(reply, Raw):
            self._send(reply.status, {"content-type": reply.content_type}, reply.data, torn=reply.torn)
        elif isinstance(reply, Fail):
            error = {"message": reply.message, "type": "scripted_error", "code": reply.code}
            self._send(reply.status, reply.headers, json.dumps({"error": error}).encode())
        else:
            self._send(200, {}, json.dumps(self._answer(question, _said(reply))).encode())

    def do_DELETE(self) -> None:
        if not self._of_batches("DELETE", b""):
            self._send(404, {}, b"{}")

    def do_GET(self) -> None:
        if self._of_batches("GET", b""):
            return
        listed = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        self._send(200, {}, json.dumps(listed).encode())

    def _of_batches(self, method: str, data: bytes) -> bool:
        """Answer a request for files and batches; False when it is none."""
        path = self.path.partition("?")[0].removeprefix("/v1")
        if not path.startswith(("/files", "/batches")):
            return False
        batches = self.server.owner.batches
        status, answer = (404, b"{}") if batches is None else batches.handle(method, path, data, self._row)
        self._send(status, {}, answer)
        return True

    def _row(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and answer of one question of a batch."""
        question = Question(**read_question(body), body=body, headers={}, path="batch")
        reply, _ = self.server.owner.reply(question)
        if isinstance(reply, Fail):
            return reply.status, {"error": {"message": reply.message, "code": reply.code}}
        if isinstance(reply, Raw | Drop):
            raise TypeError("a batch answers with text or Fail only")
        return 200, openai_answer(_said(reply))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def _answer(self, question: Question, said: Say) -> dict[str, Any]:
        if self.path.startswith("/v1/messages"):
            return anthropic_answer(said, schema=question.schema is not None)
        return openai_answer(said)

    def _send(self, status: int, headers: Mapping[str, str], data: bytes, *, torn: bool = False) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data) + torn))
        self.end_headers()
        self.wfile.write(data)
        if torn:
            self.close_connection = True


def _said(reply: Say | str | Mapping[str, Any]) -> Say:
    if isinstance(reply, Say):
        return reply
    return Say(text=reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False))
