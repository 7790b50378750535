"""What every store does when much happens at once."""

from __future__ import annotations

import asyncio

from hindsight_server.ports.records import DocumentFilter, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, SPACE, appended, document, put, write


class ConcurrencyContract:
    """Readers see whole writes only, and wait for none."""

    async def test_readers_during_writes_see_whole_retains(self, store: Store) -> None:
        await put(store, "b", "d", "a", "b", "c")
        writing = True

        async def read() -> int:
            looks = 0
            while writing or not looks:
                snapshot = await store.snapshot("b", 0, 0)
                assert len(snapshot.rows) % 3 == 0
                assert len(snapshot.vectors[SPACE][0]) == len(snapshot.rows)
                page = await store.list_facts("b", FactFilter(), 1000, 0)
                assert page.total == len(page.items)
                looks += 1
            return looks

        async def fill(writer: int) -> None:
            for number in range(15):
                await put(store, "b", f"{writer}-{number}", "x", "y", "z", names=["Ann"])

        readers = [asyncio.create_task(read()) for _ in range(3)]
        await asyncio.gather(*(fill(writer) for writer in range(4)))
        writing = False
        assert all(await asyncio.gather(*readers))
        assert (await store.list_facts("b", FactFilter(), 1, 0)).total == 183

    async def test_many_writers_of_many_banks(self, store: Store) -> None:
        async def use(bank: int) -> None:
            for number in range(5):
                await put(store, f"bank {bank}", f"d{number}", "one", "two", names=["Ann"])
                await store.retain(write(f"bank {bank}", appended("log", f"line {number}")))
            await store.delete_document(f"bank {bank}", "d0", NOW)

        await asyncio.gather(*(use(bank) for bank in range(12)))
        for bank in range(12):
            assert (await store.get_bank(f"bank {bank}")).fact_count == 13
            assert (await store.find_entities(f"bank {bank}", ["Ann"]))[0].mention_count == 8

    async def test_a_failing_write_takes_no_other_with_it(self, store: Store) -> None:
        good = [store.retain(write("b", document(f"d{number}", "x"))) for number in range(6)]
        bad = [
            # Its first two documents are on their way to the tables when the third one fails.
            store.retain(
                write("b", document("bad", "x"), appended("bad", "y"), document(f"bad{number}", "z", keep="z"))
            )
            for number in range(6)
        ]
        mixed = [one for pair in zip(good, bad, strict=True) for one in pair]
        results = await asyncio.gather(*mixed, return_exceptions=True)
        assert sum(isinstance(result, Exception) for result in results) == 6
        assert (await store.list_facts("b", FactFilter(), 99, 0)).total == 6
        assert (await store.list_documents("b", DocumentFilter(), 99, 0)).total == 6

    async def test_a_cancelled_caller_harms_nobody(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        tasks = [asyncio.create_task(put(store, "b", f"d{number}", "x")) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert not [result for result in results[1::2] if isinstance(result, BaseException)]
        total = (await store.list_facts("b", FactFilter(), 99, 0)).total
        assert 10 <= total <= 20
