"""A real HTTP server that receives webhooks, for tests.

Example:
    >>> with WebhookReceiver() as receiver:
    ...     requests.post(receiver.url, json={})
    ...     receiver.wait_for(1)[0].body
    {}
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Received:
    """A request; the names of its headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered.

    Args:
        seconds: waited for before it is.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0


class WebhookReceiver:
    """Records what it is sent, on a free loopback port.

    Args:
        tls: answers with its certificate; None speaks without TLS.

    Attributes:
        reply: makes the answer to a request; at first an empty 200 for each.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.reply: Callable[[Received], Reply] = lambda received: Reply()
        self._received: list[Received] = []
        self._more = threading.Condition()
        self._ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def received(self) -> list[Received]:
        """What came so far."""
        with self._more:
            return list(self._received)

    def wait_for(self, count: int, seconds: float = 20.0) -> list[Received]:
        """What came, once there are so many. Raises AssertionError when there are not in time."""
        deadline = time.monotonic() + seconds
        with self._more:
            while len(self._received) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(self._received)} of {count} requests came in {seconds:g} s"
                self._more.wait(left)
            return list(self._received)

    def take(self, received: Received) -> Reply:
        """Record a request; the answer to it, when it is time."""
        with self._more:
            self._received.append(received)
            self._more.notify_all()
        reply = self.reply(received)
        self._ending.wait(reply.seconds)
        return reply

    def __enter__(self) -> WebhookReceiver:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = receiver.take(Received(self.command, self.path, headers, raw))
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                self.close_connection = True  # the caller did not wait

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print nothing."""

    return Handler
