"""What every store does with facts that people changed, when their words are read again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.model import FactState
from hindsight_server.ports.records import FactChange, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, fact, operation, put, write


class ChangedFactsContract:
    """What a person edited or invalidated stays so when its words are read again."""

    async def changed(self, store: Store) -> tuple[str, str, str]:
        """A document of three chunks: edited, invalidated, unchanged."""
        ids = await put(store, "b", "d", "Ann likes tea", "Bob likes rum", "Cal likes gin", tags=("a",))
        await store.update_fact("b", ids[0], FactChange(text="Ann drinks tea", terms={"ann": 1, "drinks": 1}), NOW)
        await store.update_fact("b", ids[1], FactChange(state=FactState.INVALIDATED, reason="wrong"), NOW)
        return ids[0], ids[1], ids[2]

    async def states(self, store: Store) -> list[tuple[str, str, int]]:
        found = (await store.list_facts("b", FactFilter(), 100, 0)).items
        return sorted((fact.text, fact.state.value, fact.turn_index) for fact in found)

    async def test_they_stay_when_their_document_is_read_again(self, store: Store) -> None:
        edited, invalidated, other = await self.changed(store)
        texts = ("Eve is new", "Ann likes tea", "Bob likes rum", "Cal likes gin")
        stored = await store.retain(write("b", document("d", *texts, tags=("b",))))
        assert len(stored.fact_ids) == 2
        assert await self.states(store) == [
            ("Ann drinks tea", "valid", 1),
            ("Bob likes rum", "invalidated", 2),
            ("Cal likes gin", "valid", 3),
            ("Eve is new", "valid", 0),
        ]
        kept = await store.get_fact("b", invalidated)
        assert (kept.invalidation_reason, kept.tags) == ("wrong", ("b",))
        assert (await store.get_fact("b", edited)).chunk_id in {
            chunk.chunk_id for chunk in (await store.list_chunks("b", "d", 10, 0)).items
        }
        with pytest.raises(NotFound):
            await store.get_fact("b", other)
        restored = await store.update_fact("b", invalidated, FactChange(state=FactState.VALID), NOW)
        assert restored.text == "Bob likes rum"

    async def test_they_stay_while_a_job_waits_and_after_it(self, store: Store) -> None:
        await self.changed(store)
        texts = ("Ann likes tea", "Bob likes rum", "Cal likes gin")
        job = operation("b", "job", payload={})
        await store.retain(write("b", document("d", *texts, state=FactState.PENDING), operation=job))
        expected = [("Ann drinks tea", "valid", 0), ("Bob likes rum", "invalidated", 1)]
        assert await self.states(store) == [*expected, ("Cal likes gin", "pending", 2)]
        await store.retain(write("b", document("d", *texts), finishes="job"))
        assert await self.states(store) == [*expected, ("Cal likes gin", "valid", 2)]

    async def test_they_go_with_their_words(self, store: Store) -> None:
        await self.changed(store)
        await store.retain(write("b", document("d", "Cal likes gin")))
        assert await self.states(store) == [("Cal likes gin", "valid", 0)]

    async def test_a_text_that_says_more_is_not_left_out(self, store: Store) -> None:
        said = fact("Ann likes tea", start=0, end=13)
        await store.retain(write("b", document("d", "Ann likes tea", facts=(said,))))
        await store.update_fact("b", said.fact_id, FactChange(state=FactState.INVALIDATED), NOW)
        more = "Ann likes tea and rum and sold her boat"
        told = tuple(fact(text, start=0, end=len(more)) for text in (more, "Ann likes rum", "Ann likes tea"))
        await store.retain(write("b", document("d", more, facts=told)))
        assert await self.states(store) == [
            ("Ann likes rum", "valid", 0),
            ("Ann likes tea", "invalidated", 0),
            (more, "valid", 0),
        ]
        told = tuple(fact(text, start=0, end=len(more)) for text in (more, "Ann likes rum"))
        await store.retain(write("b", document("d", more, facts=told)))
        assert len(await self.states(store)) == 3
        assert (await store.get_fact("b", said.fact_id)).state is FactState.INVALIDATED

    async def test_other_facts_of_the_same_words_come_again(self, store: Store) -> None:
        told = [fact("Ann likes green tea"), fact("Ann sold her boat")]
        await store.retain(write("b", document("d", "tea and boat", facts=tuple(told))))
        await store.update_fact("b", told[0].fact_id, FactChange(state=FactState.INVALIDATED), NOW)
        sold = fact("Ann sold her boat")
        again = [fact("Ann likes green tea"), sold, replace(fact("Ann was glad"), causes=(sold.fact_id,))]
        again[1] = replace(sold, causes=(again[0].fact_id,))
        await store.retain(write("b", document("d", "tea and boat", facts=tuple(again))))
        assert await self.states(store) == [
            ("Ann likes green tea", "invalidated", 0),
            ("Ann sold her boat", "valid", 0),
            ("Ann was glad", "valid", 0),
        ]
