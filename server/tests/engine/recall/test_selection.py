"""What of the ranking makes the answer, and why the rest does not."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.recall.types import LeftOut, MinScores, SourceFactsOption
from hindsight_server.ports.records import FactFilter

from .conftest import Memory, texts


def observe(folder: Path, fact_id: str, sources: list[str]) -> None:
    """Make a stored fact an observation drawn from others, as a consolidation would have written it."""
    connection = apsw.Connection(str(folder / "memory.db"))
    change = "UPDATE facts SET fact_type = 'observation', source_fact_ids = ?, proof_count = ? WHERE fact_id = ?"
    connection.execute(change, (json.dumps(sources), len(sources), fact_id))
    connection.close()


async def _observed(memory: Memory, folder: Path) -> dict[str, str]:
    """Nine facts on tea, of which three make an observation; ids by text."""
    drawn = ["Ann drank green tea on Monday.", "Ann drank green tea on Tuesday.", "Ann drank green tea on Friday."]
    pattern = "Ann usually drinks green tea."
    await memory.retain(*drawn, pattern, *(f"Tea shop number {number} sells green tea to Ann." for number in range(5)))
    page = await memory.engine.memories.list("b", FactFilter(), 100)
    ids = {fact.text: fact.fact_id for fact in page.items}
    observe(folder, ids[pattern], [ids[text] for text in drawn])
    return ids


@pytest.mark.feature("S2")
async def test_an_observation_supersedes_its_sources_and_others_take_their_room(memory: Memory, tmp_path: Path) -> None:
    await _observed(memory, tmp_path)
    query = "Does Ann drink green tea?"
    everything = await memory.ask(query)
    assert len(everything.results) == 9
    preferring = await memory.ask(query, prefer_observations=True, trace=True)
    assert [text for text in texts(everything) if "drank" not in text] == texts(preferring)
    assert preferring.trace.left_out == {"superseded": 3}
    assert not preferring.truncated
    reasons = [one.left_out for one in preferring.trace.explained]
    assert reasons.count(LeftOut.SUPERSEDED) == 3
    # Within a small budget the freed room is filled with the next ones: as many results as before.
    few = await memory.ask(query, max_tokens=70)
    filled = await memory.ask(query, max_tokens=70, prefer_observations=True)
    assert len(filled.results) >= len(few.results) > 2
    assert not any("drank" in text for text in texts(filled))
    assert filled.truncated


@pytest.mark.feature("S2")
@pytest.mark.parametrize("types", [("observation",), ("world",)])
async def test_preferring_observations_needs_both_kinds(memory: Memory, tmp_path: Path, types: tuple[str, ...]) -> None:
    await _observed(memory, tmp_path)
    asked = {"types": types, "query": "Does Ann drink green tea?"}
    assert await memory.texts(**asked, prefer_observations=True) == await memory.texts(**asked)


@pytest.mark.feature("S3")
async def test_source_facts_within_their_budgets(memory: Memory, tmp_path: Path) -> None:
    ids = await _observed(memory, tmp_path)
    drawn = {fact_id for text, fact_id in ids.items() if "drank" in text}
    each = Analyzer().count_tokens("Ann drank green tea on Monday.")

    async def sources(**budgets: int) -> tuple[int, bool | None]:
        outcome = await memory.ask("tea", types=("observation",), source_facts=SourceFactsOption(**budgets))
        assert outcome.source_facts is not None
        assert {fact.fact_id for fact in outcome.source_facts} <= drawn
        return len(outcome.source_facts), outcome.source_facts_truncated

    assert await sources() == (3, False)
    assert await sources(max_tokens=-1) == (3, False)
    assert await sources(max_tokens=2 * each + 1) == (2, True)
    assert await sources(max_tokens_per_observation=each) == (1, True)
    assert await sources(max_tokens=0) == (0, True)


@pytest.mark.feature("S2")
async def test_what_the_floors_leave_out_is_counted(memory: Memory) -> None:
    await memory.retain(*(f"Ann met number {number} in Lisbon." for number in range(6)), "Rain.")
    everything = (await memory.ask("Ann Lisbon")).results
    floor = everything[3].scores.final
    final = await memory.ask("Ann Lisbon", min_scores=MinScores(final=floor), trace=True)
    kept = [result for result in everything if result.scores.final >= floor]
    assert len(final.results) == len(kept)
    assert final.trace.left_out == {"floor_final": 7 - len(kept)}
    assert not final.truncated
    reranker = await memory.ask("Ann Lisbon", min_scores=MinScores(reranker=1.0), trace=True)
    assert reranker.trace.left_out == {"floor_reranker": 7}
    assert {one.left_out for one in reranker.trace.explained} == {LeftOut.FLOOR_RERANKER}


async def test_lines_inside_a_fact_are_counted_as_they_are_shown(memory: Memory) -> None:
    await memory.engine.banks.put("b", BankInput(config={"retain_extraction_mode": "chunks"}))
    paragraphs = "\n\n".join(f"- item {number} of the list" for number in range(12))
    await memory.retain(f"First list:\n\n{paragraphs}", f"Second list:\n\n{paragraphs}")
    for max_tokens in (80, 120, 200, 300, 4096):
        outcome = await memory.ask("list", max_tokens=max_tokens)
        shown = [result.fact.text.replace("\n", "\n   ") for result in outcome.results]
        rendered = "\n".join(f"{number}. {text}" for number, text in enumerate(shown, start=1))
        assert Analyzer().count_tokens(rendered) <= outcome.listed_tokens <= max_tokens
    assert len(outcome.results) == 2


@pytest.mark.feature("S3")
async def test_chunks_have_a_budget_of_their_own(memory: Memory) -> None:
    await memory.retain(*({"content": f"Ann met number {n} in Lisbon.", "document_id": f"d{n}"} for n in range(3)))
    outcome = await memory.ask("Ann Lisbon", max_tokens=0, chunks_max_tokens=1000)
    assert outcome.results == ()
    assert outcome.truncated
    assert outcome.chunks is not None
    assert {chunk.chunk.document_id for chunk in outcome.chunks} == {"d0", "d1", "d2"}
    assert (await memory.ask("Ann Lisbon", max_tokens=0)).chunks is None
