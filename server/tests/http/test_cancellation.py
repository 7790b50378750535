"""A request whose client is gone gives its place up, and what it had queued is never done."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.bootstrap import build_services
from hindsight_server.http.app import create_app
from hindsight_server.http.scope import Message
from hindsight_server.http.services import Services
from hindsight_server.settings import Settings

READERS = 4


class Call:
    """One request to the application whose client can hang up."""

    def __init__(self, app: Any, path: str, body: Any) -> None:
        self._body = json.dumps(body).encode()
        self._gone = asyncio.Event()
        self._asked = False
        self.sent: list[Message] = []
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 1),
            "query_string": b"",
            "root_path": "",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "headers": [],
        }
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def hang_up(self) -> None:
        """Go away, and wait until the server has done with it."""
        self._gone.set()
        await asyncio.wait_for(self.task, 10)
        assert self.sent == []


class Held:
    """Threads of the store that are kept busy until they are let go."""

    def __init__(self, store: SqliteStore) -> None:
        self._opened = store._held()
        self._go = threading.Event()

    def writer(self) -> None:
        self._opened.write(self._wait)

    def readers(self) -> None:
        for _ in range(READERS):
            self._opened.read(self._wait)

    def let_go(self) -> None:
        self._go.set()

    def _wait(self, _: Any) -> None:
        assert self._go.wait(30)


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    services = build_services(Settings(data_dir=tmp_path, embeddings_provider="hashing"))
    async with services.running():
        yield services


@pytest.fixture
def held(services: Services) -> Iterator[Held]:
    assert isinstance(services.store, SqliteStore)
    held = Held(services.store)
    yield held
    held.let_go()


async def _until(condition: Any) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to that")


async def test_case_a08_a_retain_whose_client_is_gone_is_not_stored(services: Services, held: Held) -> None:
    app = create_app(services)
    store = services.store
    assert isinstance(store, SqliteStore)
    await services.store.ensure_bank("b", services.banks._clock.now())
    held.writer()
    queue = store._held()._writer._queue
    gone = Call(app, "/v1/default/banks/b/memories", {"items": [{"content": "Ann bought a canoe."}]})
    await _until(lambda: not queue.empty())
    await gone.hang_up()
    kept = Call(app, "/v1/default/banks/b/memories", {"items": [{"content": "Bo sold a kettle."}]})
    held.let_go()
    await kept.task
    assert kept.sent[0]["status"] == 200
    snapshot = await store.snapshot("b", 0, 0)
    texts = [fact.text for fact in await store.facts("b", [row.seq for row in snapshot.rows])]
    assert texts == ["Bo sold a kettle."]


async def test_a_recall_whose_client_is_gone_gives_its_place_up(services: Services, held: Held) -> None:
    app = create_app(services)
    store = services.store
    assert isinstance(store, SqliteStore)
    first = Call(app, "/v1/default/banks/b/memories", {"items": [{"content": "Ann bought a canoe."}]})
    await first.task
    held.readers()
    calls = [Call(app, "/v1/default/banks/b/memories/recall", {"query": "canoe"}) for _ in range(5)]
    await _until(lambda: services.admission._inside == 5)
    queue = store._held()._readers._executor._work_queue
    await _until(lambda: queue.qsize() == 1)  # the others wait for what it reads
    for call in calls:
        await call.hang_up()
    assert services.admission._inside == 0  # while the store is still busy
    reads = 0
    read_snapshot = store.snapshot

    async def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal reads
        reads += 1
        return await read_snapshot(*args, **kwargs)

    store.snapshot = counted  # type: ignore[method-assign]
    held.let_go()
    again = Call(app, "/v1/default/banks/b/memories/recall", {"query": "canoe"})
    await again.task
    assert again.sent[0]["status"] == 200
    assert reads == 1  # the five before it did nothing more
