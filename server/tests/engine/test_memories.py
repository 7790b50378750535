"""Facts: browsing, correcting, retiring."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.domain.model import Fact, FactState
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Engine


@pytest.fixture
async def fact(engine: Engine) -> Fact:
    item = ItemInput(content="Ann: I love zebras.", context="chat", timestamp="2023-05-08T12:00:00Z", tags=["x"])
    await engine.retain("b", [item])
    stored: Fact = (await engine.memories.list("b", FactFilter())).items[0]
    return stored


async def holders(engine: Engine, term: str) -> list[int]:
    found = await engine.store.postings("b", {term: 0})
    return list(found[term][0]) if term in found else []


async def test_corrected_words_are_found_and_the_old_ones_are_gone(engine: Engine, fact: Fact) -> None:
    before = (await engine.store.snapshot("b", 0, 0)).vectors["hashing-384"][1][0]
    changed = await engine.memories.update("b", fact.fact_id, MemoryPatch(text="Ann: I love lions."))
    assert (changed.text, changed.fact_id) == ("Ann: I love lions.", fact.fact_id)
    assert await holders(engine, "zebra") == []
    assert await holders(engine, "lion") == [changed.seq]
    seqs, matrix = (await engine.store.snapshot("b", 0, 0)).vectors["hashing-384"]
    assert list(seqs) == [changed.seq]
    assert float(matrix[0] @ before) < 0.95


async def test_every_field_can_be_set_and_cleared(engine: Engine, fact: Fact) -> None:
    patch = MemoryPatch(
        fact_type="experience", context="diary", occurred_start="2022-01-01", occurred_end="2022-12-31T23:59:59Z",
        mentioned_at="2024-06-01T00:00:00Z", tags=["y", "z"], entities=["Zoo Club", "Zoo Club"],
    )  # fmt: skip
    changed = await engine.memories.update("b", fact.fact_id, patch)
    assert (changed.fact_type, changed.context, changed.tags) == ("experience", "diary", ("y", "z"))
    assert changed.occurred_start == datetime(2022, 1, 1, tzinfo=UTC)
    assert changed.mentioned_at == datetime(2024, 6, 1, tzinfo=UTC)
    assert changed.entities == ("Zoo Club",)
    assert changed.text == fact.text
    assert await holders(engine, "2024") == [changed.seq]
    assert await holders(engine, "2023") == []

    patch = MemoryPatch(context="", occurred_start="", occurred_end=" ", mentioned_at="", tags=[], entities=[])
    cleared = await engine.memories.update("b", fact.fact_id, patch)
    assert (cleared.context, cleared.occurred_start, cleared.occurred_end, cleared.mentioned_at) == (None,) * 4
    assert (cleared.tags, cleared.entities) == ((), ())
    assert await holders(engine, "2024") == []


async def test_a_retired_fact_is_kept_but_never_recalled(engine: Engine, fact: Fact) -> None:
    retired = await engine.memories.update("b", fact.fact_id, MemoryPatch(state="invalidated"))
    assert retired.state is FactState.INVALIDATED
    snapshot = await engine.store.snapshot("b", 0, 0)
    assert list(snapshot.rows) == []
    assert await holders(engine, "zebra") == []
    back = await engine.memories.update("b", fact.fact_id, MemoryPatch(state="valid"))
    assert back.state is FactState.VALID
    assert await holders(engine, "zebra") == [back.seq]


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        (MemoryPatch(), "text"),
        (MemoryPatch(resolve_entities=False), "text"),
        (MemoryPatch(text=" \0"), "text"),
        (MemoryPatch(fact_type="observation"), "fact_type"),
        (MemoryPatch(state="pending"), "state"),
        (MemoryPatch(occurred_start="soon"), "occurred_start"),
        (MemoryPatch(occurred_start="2023-01-02", occurred_end="2023-01-01"), "occurred_end"),
        (MemoryPatch(tags=[" "]), "tags[0]"),
        (MemoryPatch(tags=[str(number) for number in range(201)]), "tags"),
        (MemoryPatch(entities=["a", " "]), "entities[1]"),
    ],
)
async def test_bad_corrections_are_refused(engine: Engine, fact: Fact, patch: MemoryPatch, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await engine.memories.update("b", fact.fact_id, patch)
    assert refusal.value.field == field
    assert await engine.memories.get("b", fact.fact_id) == fact


async def test_a_fact_never_ends_before_it_starts(engine: Engine, fact: Fact) -> None:
    await engine.memories.update("b", fact.fact_id, MemoryPatch(occurred_start="2024-05-01", occurred_end="2024-05-02"))
    for wrong in (MemoryPatch(occurred_end="2023-01-01"), MemoryPatch(occurred_start="2025-01-01")):
        with pytest.raises(InvalidInput, match="give both"):
            await engine.memories.update("b", fact.fact_id, wrong)
    moved = await engine.memories.update("b", fact.fact_id, MemoryPatch(occurred_start="2025-01-01", occurred_end=""))
    assert moved.occurred_end is None


async def test_a_new_text_and_a_new_date_at_one_time_are_both_kept(engine: Engine, fact: Fact) -> None:
    for day in ("2024-05-01", "2024-05-02"):
        patches = (MemoryPatch(text=f"zebra of {day}"), MemoryPatch(mentioned_at=day))
        await asyncio.gather(*(engine.memories.update("b", fact.fact_id, one) for one in patches))
        held = await engine.memories.get("b", fact.fact_id)
        assert held.mentioned_at is not None
        assert (held.text, held.mentioned_at.date().isoformat()) == (f"zebra of {day}", day)


async def test_the_reason_of_an_invalidation_is_told_until_it_is_taken_back(engine: Engine, fact: Fact) -> None:
    retired = await engine.memories.update("b", fact.fact_id, MemoryPatch(state="invalidated", reason=" a \0joke "))
    assert retired.invalidation_reason == "a joke"
    assert retired.invalidated_at is not None
    valid = await engine.memories.update("b", fact.fact_id, MemoryPatch(state="valid", reason="was right"))
    assert (valid.invalidation_reason, valid.invalidated_at, valid.edited_at) == (None, None, None)
    with pytest.raises(InvalidInput):
        await engine.memories.update("b", fact.fact_id, MemoryPatch(reason="nothing else"))


async def test_a_fact_that_is_still_being_extracted_cannot_be_corrected(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann moved.")], run_async=True)
    pending = (await engine.memories.list("b", FactFilter())).items[0]
    with pytest.raises(Conflict):
        await engine.memories.update("b", pending.fact_id, MemoryPatch(text="Ann stayed."))


async def test_unknown_facts_and_filters_are_refused(engine: Engine, fact: Fact) -> None:
    with pytest.raises(NotFound):
        await engine.memories.get("b", "no such fact")
    with pytest.raises(NotFound):
        await engine.memories.update("b", "no such fact", MemoryPatch(text="x"))
    for wanted in (FactFilter(fact_type="opinion"), FactFilter(state="gone")):
        with pytest.raises(InvalidInput):
            await engine.memories.list("b", wanted)
    with pytest.raises(InvalidInput):
        await engine.memories.clear("b", "opinion")


async def test_clearing_by_type_keeps_documents_and_lets_them_be_retained_again(engine: Engine, fact: Fact) -> None:
    await engine.retain("b", [ItemInput(content="Bob: I stayed.", document_id="d")])
    assert await engine.memories.clear("b", "observation") == 0
    assert await engine.memories.clear("b") == 2
    assert await engine.texts("b") == []
    assert (await engine.documents.get("b", "d")).text == "Bob: I stayed."
    await engine.retain("b", [ItemInput(content="Bob: I stayed.", document_id="d")])
    assert await engine.texts("b") == ["Bob: I stayed."]
