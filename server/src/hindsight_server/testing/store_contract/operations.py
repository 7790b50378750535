"""What every store does with operations, and what it keeps of what is deleted: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from hindsight_server.domain.errors import Conflict
from hindsight_server.domain.model import EntityMention, FactState
from hindsight_server.ports.mental_models import REFRESH, refresh_payload
from hindsight_server.ports.records import BankChange, FactChange, FactFilter, Operation
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, later, operation, put, write
from hindsight_server.testing.store_contract.retaining import texts_of

Dump = Callable[[], Awaitable[str]]
FORGOTTEN = "xylophone"


class OperationContract:
    """Replays, conflicts, claims with a lease, outcomes."""

    @pytest.mark.feature("R5")
    async def test_a_repeated_retain_writes_nothing(self, store: Store) -> None:
        asked = operation("b", "o", status="completed", result={"n": 1}, items_count=1, completed_at=NOW)
        first = await store.retain(write("b", document("d", "one"), operation=asked))
        assert (first.replayed, first.operation) == (False, replace(asked, updated_at=NOW))
        version = (await store.snapshot("b", 0, 0)).version
        again = await store.retain(write("b", document("d", "other"), operation=asked))
        assert (again.replayed, again.operation, again.fact_ids) == (True, first.operation, ())
        assert await texts_of(store) == ["one"]
        assert (await store.snapshot("b", 0, 0)).version == version

    @pytest.mark.parametrize("other", [{"fingerprint": "g"}, {"type": "other"}, {"bank_id": "c"}])
    @pytest.mark.feature("R5")
    async def test_an_id_used_for_something_else(self, store: Store, other: dict[str, str]) -> None:
        await store.ensure_bank("c", NOW)
        await store.retain(write("b", document("d", "one"), operation=operation("b", "o")))
        changed = replace(operation("b", "o"), **other)  # type: ignore[arg-type]
        with pytest.raises(Conflict):
            await store.retain(write(changed.bank_id, document("d", "two"), operation=changed))
        with pytest.raises(Conflict):
            await store.add_operation(changed)
        assert await texts_of(store) == ["one"]

    @pytest.mark.feature("R5")
    async def test_the_same_id_at_the_same_time(self, store: Store) -> None:
        asked = operation("b", "o", status="completed")
        results = await asyncio.gather(
            *(store.retain(write("b", document(f"d{number}", "one"), operation=asked)) for number in range(8))
        )
        assert sorted(result.replayed for result in results) == [False] + [True] * 7
        assert (await store.list_facts("b", FactFilter(), 9, 0)).total == 1

    async def test_oldest_first_and_each_once(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.ensure_bank("c", NOW)
        for number, bank in enumerate(["c", "b", "b"]):
            await store.add_operation(operation(bank, f"o{number}", created_at=later(-number), payload={"n": number}))
        await store.add_operation(operation("b", "x", type="other", created_at=later(-99)))
        claimed = await asyncio.gather(*(store.claim_operation(["retain"], later(1), 10) for _ in range(4)))
        assert [one and one.operation_id for one in claimed] == ["o2", "o1", "o0", None]
        assert claimed[0] is not None
        assert (claimed[0].status, claimed[0].attempts, claimed[0].payload) == ("processing", 1, {"n": 2})
        assert await store.claim_operation([], later(1), 10) is None

    @pytest.mark.feature("F7")
    async def test_two_refreshes_of_one_mental_model_never_run_together(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        for number, model_id in enumerate(["tea", "tea", "mint", "tea"]):
            payload = refresh_payload(model_id)
            asked = operation("b", f"r{number}", type=REFRESH, created_at=later(number), payload=payload)
            await store.add_operation(asked)

        async def claimed(seconds: int, *, lease: float = 10.0) -> list[Operation]:
            found = [await store.claim_operation([REFRESH], later(seconds), lease) for _ in range(4)]
            return [one for one in found if one is not None]

        assert [one.operation_id for one in await claimed(5)] == ["r0", "r2"]
        # Of one whose worker died it is the one begun that is taken up.
        first, mint = await claimed(20)
        assert (first.operation_id, mint.operation_id) == ("r0", "r2")
        await store.finish_operation(mint, "completed", later(21))
        await store.finish_operation(first, "pending", later(21), retry_at=later(60))
        (second,) = await claimed(22, lease=100.0)
        assert second.operation_id == "r1"
        assert await claimed(61) == [], "neither the one that is tried again, nor another"
        await store.finish_operation(second, "completed", later(62))
        assert [one.operation_id for one in await claimed(63)] == ["r0"]

    async def test_a_lost_lease(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(operation("b", "o"))
        first = await store.claim_operation(["retain"], NOW, 10)
        assert first is not None
        assert await store.renew_operation(first, later(5), 10)
        assert await store.claim_operation(["retain"], later(14), 10) is None
        second = await store.claim_operation(["retain"], later(15), 10)
        assert second is not None
        assert second.attempts == 2
        await store.finish_operation(first, "failed", later(16), error="too late")
        assert not await store.renew_operation(first, later(16), 10)
        await store.finish_operation(second, "completed", later(17), result={"n": 1})
        done = await store.get_operation("b", "o")
        assert done is not None
        assert (done.status, done.result, done.error, done.completed_at) == ("completed", {"n": 1}, None, later(17))
        assert await store.claim_operation(["retain"], later(999), 10) is None

    async def test_another_try_later(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(operation("b", "o", payload={"x": 1}))
        first = await store.claim_operation(["retain"], NOW, 10)
        assert first is not None
        await store.finish_operation(first, "pending", NOW, error="busy", retry_at=later(60))
        waiting = await store.get_operation("b", "o")
        assert waiting is not None
        assert (waiting.status, waiting.error, waiting.next_attempt_at) == ("pending", "busy", later(60))
        assert await store.claim_operation(["retain"], later(59), 10) is None
        second = await store.claim_operation(["retain"], later(60), 10)
        assert second is not None
        assert (second.attempts, second.payload, second.next_attempt_at) == (2, {"x": 1}, None)
        await store.finish_operation(second, "failed", later(61), error="broken")
        assert await store.claim_operation(["retain"], later(999), 10) is None
        assert await store.requeue_operation("b", "o", later(62))
        assert not await store.requeue_operation("b", "o", later(62))
        third = await store.claim_operation(["retain"], later(62), 10)
        assert third is not None
        assert third.payload == {"x": 1}

    async def test_cancelled_stays_cancelled(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(operation("b", "o", payload={"x": 1}))
        claimed = await store.claim_operation(["retain"], NOW, 10)
        assert claimed is not None
        assert not await store.delete_operation("b", "o")
        assert await store.cancel_operation("b", "o", later(1))
        assert not await store.cancel_operation("b", "o", later(2))
        assert not await store.cancel_operation("b", "none", later(2))
        await store.finish_operation(claimed, "completed", later(3))
        assert not await store.renew_operation(claimed, later(3), 10)
        found = await store.get_operation("b", "o")
        assert found is not None
        assert (found.status, found.completed_at) == ("cancelled", later(1))
        assert await store.delete_operation("b", "o")
        assert await store.get_operation("b", "o") is None

    async def test_queued_again_it_is_not_the_former_workers_any_more(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        await store.add_operation(operation("b", "o", payload={"x": 1}))
        former = await store.claim_operation(["retain"], NOW, 10)
        assert former is not None
        assert await store.cancel_operation("b", "o", later(1))
        assert await store.requeue_operation("b", "o", later(2))
        await store.finish_operation(former, "completed", later(2))
        now = await store.claim_operation(["retain"], later(3), 10)
        assert now is not None
        assert (now.attempts, former.attempts) == (1, 1)
        assert not await store.renew_operation(former, later(4), 10)
        await store.note_progress(former, {"stage": "late"}, later(4))
        await store.note_result(former, {"late": True}, later(4))
        await store.finish_operation(former, "failed", later(5), error="late")
        assert await store.get_operation("b", "o") == now
        assert await store.renew_operation(now, later(6), 10)
        await store.note_result(now, {"facts": 1}, later(6))
        told = await store.get_operation("b", "o")
        assert told == replace(now, result={"facts": 1}, updated_at=later(6))
        await store.finish_operation(now, "completed", later(7))
        done = await store.get_operation("b", "o")
        assert done is not None
        assert done.status == "completed"

    async def test_operations_are_listed_newest_first(self, store: Store) -> None:
        await store.ensure_bank("b", NOW)
        for number in range(5):
            await store.add_operation(
                operation("b", f"o{number}", created_at=later(number), payload={"x": 1}, items_count=number)
            )
        await store.add_operation(operation("b", "z", type="other", status="failed", error="no", created_at=NOW))
        page = await store.list_operations("b", None, "retain", 2, 1)
        assert ([one.operation_id for one in page.items], page.total) == (["o3", "o2"], 5)
        assert (page.items[0].payload, page.items[0].items_count) == (None, 3)
        failed = await store.list_operations("b", "failed", None, 9, 0)
        assert [(one.operation_id, one.error) for one in failed.items] == [("z", "no")]


class ForgettingContract:
    """What is deleted is in no table any more. `dump` is a fixture: every value of every table, as text."""

    async def secret(self, store: Store, **options: object) -> str:
        await put(store, "b", "other", "words that stay", names=["Ann"], tags=("t",))
        (fact_id,) = await put(
            store,
            "b",
            "d",
            f"the {FORGOTTEN} words",
            names=[FORGOTTEN.title()],
            tags=(f"{FORGOTTEN}-tag",),
            context=f"{FORGOTTEN} room",
            metadata={FORGOTTEN: FORGOTTEN},
            source={"title": FORGOTTEN},
            **options,
        )
        return fact_id

    async def test_a_deleted_document_leaves_no_word(self, store: Store, dump: Dump) -> None:
        fact_id = await self.secret(store)
        await store.update_fact("b", fact_id, FactChange(tags=(FORGOTTEN, "u")), NOW)
        assert FORGOTTEN in (await dump()).casefold()
        await store.delete_document("b", "d", NOW)
        assert FORGOTTEN not in (await dump()).casefold()
        assert "words that stay" in await dump()

    async def test_a_replaced_document_leaves_no_word(self, store: Store, dump: Dump) -> None:
        await self.secret(store)
        await put(store, "b", "d", "harmless")
        assert FORGOTTEN not in (await dump()).casefold()

    async def test_a_deleted_bank_leaves_nothing(self, store: Store, dump: Dump) -> None:
        await self.secret(store)
        await store.save_bank("b", BankChange(name="b-name", config={"note": FORGOTTEN}), NOW)
        await store.add_operation(operation("b", "o", payload={"text": FORGOTTEN}))
        await put(store, "keep", "k", "kept words")
        await store.delete_bank("b")
        left = (await dump()).casefold()
        assert FORGOTTEN not in left
        assert "b-name" not in left
        assert "words that stay" not in left
        assert "kept words" in left

    async def test_a_corrected_text_leaves_no_word_but_in_its_source(self, store: Store, dump: Dump) -> None:
        (fact_id,) = await put(store, "b", "d", f"{FORGOTTEN}", names=[FORGOTTEN])
        change = FactChange(text="plain", terms={"plain": 1}, entities=(EntityMention(name="Ann"),))
        await store.update_fact("b", fact_id, change, NOW)
        sources = [chunk.text for chunk in (await store.list_chunks("b", "d", 9, 0)).items]
        assert (await dump()).casefold().count(FORGOTTEN) == len(sources) + 1

    async def test_queued_work_forgets_a_deleted_document(self, store: Store, dump: Dump) -> None:
        part = document("d", FORGOTTEN, state=FactState.PENDING)
        await store.retain(write("b", part, operation=operation("b", "o", payload={"text": FORGOTTEN})))
        await store.delete_document("b", "d", later(1))
        assert FORGOTTEN not in await dump()
        found = await store.get_operation("b", "o")
        assert found is not None
        assert found.status == "cancelled"
        assert not await store.requeue_operation("b", "o", later(2))

    async def test_done_work_forgets_what_it_was_to_do(self, store: Store, dump: Dump) -> None:
        part = document("d", FORGOTTEN, state=FactState.PENDING)
        await store.retain(write("b", part, operation=operation("b", "o", payload={"text": FORGOTTEN})))
        await store.retain(write("b", document("d", FORGOTTEN), finishes="o"))
        await store.delete_document("b", "d", later(1))
        assert FORGOTTEN not in await dump()
