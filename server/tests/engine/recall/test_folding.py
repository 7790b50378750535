"""What is stored several times is one result, and every source stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.recall.folding import fold
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallOutcome, RecallQuery
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from ..conftest import Engine, SteppingClock, build

AT = datetime(2026, 3, 4, 9, tzinfo=UTC)


class Bank:
    """One bank that can be told things and asked."""

    def __init__(self, engine: Engine, recaller: Recaller) -> None:
        self.engine = engine
        self._recaller = recaller

    async def tell(self, document_id: str, content: str, **given: Any) -> None:
        item = ItemInput(content=content, document_id=document_id, **({"timestamp": AT} | given))
        await self.engine.retain("b", [item])

    async def ask(self, query: str = "What about the tea?", **asked: Any) -> RecallOutcome:
        return await self._recaller.recall("b", RecallQuery(query=query, **asked))

    async def found(self, query: str = "What about the tea?", **asked: Any) -> list[tuple[str, int]]:
        outcome = await self.ask(query, **asked)
        return sorted((result.fact.text, result.proof_count) for result in outcome.results)


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[Bank]:
    store = SqliteStore(tmp_path)
    await store.open()
    engine = build(store, SteppingClock())
    yield Bank(engine, Recaller(store, HashingEmbedder(), Analyzer(), engine.clock))
    await store.close()


@pytest.mark.feature("R16")
async def test_case_a15_one_statement_stored_in_three_documents_is_one_result_with_all_sources(bank: Bank) -> None:
    """Near copies within one request and from later ones are one memory that counts its evidence."""
    said = "Ann: We will travel with the whole family and drink tea."
    await bank.tell("d1", f"{said}\nBob: Good.")
    await bank.tell("d2", said)
    await bank.tell("d3", "Ann: Well, we will travel with the whole family and drink tea!")
    (result,) = (await bank.ask()).results
    assert result.proof_count == 3
    assert {result.fact.document_id, *(copy.document_id for copy in result.copies)} == {"d1", "d2", "d3"}
    assert (await bank.engine.memories.list("b", FactFilter())).total == 3


@pytest.mark.feature("R16")
async def test_a_forgotten_source_leaves_the_others(bank: Bank) -> None:
    for document_id in ("d1", "d2"):
        await bank.tell(document_id, "Ann: I like tea.")
    await bank.engine.documents.delete("b", "d1")
    (result,) = (await bank.ask()).results
    assert (result.fact.document_id, result.proof_count, result.copies) == ("d2", 1, ())


@pytest.mark.feature("R16")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann: I like tea.", "Bob: I like tea."),
        ("Ann: I like tea.", "Ann: I don't like tea."),
        ("Ann: The tea cost 15 euros.", "Ann: The tea cost 51 euros."),
        ("Ann: Order tea-001.", "Ann: Order tea-002."),
        ("user: I like tea.", "assistant: I like tea."),
        ("小李：我喜欢喝 tea", "小李：我不喜欢喝 tea"),
    ],
)
async def test_what_differs_in_a_word_that_counts_stays_two(bank: Bank, one: str, other: str) -> None:
    await bank.tell("d1", one)
    await bank.tell("d2", other)
    assert len(await bank.found()) == 2


@pytest.mark.feature("R16")
async def test_yesterday_of_different_days_stays_two(bank: Bank) -> None:
    await bank.tell("d1", "Ann: I drank tea yesterday.")
    await bank.tell("d2", "Ann: I drank tea yesterday.", timestamp=AT + timedelta(days=1))
    await bank.tell("d3", "Ann: I drank tea yesterday.", timestamp=AT + timedelta(hours=2))
    assert [count for _, count in await bank.found()] == [1, 2]


@pytest.mark.feature("R16")
async def test_what_a_caller_may_not_see_is_neither_shown_nor_counted(bank: Bank) -> None:
    for document_id, tag in (("d1", "mine"), ("d2", "yours")):
        await bank.tell(document_id, "Ann: I like tea.", tags=[tag])
    outcome = await bank.ask(tags=TagLeaf(frozenset({"mine"}), TagsMatch.ANY_STRICT))
    (result,) = outcome.results
    assert (result.fact.document_id, result.proof_count, result.copies) == ("d1", 1, ())


@pytest.mark.feature("R16")
async def test_a_corrected_fact_is_its_own(bank: Bank) -> None:
    for document_id in ("d1", "d2"):
        await bank.tell(document_id, "Ann: I like tea.")
    facts = (await bank.engine.memories.list("b", FactFilter(document_id="d1"))).items
    await bank.engine.memories.update("b", facts[0].fact_id, MemoryPatch(text="Ann: I like green tea."))
    assert await bank.found() == [("Ann: I like green tea.", 1), ("Ann: I like tea.", 1)]


@pytest.mark.feature("R16")
async def test_copies_take_no_room_from_other_facts(bank: Bank) -> None:
    for number in range(30):
        await bank.tell(f"d{number}", "Ann: I like tea.")
    await bank.tell("other", "Bob: Tea is grown in Fujian.")
    texts = [text for text, _ in await bank.found(max_tokens=40)]
    assert texts == ["Ann: I like tea.", "Bob: Tea is grown in Fujian."]


@given(st.lists(st.integers(min_value=0, max_value=4), max_size=12), st.sets(st.integers(min_value=0, max_value=11)))
def test_the_first_of_each_number_stands_for_the_others(numbers: list[int], left_out: set[int]) -> None:
    places = np.array([place for place in range(len(numbers)) if place not in left_out], np.int32)
    folded = fold(np.array(numbers, np.int64), places)
    seen: dict[int, int] = {}
    expected = []
    for place in places.tolist():
        if numbers[place] == 0 or numbers[place] not in seen:
            seen[numbers[place]] = place
            expected.append(place)
    assert folded.places.tolist() == expected
    assert sorted([*folded.places.tolist(), *folded.dropped.tolist()]) == places.tolist()
    for place, copies in folded.copies.items():
        assert {numbers[copy] for copy in copies.tolist()} == {numbers[place]}
        assert place < min(copies.tolist())
