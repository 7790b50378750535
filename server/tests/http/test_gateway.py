"""What happens to a request before it is routed."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from hindsight_server.http.admission import Admission
from hindsight_server.http.gateway import Gateway
from hindsight_server.http.metrics import Metrics
from hindsight_server.http.scope import Message, Receive, Scope, Send


class Echo:
    """Answers with what it was given, or does what `behave` says."""

    def __init__(self, behave: Any = None) -> None:
        self.behave = behave
        self.calls = 0
        self.cancelled = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        message = await receive()
        try:
            if self.behave is not None:
                await self.behave()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        body = orjson.dumps({"path": scope["path"], "body": message["body"].decode()})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


class Exchange:
    """One request through a gateway."""

    def __init__(self, *parts: bytes, path: bytes = b"/v1/x", headers: dict[str, str] | None = None) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        self.scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path.decode(),
            "raw_path": path,
            "headers": pairs,
        }
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts or (b"",)]
        messages[-1]["more_body"] = False
        self.incoming: list[Message] = [*messages]
        self.gone = asyncio.Event()
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if self.incoming:
            return self.incoming.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def through(self, app: Echo, *, api_key: str | None = None, max_body_bytes: int = 1000) -> tuple[int, Any]:
        await Gateway(app, Metrics(), api_key=api_key, max_body_bytes=max_body_bytes)(
            self.scope, self.receive, self.send
        )
        if not self.sent:
            return 0, None
        return self.sent[0]["status"], orjson.loads(b"".join(part["body"] for part in self.sent[1:]))

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


async def test_the_body_arrives_whole_and_the_path_stays_encoded() -> None:
    status, answer = await Exchange(b"ab", b"cd", path=b"/v1/b%2F%20x/y").through(Echo())
    assert (status, answer) == (200, {"path": "/v1/b%2F%20x/y", "body": "abcd"})


async def test_a_path_that_is_no_utf8_is_refused() -> None:
    app = Echo()
    status, answer = await Exchange(path=b"/v1/%ff").through(app)
    assert status == 400
    assert "UTF-8" in answer["detail"]
    assert app.calls == 0


async def test_every_answer_carries_a_request_id() -> None:
    made, given, odd = (
        Exchange(),
        Exchange(headers={"x-request-id": "abc-1"}),
        Exchange(headers={"x-request-id": "a b"}),
    )
    for exchange in (made, given, odd):
        await exchange.through(Echo())
    assert given.headers[b"x-request-id"] == b"abc-1"
    assert len(made.headers[b"x-request-id"]) == 32
    assert odd.headers[b"x-request-id"] != b"a b"


@pytest.mark.feature("O8")
@pytest.mark.parametrize("given", [None, "Bearer wrong", "k3y", "Basic k3y", "Bearer "])
async def test_a_set_key_is_required(given: str | None) -> None:
    app = Echo()
    exchange = Exchange(headers={"authorization": given} if given else {})
    status, answer = await exchange.through(app, api_key="k3y")
    assert status == 401
    assert "Authorization: Bearer" in answer["detail"]
    assert exchange.headers[b"www-authenticate"] == b"Bearer"
    assert app.calls == 0


@pytest.mark.feature("O8")
@pytest.mark.parametrize("given", ["Bearer k3y", "bearer k3y"])
async def test_the_right_key_opens(given: str) -> None:
    assert (await Exchange(headers={"authorization": given}).through(Echo(), api_key="k3y"))[0] == 200


async def test_health_checks_need_no_key() -> None:
    for path in (b"/health", b"/health/live", b"/health/ready", b"/version"):
        assert (await Exchange(path=path).through(Echo(), api_key="k3y"))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8888"}, 200),
        ({"host": "localhost:8888"}, 200),
        ({"host": "[::1]:8888"}, 200),
        ({"host": "127.0.0.1:8888", "origin": "http://127.0.0.1:8888"}, 200),
        ({"host": "127.0.0.1:8888", "origin": "https://evil.example"}, 403),
        ({"host": "127.0.0.1:8888", "origin": "null"}, 403),
        ({"host": "evil.example:8888", "origin": "http://evil.example:8888"}, 403),
    ],
)
async def test_without_a_key_web_pages_are_kept_out(headers: dict[str, str], status: int) -> None:
    assert (await Exchange(headers=headers).through(Echo()))[0] == status


async def test_a_body_that_is_too_large_is_refused_before_or_while_it_is_read() -> None:
    app = Echo()
    for exchange in (Exchange(headers={"content-length": "1001"}), Exchange(b"x" * 600, b"x" * 600)):
        status, answer = await exchange.through(app)
        assert status == 413
        assert "1000 bytes" in answer["detail"]
    assert app.calls == 0


async def test_an_unexpected_error_leaks_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("secret path /etc/shadow")

    exchange = Exchange()
    status, answer = await exchange.through(Echo(fail))
    assert status == 500
    assert "secret" not in answer["detail"]
    request_id = exchange.headers[b"x-request-id"].decode()
    assert request_id in answer["detail"]
    assert request_id in caplog.text
    assert "secret path" in caplog.text


async def test_work_is_cancelled_when_the_client_goes_away() -> None:
    begun = asyncio.Event()

    async def work_long() -> None:
        begun.set()
        await asyncio.sleep(60)

    app, exchange = Echo(work_long), Exchange()
    answering = asyncio.ensure_future(exchange.through(app))
    await begun.wait()
    exchange.gone.set()
    assert await asyncio.wait_for(answering, 5) == (0, None)
    assert app.cancelled


async def test_cancelling_the_request_cancels_the_work() -> None:
    begun = asyncio.Event()

    async def work_long() -> None:
        begun.set()
        await asyncio.sleep(60)

    app = Echo(work_long)
    answering = asyncio.ensure_future(Exchange().through(app))
    await begun.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    await asyncio.sleep(0)
    assert app.cancelled


async def test_requests_are_counted() -> None:
    metrics = Metrics()
    exchange = Exchange()
    await Gateway(Echo(), metrics, api_key=None, max_body_bytes=10)(exchange.scope, exchange.receive, exchange.send)
    text = metrics.render()
    assert 'hindsight_http_requests_total{operation="other",status="200"} 1' in text
    assert 'hindsight_http_request_duration_seconds_bucket{operation="other",le="+Inf"} 1' in text


class Trickle(Exchange):
    """A body that comes in pieces with pauses, and never ends."""

    def __init__(self, *, pause: float, piece: int) -> None:
        super().__init__()
        self.pause, self.piece, self.received = pause, piece, 0

    async def receive(self) -> Message:
        await asyncio.sleep(self.pause)
        self.received += self.piece
        return {"type": "http.request", "body": b"x" * self.piece, "more_body": True}


@pytest.mark.parametrize(("pause", "piece"), [(0.01, 1), (3600, 1)])
async def test_a_body_that_comes_too_slowly_is_given_up(pause: float, piece: int) -> None:
    app, exchange = Echo(), Trickle(pause=pause, piece=piece)
    gateway = Gateway(app, Metrics(), api_key=None, max_body_bytes=2**20, body_seconds=0.2)
    await asyncio.wait_for(gateway(exchange.scope, exchange.receive, exchange.send), 30)
    answer = orjson.loads(exchange.sent[1]["body"])
    assert exchange.sent[0]["status"] == 408
    assert f"{exchange.received} bytes so far" in answer["detail"]
    assert exchange.headers[b"connection"] == b"close"
    assert app.calls == 0


async def test_a_long_body_gets_the_time_it_needs() -> None:
    app, exchange = Echo(), Trickle(pause=0.05, piece=64 * 1024)
    gateway = Gateway(app, Metrics(), api_key=None, max_body_bytes=2**20, body_seconds=0.2)
    await asyncio.wait_for(gateway(exchange.scope, exchange.receive, exchange.send), 30)
    assert exchange.sent[0]["status"] == 413  # read on until it was too long, beyond the 0.2 seconds


async def test_a_search_without_a_place_is_refused_before_it_is_read() -> None:
    app, gate = Echo(), Admission(1)
    search, other = (
        Exchange(path=b"/v1/default/banks/b/memories/recall"),
        Exchange(path=b"/v1/default/banks/b/memories"),
    )
    search.incoming.clear()  # a body that never comes
    gateway = Gateway(app, Metrics(), api_key=None, max_body_bytes=10, admissions={"/memories/recall": gate})
    with gate.admit():
        await asyncio.wait_for(gateway(search.scope, search.receive, search.send), 5)
        await gateway(other.scope, other.receive, other.send)
    assert (search.sent[0]["status"], search.headers[b"retry-after"]) == (503, b"1")
    assert other.sent[0]["status"] == 200
    assert app.calls == 1
