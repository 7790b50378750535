"""Many threads on one folder: nothing is locked out, nothing acknowledged is lost, and reads never wait for writes."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.ports.records import FactFilter
from hindsight_server.testing.store_contract.builders import NOW, put

THREADS = 8
EACH = 15


@pytest.mark.feature("O5")
async def test_eight_threads_with_loops_of_their_own_write_and_read(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    failures: list[BaseException] = []
    acknowledged: list[str] = []

    async def use(name: str) -> None:
        for number in range(EACH):
            (fact_id,) = await put(store, "b", f"{name}-{number}", f"word{name}x{number}")
            acknowledged.append(fact_id)
            assert (await store.get_fact("b", fact_id)).document_id == f"{name}-{number}"
            assert (await store.postings("b", {f"word{name}x{number}": 0}))[f"word{name}x{number}"][0].size == 1

    def work(name: str) -> None:
        try:
            asyncio.run(use(name))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert not failures
    page = await store.list_facts("b", FactFilter(), 1000, 0)
    assert {fact.fact_id for fact in page.items} == set(acknowledged)
    assert page.total == THREADS * EACH
    await store.close()


@pytest.mark.feature("O5")
async def test_reads_do_not_wait_for_a_write_that_is_not_done(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    (fact_id,) = await put(store, "b", "d", "one")
    holding, go_on = threading.Event(), threading.Event()

    def hold(connection: Any) -> None:
        connection.execute("UPDATE facts SET text = 'other'")
        holding.set()
        assert go_on.wait(30)

    written = store._held().write(hold)
    try:
        await asyncio.to_thread(holding.wait, 30)
        async with asyncio.timeout(20):
            for _ in range(20):  # more than there are reading threads
                assert (await store.get_fact("b", fact_id)).text == "one"
                assert len((await store.snapshot("b", 0, 0)).rows) == 1
            assert (await store.get_bank("b")).fact_count == 1
        assert not written.done()
    finally:
        go_on.set()
    await asyncio.wrap_future(written)
    assert (await store.get_fact("b", fact_id)).text == "other"
    await store.ensure_bank("c", NOW)
    await store.close()
