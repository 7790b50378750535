"""What a filter hides influences nothing: results are those of a bank that never held it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.recall.types import SourceFactsOption, TimeField, TimeFilter, TimeWindow

from .conftest import Memory, talk, texts

FACTS: list[dict[str, Any]] = [
    {"content": "Ann keeps bees in the garden.", "tags": ["ann"], "document_id": "d1"},
    {"content": "Bo keeps bees on the roof.", "tags": ["bo"], "document_id": "d2"},
    {"content": "They both keep bees.", "tags": ["ann", "bo"], "document_id": "d3"},
    {"content": "Everybody likes bees.", "document_id": "d4"},
    {"content": "Cy is afraid of bees.", "tags": ["cy"], "document_id": "d5"},
]


def leaf(*tags: str, match: TagsMatch) -> TagLeaf:
    return TagLeaf(frozenset(tags), match)


@pytest.mark.feature("S4")
@pytest.mark.parametrize(
    ("tags", "seen"),
    [
        (leaf("ann", match=TagsMatch.ANY), "d1 d3 d4"),
        (leaf("ann", "bo", match=TagsMatch.ALL), "d3 d4"),
        (leaf("ann", "bo", match=TagsMatch.ANY_STRICT), "d1 d2 d3"),
        (leaf("ann", "bo", match=TagsMatch.ALL_STRICT), "d3"),
        (leaf("ann", match=TagsMatch.EXACT), "d1"),
        (leaf(match=TagsMatch.EXACT), "d4"),
        (TagAnd((leaf("bo", match=TagsMatch.ANY_STRICT), TagNot(leaf("ann", match=TagsMatch.ANY_STRICT)))), "d2"),
        (TagOr((leaf("cy", match=TagsMatch.ANY_STRICT), leaf("bo", match=TagsMatch.EXACT))), "d2 d5"),
        (leaf("nobody", match=TagsMatch.ANY_STRICT), ""),
        (None, "d1 d2 d3 d4 d5"),
    ],
)
async def test_tags_hide_before_ranking(memory: Memory, tags: TagFilter | None, seen: str) -> None:
    await memory.retain(*FACTS)
    await memory.engine.store.ensure_bank("only", memory.engine.clock.now())
    if seen:
        await memory.retain(*(fact for fact in FACTS if fact["document_id"] in seen.split()), bank_id="only")
    for query in ("who keeps bees", "Ann bees garden", 'the "bees"'):
        filtered = await memory.ask(query, tags=tags)
        alone = await memory.ask(query, bank_id="only")
        assert {result.fact.document_id for result in filtered.results} == set(seen.split())
        assert texts(filtered) == texts(alone)
        # Bit by bit: a hidden fact changes no word's rarity, no mean, no scale. (Times differ by milliseconds.)
        for one, other in zip(filtered.results, alone.results, strict=True):
            assert one.scores.keyword == pytest.approx(other.scores.keyword, rel=1e-6)
            assert one.scores.final == pytest.approx(other.scores.final, rel=1e-5)


@pytest.mark.feature("S4")
async def test_a_hidden_turn_lends_no_words_to_the_next(memory: Memory) -> None:
    context = {"context": "chat"}
    hidden = {"content": "Which zebra?", "tags": ["x"], "timestamp": "2024-01-01T10:00:00Z", **context}
    shown = {"content": "The striped one.", "tags": ["y"], "timestamp": "2024-01-01T10:00:05Z", **context}
    await memory.retain(hidden, shown)
    reached = await memory.ask("zebra", trace=True)
    after = next(at for at, result in enumerate(reached.results) if result.fact.text == "The striped one.")
    assert reached.trace.explained[after].features["pair"][0] > 0
    alone = await memory.ask("zebra", trace=True, tags=leaf("y", match=TagsMatch.ANY_STRICT))
    assert texts(alone) == ["The striped one."]
    assert not {"pair", "session"} & set(alone.trace.explained[0].features)
    assert alone.trace.hidden == {"tags": 1}


@pytest.mark.feature("S4")
@pytest.mark.feature("S3")
async def test_chunks_come_within_budget_and_obey_the_tags(memory: Memory) -> None:
    await memory.retain(*FACTS)
    outcome = await memory.ask("bees", chunks_max_tokens=8192)
    assert outcome.chunks is not None
    assert [chunk.chunk.document_id for chunk in outcome.chunks] == [r.fact.document_id for r in outcome.results]
    assert not any(chunk.truncated for chunk in outcome.chunks)
    tokens = [Analyzer().count_tokens(chunk.text) for chunk in outcome.chunks]
    short = await memory.ask("bees", chunks_max_tokens=tokens[0] + 3)
    assert short.chunks is not None
    assert [chunk.truncated for chunk in short.chunks] == [False, True]
    assert short.chunks[1].chunk.text.startswith(short.chunks[1].text)
    assert Analyzer().count_tokens(short.chunks[1].text) <= 3
    strict = leaf("ann", match=TagsMatch.ANY_STRICT)
    filtered = await memory.ask("bees", chunks_max_tokens=8192, tags=strict)
    assert filtered.chunks is not None
    assert {chunk.chunk.document_id for chunk in filtered.chunks} == {"d1", "d3"}


@pytest.mark.feature("S4")
async def test_a_chunk_that_also_holds_a_hidden_fact_is_left_out(memory: Memory) -> None:
    words = talk(("Ann", "I keep bees."), ("Bo", "I keep my wasps secret."))
    await memory.retain({"content": words, "document_id": "talk", "tags": ["open"]})
    found = await memory.ask("wasps")
    secret = next(result.fact for result in found.results if "wasps" in result.fact.text)
    await memory.engine.memories.update("b", secret.fact_id, MemoryPatch(tags=("closed",)))
    outcome = await memory.ask("bees", chunks_max_tokens=1000, tags=leaf("open", match=TagsMatch.ANY_STRICT))
    assert texts(outcome) == ["Ann: I keep bees."]
    assert outcome.chunks == ()


@pytest.mark.feature("S3")
async def test_entities_come_within_their_budget(memory: Memory) -> None:
    await memory.retain("Ann met Boris in Lisbon.", "Cyrus met Boris in Bergen.")
    outcome = await memory.ask("who met Boris in Lisbon", entities_max_tokens=500)
    assert outcome.entities is not None
    assert {"Boris", "Lisbon"} <= {included.entity.name for included in outcome.entities}
    assert (await memory.ask("who met Boris", entities_max_tokens=0)).entities == ()
    assert (await memory.ask("who met Boris")).entities is None


async def test_source_facts_when_there_are_no_observations(memory: Memory) -> None:
    await memory.retain(*FACTS)
    outcome = await memory.ask("bees", source_facts=SourceFactsOption())
    assert (outcome.source_facts, outcome.source_facts_truncated) == ((), False)


@pytest.mark.feature("S2")
@pytest.mark.parametrize(
    ("on", "start", "end", "seen"),
    [
        (TimeField.MENTIONED, "2024-05-01", "2024-05-31", {"May talk."}),
        (TimeField.MENTIONED, "2024-05-01", None, {"May talk.", "We go to the lake on 10 July 2024."}),
        (TimeField.OCCURRED, "2024-07-01", "2024-07-31", {"We go to the lake on 10 July 2024."}),
        (TimeField.OCCURRED, None, "2024-04-30", {"March talk."}),
        (
            TimeField.OCCURRED,
            None,
            None,
            {"May talk.", "March talk.", "We go to the lake on 10 July 2024.", "Timeless."},
        ),
    ],
)
async def test_time_filter(memory: Memory, on: TimeField, start: str | None, end: str | None, seen: set[str]) -> None:
    await memory.retain("March talk.", timestamp="2024-03-10T12:00:00Z")
    await memory.retain("May talk.", timestamp="2024-05-10T12:00:00Z")
    await memory.retain("We go to the lake on 10 July 2024.", timestamp="2024-06-10T12:00:00Z")
    await memory.retain("Timeless.", timestamp="unset")

    def moment(text: str | None) -> datetime | None:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None

    window = TimeWindow(start=moment(start), end=moment(end))
    assert set(await memory.texts("talk of the lake", time_filter=TimeFilter(window=window, on=on))) == seen


@pytest.mark.feature("S2")
async def test_fact_types(memory: Memory) -> None:
    words = talk(("assistant", "I booked the train."), ("user", "My train is late."), key="role")
    await memory.retain(words, "The train to Bergen is blue.")
    everything = await memory.ask("train")
    types = {result.fact.fact_type.value for result in everything.results}
    for fact_type in types:
        found = await memory.ask("train", types=(fact_type,))
        assert {result.fact.fact_type.value for result in found.results} == {fact_type}
    assert await memory.texts("train", types=("observation",)) == []


@pytest.mark.feature("S4")
async def test_fuzzy_tags_reach_what_is_spelled_otherwise(memory: Memory) -> None:
    await memory.retain(
        {"content": "The build uses strict mode.", "tags": ["lang:typescript"], "document_id": "ts"},
        {"content": "The build is slow.", "tags": ["lang:python"], "document_id": "py"},
        {"content": "The build is green.", "document_id": "none"},
    )
    wanted = TagLeaf(frozenset({"lang:typsecript"}), TagsMatch.ANY_STRICT, fuzzy=True)
    outcome = await memory.ask("build", tags=wanted, chunks_max_tokens=1000, trace=True)
    assert texts(outcome) == ["The build uses strict mode."]
    assert outcome.trace.as_dict()["tag_meanings"] == {"lang:typsecript": ["lang:typescript"]}
    assert outcome.chunks is not None
    assert [chunk.chunk.document_id for chunk in outcome.chunks] == ["ts"]
    assert set(await memory.texts("build", tags=TagNot(wanted))) == {"The build is slow.", "The build is green."}
    # A tag that no recallable memory has any more is no spelling to fall for.
    await memory.engine.documents.delete("b", "ts")
    assert await memory.texts("build", tags=wanted) == []
