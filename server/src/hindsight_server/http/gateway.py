"""What every request passes before it is routed: request id, key, size, raw path, and the client going away.

One plain ASGI layer, since each framework layer costs more than all of this together.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import math
import re
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import quote, unquote_to_bytes

import orjson

from hindsight_server.domain.errors import Overloaded
from hindsight_server.http.admission import Admission
from hindsight_server.http.ignored import HEADER, ignored_header
from hindsight_server.http.metrics import Metrics
from hindsight_server.http.scope import App, Message, Receive, Scope, Send, header, request_id_of

logger = logging.getLogger(__name__)
_LOCAL_HOST = re.compile(rb"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_OPEN = ("/health", "/health/live", "/health/ready", "/version")
_UPLOADS = "/files/retain"
_CLIENT_CLOSED = 499
_DRAIN_SECONDS = 10.0
_DRAIN_BYTES = 32 << 20
_BODY_SECONDS = 20.0
_LEAST_BYTES_A_SECOND = 16 * 1024


class Refused(Exception):
    """The request is answered before it reaches a route."""

    def __init__(self, status: int, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class TooLarge(Refused):
    """The body is larger than what is read."""


class Gateway:
    """Wraps the application.

    Args:
        app: the routed application.
        metrics: where requests are counted.
        api_key: the key that requests must carry, or None.
        max_body_bytes: the largest body that is read.
        admissions: by the end of the path of a search, what is asked before its body is read, so that refusing one
            costs next to nothing.
        body_seconds: how long a body may take, besides a second for each 16 KiB of it; a slower one is answered with
            408, so that clients which send a byte now and then can't hold connections for ever.

    Attributes:
        max_upload_bytes: the largest body of an upload of files; at first the same as of every other one.
    """

    def __init__(
        self,
        app: App,
        metrics: Metrics,
        *,
        api_key: str | None,
        max_body_bytes: int,
        admissions: Mapping[str, Admission] | None = None,
        body_seconds: float = _BODY_SECONDS,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._key = api_key.encode() if api_key else None
        self._max_body_bytes = max_body_bytes
        self.max_upload_bytes = max_body_bytes
        self._admissions = admissions or {}
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["request_id"] = request_id_of(scope)
        answer = _Answer(send, scope)
        with self._metrics.request() as outcome:
            try:
                await self._pass(scope, receive, answer)
            except TooLarge as refusal:
                await answer.error(refusal.status, refusal.detail, refusal.headers, last=False)
                await _drain(receive, max(self.max_upload_bytes, _DRAIN_BYTES))
                await answer.send({"type": "http.response.body", "body": b""})
            except Refused as refusal:
                await answer.error(refusal.status, refusal.detail, refusal.headers)
            except Exception:
                logger.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
                if not answer.status:
                    await answer.error(500, internal_error(scope))
                elif not answer.complete:
                    raise  # the connection is cut, so that half an answer is not taken for a whole one
            outcome.status = answer.status or _CLIENT_CLOSED
            outcome.operation = getattr(scope.get("route"), "operation_id", None) or "other"

    async def _pass(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        scope["path"] = _raw_path(scope)
        self._authorize(scope)
        for end, admission in self._admissions.items():
            if scope["method"] == "POST" and scope["path"].endswith(end):
                _refuse_when_full(admission)
        body = await self._read_body(scope, receive)
        if body is None:
            return
        replay = _Replay(body, receive)
        work = asyncio.ensure_future(self._app(scope, replay.receive, answer.send))
        watch = asyncio.ensure_future(replay.disconnected())
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not answer.status:
                work.cancel()
            await work
        except asyncio.CancelledError:
            if not work.cancelled():
                work.cancel()
                raise
        finally:
            watch.cancel()

    def _authorize(self, scope: Scope) -> None:
        if self._key is None:
            _check_local(scope)
            return
        if scope["path"] in _OPEN:
            return
        scheme, _, key = header(scope, b"authorization").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), self._key):
            detail = "Missing or wrong API key. Send it as 'Authorization: Bearer <key>'."
            raise Refused(401, detail, ((b"www-authenticate", b"Bearer"),))

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None when the client went away before it was complete."""
        encoding = header(scope, b"content-encoding").strip().lower()
        if encoding not in (b"", b"identity"):
            raise Refused(415, "The body is compressed, which this server does not read. Send it as it is.")
        declared = header(scope, b"content-length")
        most = self.max_upload_bytes if scope["path"].endswith(_UPLOADS) else self._max_body_bytes
        if declared.isdigit() and int(declared) > most:
            _too_large(most)
        loop = asyncio.get_running_loop()
        parts, size, until = [], 0, loop.time() + self._body_seconds
        while True:
            try:
                async with asyncio.timeout_at(until + size / _LEAST_BYTES_A_SECOND):
                    message = await receive()
            except TimeoutError:
                raise _too_slow(size) from None
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                _too_large(most)
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts) if len(parts) > 1 else parts[0]


def _too_large(most: int) -> NoReturn:
    detail = f"The request body is larger than {most} bytes. Send it in several requests."
    raise TooLarge(413, detail, ((b"connection", b"close"),))


def _refuse_when_full(admission: Admission) -> None:
    try:
        admission.check()
    except Overloaded as problem:
        seconds = b"%d" % math.ceil(problem.retry_after or 1)
        raise Refused(503, str(problem), ((b"retry-after", seconds),)) from None


def _too_slow(size: int) -> Refused:
    detail = f"The request body came too slowly: {size} bytes so far, and it is not complete. Send it again."
    return Refused(408, detail, ((b"connection", b"close"),))


class _Replay:
    """Gives the body that was read to the application, once, and waits for the client to go away."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive
        self._gone = asyncio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()


class _Answer:
    """Sends the answer with the request id; `status` is 0 until it has begun, `complete` is true once all is sent."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send = send
        self._scope = scope
        self.status = 0
        self.complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message["headers"] = [*message.get("headers", ()), *self._headers()]
        await self._send(message)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body", False)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        request_id = self._scope["request_id"]
        headers = [(b"x-request-id", request_id.encode())]
        ignored = ignored_header(self._scope)
        if ignored is not None:
            logger.info("request %s: ignored %s", request_id, ignored.decode())
            headers.append((HEADER, ignored))
        return headers

    async def error(
        self, status: int, detail: str, headers: tuple[tuple[bytes, bytes], ...] = (), *, last: bool = True
    ) -> None:
        """Send an error; without `last` the answer is whole for the client, but not yet ended."""
        body = orjson.dumps({"detail": detail})
        lines = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
        await self.send({"type": "http.response.start", "status": status, "headers": lines})
        await self.send({"type": "http.response.body", "body": body, "more_body": not last})


async def _drain(receive: Receive, most: int) -> None:
    """Read on for a while and throw it away, since a client that is still sending would meet a closed connection and
    never see why.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while most > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                most -= len(message.get("body", b""))


def internal_error(scope: Scope) -> str:
    """What a client is told of an unexpected error: nothing but where to look."""
    return f"Internal server error. The server's log has the cause under {scope['request_id']}."


def _check_local(scope: Scope) -> None:
    """Without a key, keep out web pages: a browser on this machine would carry their requests to us.

    A page of another site is told by its ``Origin``; one that points its own name at this machine (DNS rebinding), by
    the name in ``Host``.
    """
    host, origin = header(scope, b"host"), header(scope, b"origin")
    if host and not _LOCAL_HOST.fullmatch(host):
        raise Refused(403, "A server without a key answers to local names only. Set HINDSIGHT_API_TENANT_API_KEY.")
    if origin and origin.partition(b"://")[2] != host:
        raise Refused(403, "A server without a key answers no pages of other sites. Set HINDSIGHT_API_TENANT_API_KEY.")


def _raw_path(scope: Scope) -> str:
    """The path as it came, still percent-encoded, so that an encoded slash stays inside its segment.

    The route parameters are decoded by the `segment` convertor.
    """
    raw = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    try:
        unquote_to_bytes(raw).decode("utf-8")
        return str(raw.decode("ascii"))
    except UnicodeDecodeError:
        raise Refused(400, "The path is not percent-encoded UTF-8.") from None
