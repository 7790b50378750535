"""Calls to receivers: one connection, to an address that was checked."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.webhooks import HttpCaller, SystemResolver
from hindsight_server.domain.errors import DeliveryFailed
from hindsight_server.domain.webhooks.targets import Address, Allowed, read_target
from hindsight_server.ports.webhooks import Answer, Call
from hindsight_server.testing.webhook_receiver import Reply, WebhookReceiver

pytestmark = pytest.mark.feature("O7")

LOOPBACK = Allowed(["127.0.0.1"])
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Names:
    """A resolver that gives other addresses each time it is asked."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = iter(answers)
        self.asked: list[str] = []

    async def addresses(self, host: str) -> list[Address]:
        self.asked.append(host)
        return [ipaddress.ip_address(text) for text in next(self._answers)]

    async def looked_up(self, host: str) -> None:
        """They are given at once."""

    def close(self) -> None:
        """Nothing is held."""


async def call(url: str, *, allowed: Allowed = LOOPBACK, names: Any = None, tls: Any = None, **options: Any) -> Answer:
    """Call a receiver; the URL itself is read as if everything were allowed."""
    target = read_target(url, Allowed(["0.0.0.0/0", "::/0"]))
    caller = HttpCaller(allowed, resolver=names or Names(), tls=tls)
    values: dict[str, Any] = {"headers": {"X-A": "b"}, "body": b'{"a":1}', "timeout_seconds": 5.0}
    try:
        return await caller.call(Call(target=target, **(values | options)))
    finally:
        await caller.close()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    """A server that speaks as it is told; its port."""
    tasks: list[asyncio.Task[None]] = []

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def begun(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(handled(reader, writer)))

    server = await asyncio.start_server(begun, "127.0.0.1", 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])
    await asyncio.gather(*tasks)


def saying(*pieces: bytes, hangs: bool = False) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if hangs:
            await reader.read()

    return serve


async def test_the_request_is_what_was_asked_for() -> None:
    with WebhookReceiver() as receiver:
        receiver.reply = lambda received: Reply(status=202, body=b"thanks")
        answer = await call(f"{receiver.url}?a=%20b", keep_body=True)
        assert (answer.status, answer.body) == (202, "thanks")
        came = receiver.wait_for(1)[0]
        assert (came.method, came.path, came.raw) == ("POST", "/hook?a=%20b", b'{"a":1}')
        ours = {"host": f"127.0.0.1:{receiver.port}", "content-length": "7", "connection": "close"}
        assert came.headers == {**ours, "x-a": "b"}
        assert (await call(receiver.url, method="GET")).body is None
        assert receiver.wait_for(2)[1].method == "GET"


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_body_that_drips_or_breaks_off_does_not_undo_the_answer(hangs: bool) -> None:
    begun = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", hangs=hangs)

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await begun(reader, writer)
        writer.transport.abort()

    async with serving(begun if hangs else reset) as port:
        answer = await call(f"http://127.0.0.1:{port}/", keep_body=True, timeout_seconds=0.5)
    assert (answer.status, answer.body) == (200, "ab")


async def test_a_name_that_hangs_holds_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    go_on = threading.Event()

    def look_up(host: str) -> list[str]:
        asked.append(host)
        go_on.wait(10)
        return ["127.0.0.1"]

    monkeypatch.setattr("hindsight_server.adapters.webhooks.resolving._look_up", look_up)
    resolver = SystemResolver()
    first, second = (asyncio.create_task(resolver.addresses("hooks.example")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    go_on.set()
    assert await second == [ipaddress.ip_address("127.0.0.1")]
    assert asked == ["hooks.example"]
    resolver.close()


async def test_an_attempt_lasts_as_long_as_it_holds_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise names that hang would take the threads of others, however few attempts there are at a time."""
    go_on = threading.Event()

    def look_up(host: str) -> list[str]:
        go_on.wait(20)
        return ["127.0.0.1"]

    monkeypatch.setattr("hindsight_server.adapters.webhooks.resolving._look_up", look_up)
    options: dict[str, Any] = {"names": SystemResolver(), "timeout_seconds": 0.05}
    attempt, ended = (asyncio.create_task(call("http://hooks.example/", **options)) for _ in range(2))
    await asyncio.sleep(0.3)
    assert not attempt.done()
    ended.cancel()  # as at the end of the server, which does not wait
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(ended, 5)
    go_on.set()
    with pytest.raises(DeliveryFailed, match=r"within 0\.05 s"):
        await attempt


# which address is called


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["10.0.0.1"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["fe80::1", "93.184.216.34"],
    ],
)
async def test_a_name_of_which_any_address_is_not_public_is_not_called(addresses: list[str]) -> None:
    with pytest.raises(DeliveryFailed, match="not public") as failed:
        await call("http://hooks.example/", names=Names(addresses))
    assert failed.value.lasting
    assert not [address for address in addresses if address in str(failed.value)]


async def test_a_name_is_looked_up_once_and_what_was_checked_is_called() -> None:
    """DNS rebinding: what the name stands for next is of no interest, and the receiver is asked for by its name."""
    with WebhookReceiver() as receiver:
        names = Names(["127.0.0.1"], ["10.0.0.1"])
        url = f"http://hooks.example:{receiver.port}/hook"
        assert (await call(url, names=names)).status == 200
        assert names.asked == ["hooks.example"]
        assert receiver.wait_for(1)[0].headers["host"] == f"hooks.example:{receiver.port}"
        with pytest.raises(DeliveryFailed, match="not public"):
            await call(url, names=Names(["10.0.0.1"]))
        with pytest.raises(DeliveryFailed, match="not public"):
            await call(url, names=Names(["127.0.0.1"]), allowed=Allowed())


async def test_the_next_address_is_called_where_one_refuses() -> None:
    with WebhookReceiver() as receiver:
        names, allowed = Names(["127.0.0.2", "127.0.0.1"]), Allowed(["127.0.0.0/8"])
        assert (await call(f"http://hooks.example:{receiver.port}/", names=names, allowed=allowed)).status == 200


async def test_the_system_knows_this_machine() -> None:
    resolver = SystemResolver()
    found = await resolver.addresses("localhost")
    assert found
    assert all(address.is_loopback for address in found)
    with pytest.raises(DeliveryFailed, match="looked up"):
        await resolver.addresses("x" * 70 + ".example")
    resolver.close()


# what is answered


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with WebhookReceiver() as receiver:
        receiver.reply = lambda received: Reply(status=307, headers={"Location": "http://127.0.0.1:1/"})
        assert (await call(receiver.url)).status == 307
        assert len(receiver.received()) == 1


async def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with serving(saying(interim, interim + b"HTTP/1.1 204 No Content\r\n\r\n", hangs=True)) as port:
        assert (await call(f"http://127.0.0.1:{port}/")).status == 204


@pytest.mark.parametrize("framing", [b"Content-Length: 100000\r\n", b"Transfer-Encoding: chunked\r\n", b""])
async def test_a_long_body_is_cut(framing: bytes) -> None:
    sent = b"%x\r\n%s\r\n" % (100_000, b"x" * 100_000) if b"chunked" in framing else b"x" * 100_000
    async with serving(saying(b"HTTP/1.1 500 No\r\n" + framing + b"\r\n", sent, hangs=True)) as port:
        answer = await call(f"http://127.0.0.1:{port}/", keep_body=True)
    assert (answer.status, answer.body) == (500, "x" * 4096)


async def test_a_body_ends_where_the_connection_ends() -> None:
    async with serving(saying(b"HTTP/1.1 200 OK\r\n\r\n", b"caf\xc3\xa9 \xff\x00")) as port:
        assert (await call(f"http://127.0.0.1:{port}/", keep_body=True)).body == "café \ufffd"


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ([], "closed without an answer"),
        ([b"HTTP/1.1 200 OK\r\nX: "], "closed without an answer"),
        ([b"SSH-2.0-OpenSSH_9.7\r\n"], "does not speak HTTP"),
        ([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000], "does not speak HTTP"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "does not speak HTTP"),
    ],
)
async def test_what_is_no_answer_is_told_in_our_words(pieces: list[bytes], error: str) -> None:
    async with serving(saying(*pieces)) as port:
        with pytest.raises(DeliveryFailed, match=error) as failed:
            await call(f"http://127.0.0.1:{port}/", timeout_seconds=3.0)
        assert not failed.value.lasting
        assert str(port) not in str(failed.value)


@pytest.mark.parametrize("pieces", [[], [b"HTTP/1.1 200 OK\r\n"], [b"X"] * 300])
async def test_the_time_is_for_all_of_it(pieces: list[bytes]) -> None:
    """A server that says a byte now and then does not begin the time anew."""
    head = [b"HTTP/1.1 200 OK\r\nX: "] if len(pieces) > 1 else []
    async with serving(saying(*head, *pieces, hangs=True)) as port:
        with pytest.raises(DeliveryFailed, match=r"no answer within 0\.3 s"):
            await call(f"http://127.0.0.1:{port}/", timeout_seconds=0.3)


async def test_a_refused_connection_is_told() -> None:
    async with serving(saying()) as port:
        pass
    with pytest.raises(DeliveryFailed, match="refused"):
        await call(f"http://127.0.0.1:{port}/")


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of hooks.example with its key, which nobody but the test trusts."""
    path = tmp_path_factory.mktemp("tls") / "hooks.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hooks.example"),
            *("-addext", "subjectAltName=DNS:hooks.example", "-keyout", str(path), "-out", f"{path}.crt"),
        ],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


async def test_the_certificate_is_checked_against_the_name_although_an_address_is_called(certificate: Path) -> None:
    ours, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=str(certificate))
    ours.load_cert_chain(certificate)

    async def attempt(host: str, port: int, tls: ssl.SSLContext | None) -> Answer:
        return await call(f"https://{host}:{port}/", names=Names(["127.0.0.1"]), tls=tls)

    with WebhookReceiver(ours) as receiver:
        assert (await attempt("hooks.example", receiver.port, trusting)).status == 200
        with pytest.raises(DeliveryFailed, match="certificate can't be trusted"):
            await attempt("other.example", receiver.port, trusting)
        with pytest.raises(DeliveryFailed, match="certificate can't be trusted"):
            await attempt("hooks.example", receiver.port, None)
        assert len(receiver.received()) == 1
    with WebhookReceiver() as receiver, pytest.raises(DeliveryFailed, match="TLS could not be agreed on"):
        await attempt("hooks.example", receiver.port, trusting)
