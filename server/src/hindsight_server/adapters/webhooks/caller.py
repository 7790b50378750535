"""One HTTP/1.1 request over one connection.

An HTTP library would look the name up once more when it connects, so that the address which was checked need not be the
one that is called (DNS rebinding); it would also follow proxies of the environment. Here a name is looked up once, all
its addresses are checked, and the connection goes to one of these. TLS still checks the certificate against the name.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import Sequence
from typing import NoReturn

import httptools

from hindsight_server.adapters.webhooks.resolving import Resolver, SystemResolver
from hindsight_server.domain.errors import DeliveryFailed
from hindsight_server.domain.webhooks.targets import Address, Allowed, Target
from hindsight_server.ports.webhooks import Answer, Call

_READ_BYTES = 16 * 1024
_MOST_HEAD_BYTES = 64 * 1024
_KEPT_BODY_BYTES = 4096
_BODY_SECONDS = 2.0  # that the kept part of a body may take, within the time of the attempt
_END_SECONDS = 0.05  # before the attempt would run out: what is known of the answer is taken then
_FIRST_FINAL_STATUS = 200


class HttpCaller:
    """Calls receivers.

    Args:
        allowed: what may be called although it is not public.
        resolver: None is the system's.
        tls: None is the system's certificates, loaded when the first receiver with https is called.
    """

    def __init__(
        self, allowed: Allowed, *, resolver: Resolver | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver or SystemResolver()
        self._tls = tls

    async def call(self, call: Call) -> Answer:
        """See `Caller.call`."""
        try:
            async with asyncio.timeout(call.timeout_seconds) as limit:
                reader, writer = await self._connect(call.target)
                try:
                    writer.write(_request(call))
                    await writer.drain()
                    return await _answer(reader, keep_body=call.keep_body, ends_at=limit.when() or 0.0)
                finally:
                    writer.transport.abort()
        except TimeoutError:
            # A name that hangs holds a thread beyond the time. So long the attempt lasts: who has a slot has a thread.
            await self._resolver.looked_up(call.target.host)
            raise DeliveryFailed(f"there was no answer within {call.timeout_seconds:g} s") from None
        except ssl.SSLCertVerificationError as problem:
            raise DeliveryFailed(f"the certificate can't be trusted: {problem.verify_message}") from None
        except ssl.SSLError:
            raise DeliveryFailed("TLS could not be agreed on") from None
        except OSError:
            raise DeliveryFailed("the connection broke before the answer was there") from None

    async def close(self) -> None:
        self._resolver.close()

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        addresses = await self._addresses(target.host)
        tls = await self._context() if target.secure else None
        name = target.host if target.secure else None
        for address in addresses:
            try:
                return await asyncio.open_connection(str(address), target.port, ssl=tls, server_hostname=name)
            except ssl.SSLError:
                raise
            except OSError:
                continue
        raise DeliveryFailed("the connection was refused, or the host can't be reached")

    async def _addresses(self, host: str) -> Sequence[Address]:
        """Those of the host. All have to be allowed: which of them the system prefers is nothing to rely on."""
        try:
            addresses: Sequence[Address] = [ipaddress.ip_address(host)]
        except ValueError:
            addresses = await self._resolver.addresses(host)
        if not all(self._allowed.address(host, address) for address in addresses):
            raise DeliveryFailed("the host stands for an address that is not public", lasting=True)
        return addresses

    async def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


def _request(call: Call) -> bytes:
    headers = {
        "Host": call.target.host_header,
        **call.headers,
        "Content-Length": str(len(call.body)),
        "Connection": "close",
    }
    lines = [f"{call.method} {call.target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + call.body


class _Parsed:
    """What the parser tells, of the final answer: those that only announce it (1xx) are passed over."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status: int | None = None
        self.body = b""
        self.complete = False

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        status = int(self._parser.get_status_code())
        self.status = status if status >= _FIRST_FINAL_STATUS else None

    def on_body(self, data: bytes) -> None:
        self.body += data[: _KEPT_BODY_BYTES - len(self.body)]

    def on_message_complete(self) -> None:
        self.complete = self.status is not None


async def _answer(reader: asyncio.StreamReader, *, keep_body: bool, ends_at: float) -> Answer:
    parsed, size = _Parsed(), 0
    while parsed.status is None:
        size += await _feed(reader, parsed)
        if size > _MOST_HEAD_BYTES and parsed.status is None:
            _no_http()
    if not keep_body:
        return Answer(parsed.status)
    # A body that breaks off or drips takes nothing back: told again, the receiver would have the event twice.
    body_ends_at = min(asyncio.get_running_loop().time() + _BODY_SECONDS, ends_at - _END_SECONDS)
    with contextlib.suppress(OSError):  # TimeoutError is one
        async with asyncio.timeout_at(body_ends_at):
            await _feed_body(reader, parsed)
    return Answer(parsed.status, parsed.body.decode("utf-8", "replace").replace("\0", ""))


async def _feed_body(reader: asyncio.StreamReader, parsed: _Parsed) -> None:
    while not parsed.complete and len(parsed.body) < _KEPT_BODY_BYTES:
        if not await _feed(reader, parsed, ends=True):
            break


async def _feed(reader: asyncio.StreamReader, parsed: _Parsed, *, ends: bool = False) -> int:
    """Read on; how many bytes there were. `ends` takes the end of the connection for the end of the answer."""
    data = await reader.read(_READ_BYTES)
    if not data and not ends:
        raise DeliveryFailed("the connection was closed without an answer")
    try:
        parsed.feed(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        if parsed.status is None:
            _no_http()
        return 0
    return len(data)


def _no_http() -> NoReturn:
    raise DeliveryFailed("what answered does not speak HTTP")
