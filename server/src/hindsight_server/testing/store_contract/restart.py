"""What every store still knows after it was closed and opened again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from hindsight_server.domain.errors import HindsightServerError
from hindsight_server.ports.records import FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, appended, document, fact, operation, put, write

Reopen = Callable[[], Awaitable[Store]]


class RestartContract:
    """Everything, and its counters too."""

    async def test_everything_is_there(self, store: Store, reopen: Reopen) -> None:
        await put(store, "b", "d", "one", names=["Ann"])
        await store.add_operation(operation("b", "o", payload={"x": [1]}))
        before = await store.snapshot("b", 0, 0)
        store = await reopen()
        after = await store.snapshot("b", 0, 0)
        assert (after.rows, after.version) == (before.rows, before.version)
        assert (await store.get_document("b", "d")).text == "one"
        claimed = await store.claim_operation(["retain"], NOW, 10)
        assert claimed is not None
        assert claimed.payload == {"x": [1]}

    async def test_what_a_former_owner_claimed_is_free(self, store: Store, reopen: Reopen) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(operation("b", "o", payload={"x": 1}))
        held = None
        for tries in (1, 2, 3):
            before, held = held, await store.claim_operation(["retain"], NOW, 30)
            assert held is not None
            assert (held.attempts, held.payload) == (tries, {"x": 1})
            if before is not None:
                await store.finish_operation(before, "failed", NOW, error="told too late")
            assert await store.claim_operation(["retain"], NOW, 30) is None
            store = await reopen()
            released = await store.get_operation("b", "o")
            assert released is not None
            assert (released.status, released.attempts) == ("pending", tries)

    async def test_ended_operations_stay_ended(self, store: Store, reopen: Reopen) -> None:
        await store.ensure_bank("b", NOW)
        for status in ("completed", "failed", "cancelled"):
            await store.add_operation(operation("b", status, status=status, completed_at=NOW))
        before = (await store.list_operations("b", None, None, 9, 0)).items
        store = await reopen()
        assert (await store.list_operations("b", None, None, 9, 0)).items == before
        assert await store.claim_operation(["retain"], NOW, 30) is None

    async def test_numbers_of_deleted_facts_are_not_used_again(self, store: Store, reopen: Reopen) -> None:
        await put(store, "b", "d", "one", "two")
        mark = await store.snapshot("b", 0, 0)
        await store.delete_document("b", "d", NOW)
        store = await reopen()
        await put(store, "b", "d", "three")
        seen = await store.snapshot("b", mark.rows[-1].seq, mark.version)
        assert (len(seen.rows), seen.removed.tolist(), seen.rebuild) == (1, [row.seq for row in mark.rows], False)

    async def test_appending_goes_on(self, store: Store, reopen: Reopen) -> None:
        await store.retain(write("b", appended("d", "one")))
        store = await reopen()
        await store.retain(write("b", appended("d", "two")))
        assert (await store.get_document("b", "d")).text == "one\ntwo"

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.ping()
        await store.close()
        await store.close()
        with pytest.raises(HindsightServerError):
            await store.ping()

    async def test_times_outside_of_the_calendar_in_utc_are_its_first_and_last(
        self, store: Store, reopen: Reopen
    ) -> None:
        """Older servers kept what turns told with a zone in which it was inside."""
        ends = {
            "one": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
            "two": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
        }
        facts = tuple(
            fact(text, chunk=index, turn=index, mentioned_at=at) for index, (text, at) in enumerate(ends.items())
        )
        await store.retain(write("b", document("d", *ends, facts=facts)))
        store = await reopen()
        found = {one.text: one.mentioned_at for one in (await store.list_facts("b", FactFilter(), 9, 0)).items}
        assert found == {"one": datetime.min.replace(tzinfo=UTC), "two": datetime.max.replace(tzinfo=UTC)}
