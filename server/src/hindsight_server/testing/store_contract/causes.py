"""What every store does with causes, and with jobs that are finished piece by piece."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.domain.model import FactState
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.records import FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, fact, operation, write

Dump = Callable[[], Awaitable[list[str]]]


async def _chain(store: Store) -> tuple[str, str, str]:
    """Three facts: rain, because of it mud, because of that a fall."""
    rain, mud, fall = (fact(text, turn=turn) for turn, text in enumerate(("rain", "mud", "fall")))
    mud, fall = replace(mud, causes=(rain.fact_id,)), replace(fall, causes=(mud.fact_id, fall.fact_id, "unknown"))
    await store.retain(write("b", replace(document("d", "rain mud fall"), facts=(rain, mud, fall))))
    return rain.fact_id, mud.fact_id, fall.fact_id


class PieceByPieceContract:
    """A job may be finished document by document; chunks may be left to be extracted again."""

    @pytest.mark.feature("R1")
    async def test_a_job_that_goes_on_finishes_only_what_it_brings(self, store: Store) -> None:
        parts = [document(name, f"{name} text", state=FactState.PENDING) for name in ("x", "y")]
        await store.retain(write("b", *parts, operation=operation("b", "o")))
        job = await store.claim_operation(("retain",), NOW, 30.0)
        assert job is not None
        told = replace(job, result={"progress": {"processed": 1}})
        await store.retain(write("b", document("x", "x text"), operation=told, finishes="o", goes_on=True))
        assert [name for name, _ in await store.waiting_parts("b", "o")] == ["y"]
        known = await store.get_operation("b", "o")
        assert known is not None
        assert (known.status, known.result) == ("processing", {"progress": {"processed": 1}})
        await store.retain(write("b", document("y", "y text"), operation=replace(job, result={"n": 2}), finishes="o"))
        known = await store.get_operation("b", "o")
        assert known is not None
        assert (known.status, known.result) == ("completed", {"n": 2})
        facts = await store.list_facts("b", FactFilter(), 10, 0)
        assert {(one.document_id, one.state) for one in facts.items} == {("x", "valid"), ("y", "valid")}

    async def test_a_chunk_that_is_not_complete_is_not_kept(self, store: Store) -> None:
        given = document("d", "one", "two")
        chunks = (given.chunks[0], replace(given.chunks[1], complete=False))
        await store.retain(write("b", replace(given, chunks=chunks)))
        state = await store.document_state("b", "d")
        assert state is not None
        assert (state.content_hash, state.chunk_hashes) == ("", (chunks[0].content_hash,))


class CauseContract(PieceByPieceContract):
    """Causes are told from both ends, and go with either."""

    @pytest.mark.feature("R11")
    async def test_causes_are_told_from_both_ends(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        assert sorted(await store.causes("b", [rain, mud, fall])) == sorted([(mud, rain), (fall, mud)])
        assert await store.causes("b", [rain]) == [(mud, rain)]
        assert await store.causes("b", [fall]) == [(fall, mud)]
        assert await store.causes("b", []) == []
        with pytest.raises(BankNotFound):
            await store.causes("none", [rain])

    async def test_what_a_fact_is_linked_to_by_causes(self, store: Store) -> None:
        ids = await _chain(store)
        rain, mud, fall = [(await store.get_fact("b", fact_id)).seq for fact_id in ids]
        linked = await store.linked_by_cause("b", [mud])
        assert (set(linked.seqs), linked.any) == ({rain, fall}, True)
        assert (await store.linked_by_cause("b", [rain, 99])).seqs == {mud}
        await store.ensure_bank("c", NOW)
        assert not (await store.linked_by_cause("c", [mud])).any
        with pytest.raises(BankNotFound):
            await store.linked_by_cause("none", [mud])

    async def test_a_forgotten_fact_takes_its_causes_along(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        await store.forget(ForgetWrite(bank_id="b", fact_ids=(mud,)), NOW)
        assert await store.causes("b", [rain, fall]) == []

    async def test_causes_stay_with_facts_that_change_and_go_with_their_bank(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        await store.update_document("b", "d", ("tag",), NOW)
        assert await store.causes("b", [rain]) == [(mud, rain)]
        await store.delete_bank("b")
        await store.ensure_bank("b", NOW)
        assert await store.causes("b", [rain, mud, fall]) == []
