"""Banks that are read whole and written elsewhere, in one transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hindsight_server.domain.errors import BankNotFound, Conflict, InvalidInput, NotFound
from hindsight_server.domain.model import FactState, FactType
from hindsight_server.ports.observations import CONSOLIDATION, ConsolidationWrite, ObservationWrite, Source
from hindsight_server.ports.records import BankChange, DocumentFilter, FactChange, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.ports.transfer import (
    ReadyFact,
    ReadyObservation,
    TransferBank,
    TransferDocument,
    TransferFact,
    TransferNames,
    TransferObservation,
    TransferRecord,
    TransferWrite,
)
from hindsight_server.testing.store_contract.builders import (
    NOW,
    document,
    encoding_of,
    fact,
    later,
    operation,
    put,
    terms_of,
    write,
)


async def records(store: Store, bank_id: str, document_ids: Sequence[str] | None = None) -> list[TransferRecord]:
    """What the store hands out."""
    taken: list[TransferRecord] = []
    await store.read_transfer(bank_id, document_ids, taken.append)
    return taken


def ready(given: TransferFact) -> ReadyFact:
    terms = terms_of(given.text)
    return ReadyFact(
        fact=given, terms=terms, length=sum(terms.values()), tokens=len(terms), encoding=encoding_of(given.text)
    )


def writing(bank_id: str, taken: Sequence[TransferRecord], **options: object) -> TransferWrite:
    """What was read, to be written to a bank."""
    names = [one for one in taken if isinstance(one, TransferNames)]
    return replace(
        TransferWrite(
            bank_id=bank_id,
            now=later(60),
            documents=tuple(one for one in taken if isinstance(one, TransferDocument)),
            facts=tuple(ready(one) for one in taken if isinstance(one, TransferFact)),
            observations=tuple(
                ReadyObservation(one, ready(one.fact)) for one in taken if isinstance(one, TransferObservation)
            ),
            names=names[0] if names else TransferNames(),
            bank=next((one for one in taken if isinstance(one, TransferBank)), None),
        ),
        **options,  # type: ignore[arg-type]
    )


class TransferContract:
    async def filled(self, store: Store) -> list[TransferRecord]:
        ids = await put(store, "b", "d", "one apple", "two wolves", names=["Zebedee", "Ann"], tags=("x",))
        await put(store, "b", "e", "three owls", names=["Ann"])
        await store.update_fact("b", ids[1], FactChange(state=FactState.INVALIDATED, reason="a joke"), later(5))
        found = await store.find_entities("b", ["Zebedee", "Ann"])
        await store.name_entity("b", found[0].entity_id, "Zeb", later(6), shown=True)
        await store.save_bank("b", BankChange(name="B", config={"key": 1}), later(7))
        return await records(store, "b")

    async def test_what_is_written_reads_the_same(self, store: Store) -> None:
        taken = await self.filled(store)
        kinds = [type(one) for one in taken]
        assert kinds == [TransferBank, *[TransferDocument] * 2, *[TransferFact] * 3, TransferNames]
        done = await store.write_transfer(writing("c", taken, fresh=True))
        assert done is not None
        assert (done.documents_imported, done.facts_imported, done.documents_skipped) == (2, 3, 0)
        again = await records(store, "c")
        assert [replace(one, bank_id="b") if isinstance(one, TransferBank) else one for one in again] == taken
        before, after = await store.snapshot("b", 0, 0), await store.snapshot("c", 0, 0)
        assert [row.document_id for row in after.rows] == [row.document_id for row in before.rows]
        assert {name: len(held[0]) for name, held in after.vectors.items()} == {"test-8": 2}
        assert (await store.get_bank("c")).fact_count == 2
        named = await store.find_entities("c", ["Zeb"])
        assert [(one.name, one.mention_count) for one in named] == [
            (one.name, one.mention_count) for one in await store.find_entities("b", ["Zeb"])
        ]
        assert list((await store.postings("c", {"wolves": 0})).get("wolves", ([],))[0]) == []

    async def test_some_documents_alone(self, store: Store) -> None:
        await self.filled(store)
        taken = await records(store, "b", ["e"])
        assert [type(one) for one in taken] == [TransferBank, TransferDocument, TransferFact]
        with pytest.raises(NotFound):
            await records(store, "b", ["e", "none"])
        with pytest.raises(BankNotFound):
            await records(store, "nobody")

    @pytest.mark.parametrize(("conflict", "facts", "documents"), [("skip", 3, 2), ("replace", 3, 2), ("new-id", 6, 4)])
    async def test_documents_whose_id_is_taken(self, store: Store, conflict: str, facts: int, documents: int) -> None:
        taken = await self.filled(store)
        await store.write_transfer(writing("b", taken, bank=None, conflict=conflict))
        assert (await store.list_facts("b", FactFilter(), 10, 0)).total == facts
        assert (await store.list_documents("b", DocumentFilter(), 10, 0)).total == documents
        assert (await store.get_bank("b")).fact_count == facts * 2 // 3

    async def test_a_job_is_completed_with_it_once(self, store: Store) -> None:
        taken = await self.filled(store)
        job = await store.add_operation(operation("b", "0d4c1b0e-0000-4000-8000-000000000001", type="import"))
        claimed = await store.claim_operation(["import"], later(9), 30)
        assert claimed is not None
        await store.note_progress(claimed, {"stage": "storing"}, later(10))
        told = await store.get_operation("b", job.operation_id)
        assert told is not None
        assert told.result == {"progress": {"stage": "storing"}}
        wanted = writing("c", taken, fresh=True, finishes=claimed, result=lambda done: {"facts": done.facts_imported})
        assert await store.write_transfer(wanted) is not None
        known = await store.get_operation("b", job.operation_id)
        assert known is not None
        assert (known.status, known.result) == ("completed", {"facts": 3})
        assert await store.write_transfer(wanted) is None
        assert (await store.list_facts("c", FactFilter(), 10, 0)).total == 3

    async def test_what_fails_leaves_nothing(self, store: Store) -> None:
        taken = await self.filled(store)
        await store.add_operation(operation("b", "0d4c1b0e-0000-4000-8000-000000000002", type="import"))
        claimed = await store.claim_operation(["import"], later(9), 30)
        assert claimed is not None
        await store.cancel_operation("b", claimed.operation_id, NOW)
        with pytest.raises(Conflict, match="cancelled"):
            await store.write_transfer(writing("c", taken, finishes=claimed))
        document = next(one for one in taken if isinstance(one, TransferDocument))
        twice = replace(document, document_id="twice", parts=(*document.parts, *document.parts))
        with pytest.raises(InvalidInput, match="contradicts"):
            await store.write_transfer(writing("c", [twice]))
        with pytest.raises(Conflict, match="holds something"):
            await store.write_transfer(writing("b", taken, fresh=True))
        with pytest.raises(BankNotFound):
            await store.get_bank("c")

    async def with_observation(self, store: Store) -> tuple[list[TransferRecord], tuple[str, ...]]:
        """A bank of two facts, of which one is the other's cause, with an observation on both; and the facts' ids."""
        rain, mud = fact("rain"), fact("mud", turn=1)
        mud = replace(mud, causes=(rain.fact_id,))
        await store.retain(write("b", replace(document("d", "rain mud"), facts=(rain, mud))))
        asked = await store.request_consolidation("b", {}, NOW)
        assert asked is not None
        job = await store.claim_operation((CONSOLIDATION,), later(1), 30)
        assert job is not None
        ids = (rain.fact_id, mud.fact_id)
        seen = {one.fact.fact_id: one.fact.seq for one in await store.waiting_facts("b", 0, 10)}
        sources = (Source(fact_id=ids[0], quote="rain"), Source(fact_id=ids[1]))
        drawn = fact("wet", fact_type=FactType.OBSERVATION)
        one = ObservationWrite(fact=drawn, sources=sources, action="created")
        scopes = {fact_id: ((),) for fact_id in ids}
        await store.consolidate(
            ConsolidationWrite(
                bank_id="b", operation=job, scope=(), seen=seen, scopes=scopes, now=later(2), writes=(one,)
            )
        )
        assert await store.end_consolidation(job, {}, later(3))
        return await records(store, "b"), ids

    async def test_causes_and_observations_come_along(self, store: Store) -> None:
        taken, ids = await self.with_observation(store)
        done = await store.write_transfer(writing("c", taken, fresh=True))
        assert done is not None
        assert (done.facts_imported, done.observations_imported) == (2, 1)
        again = await records(store, "c")
        assert again[1:] == taken[1:]
        assert await store.causes("c", ids) == [(ids[1], ids[0])]
        (observation_id,) = await store.observations_in("c", ())
        (held,) = await store.observations("c", [observation_id])
        assert held.sources == (Source(fact_id=ids[0], quote="rain"), Source(fact_id=ids[1]))
        assert [one.text for one in await store.observation_history("c", observation_id)] == ["wet"]
        assert (await store.consolidation_counts("c")).pending == 0
        await store.delete_document("c", "d", later(90))
        assert await store.observations_in("c", ()) == {}

    async def test_observations_get_the_ids_that_their_facts_get(self, store: Store) -> None:
        taken, ids = await self.with_observation(store)
        await store.write_transfer(writing("b", taken, bank=None, conflict="new-id"))
        held = await store.observations("b", list(await store.observations_in("b", ())))
        assert len(held) == 2
        assert {source.fact_id for one in held for source in one.sources} > set(ids)
        assert all(one.fact.source_fact_ids == tuple(source.fact_id for source in one.sources) for one in held)
        assert (await store.consolidation_counts("b")).pending == 0

    async def test_an_observation_whose_facts_stay_behind_does_too(self, store: Store) -> None:
        taken, _ = await self.with_observation(store)
        done = await store.write_transfer(writing("b", taken, bank=None, conflict="skip"))
        assert done is not None
        assert (done.facts_imported, done.observations_imported) == (0, 0)
        first = next(at for at, one in enumerate(taken) if isinstance(one, TransferFact))
        await store.write_transfer(writing("c", [*taken[:first], *taken[first + 1 :]]))
        assert await store.observations_in("c", ()) == {}
        assert (await store.consolidation_counts("c")).pending == 1
