"""What is read again when a document comes again: only what is new."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.model import Extraction, Fact, RetainItem
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.retain import ItemInput, Retainer
from hindsight_server.ports.extractor import ExtractionOptions, Skip
from hindsight_server.ports.records import BankChange, FactFilter

from .conftest import Engine

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Reading:
    """Remembers what facts were read from."""

    def __init__(self) -> None:
        self._builtin = BuiltinExtractor(Analyzer())
        self.read: list[str] = []

    def extract(self, item: RetainItem, options: ExtractionOptions, skip: Skip | None = None) -> Extraction:
        extraction = self._builtin.extract(item, options, skip)
        self.read += [fact.text for fact in extraction.facts]
        return extraction


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
async def small(engine: Engine, reading: Reading) -> Engine:
    """Use cases of a bank with small chunks, whose extractor remembers what it read."""
    await engine.store.save_bank("b", BankChange(config={"retain_chunk_size": 200}), engine.clock.now())
    retainer = Retainer(engine.store, reading, Indexer(Analyzer(), HashingEmbedder()), engine.clock)
    return replace(engine, retainer=retainer)


def line(number: int, colour: str = "red") -> str:
    return f"Ann: the boat with the number {number} is {colour} and lies in the harbour of the old town, where it was."


async def facts(engine: Engine) -> dict[str, Fact]:
    page = await engine.memories.list("b", FactFilter(), 1000)
    return {fact.text: fact for fact in page.items}


@pytest.mark.feature("R4")
async def test_only_changed_chunks_are_read_again(small: Engine, reading: Reading) -> None:
    lines = [line(number) for number in range(20)]
    await small.retain("b", [ItemInput(content="\n".join(lines), document_id="d", timestamp=AT)])
    before = await facts(small)
    reading.read.clear()
    lines[7] = line(7, "blue")
    await small.retain("b", [ItemInput(content="\n".join(lines), document_id="d", timestamp=AT)])
    after = await facts(small)
    assert lines[7] in reading.read
    assert len(reading.read) <= 2
    assert sorted(after) == sorted(lines)
    kept = [text for text in lines if text not in reading.read]
    assert len(kept) >= 18
    for text in kept:
        assert after[text].fact_id == before[text].fact_id
        assert after[text].created_at == before[text].created_at < after[lines[7]].created_at


@pytest.mark.feature("R4")
async def test_case_a13_the_same_batch_again_changes_nothing(small: Engine, reading: Reading) -> None:
    """Two items of one document keep their order; the second and third identical call change no count, id or time."""

    async def send() -> list[Fact]:
        items = [ItemInput(content=line(1), document_id="s1"), ItemInput(content=line(2), document_id="s1")]
        await small.retain("b", items)
        return sorted((await facts(small)).values(), key=lambda fact: fact.turn_index)

    first = await send()
    document = await small.documents.get("b", "s1")
    assert [fact.text for fact in first] == [line(1), line(2)]
    reading.read.clear()
    assert await send() == first == await send()
    assert reading.read == []
    assert await small.documents.get("b", "s1") == document
    # What is appended joins what is there.
    await small.retain("b", [ItemInput(content=line(3), document_id="s1", update_mode="append")])
    assert sorted(await facts(small)) == [line(1), line(2), line(3)]


@pytest.mark.feature("R4")
async def test_a_repeated_chunk_keeps_one_fact_for_each_of_its_places(small: Engine) -> None:
    await small.retain("b", [ItemInput(content=line(1), document_id="d", timestamp=AT)])
    twice = f"{line(1)}\n{line(2)}\n{line(1)}"
    await small.retain("b", [ItemInput(content=twice, document_id="d", timestamp=AT)])
    page = await small.memories.list("b", FactFilter(), 10)
    assert sorted(fact.text for fact in page.items) == [line(1), line(1), line(2)]


def _long(word: str) -> str:
    return " ".join(f"Sentence {number} of the report about the {word} is here." for number in range(12))


@pytest.mark.feature("R4")
@pytest.mark.parametrize(
    "write",
    [
        lambda words: f"Ann: {words}",
        lambda words: f"{words}\n\n{_long('harbour')}",
        lambda words: json.dumps([{"speaker": "Ann", "text": words}, {"speaker": "Bob", "text": _long("harbour")}]),
    ],
    ids=["dialogue", "prose", "json"],
)
async def test_no_word_of_a_replaced_text_stays(small: Engine, write: Any) -> None:
    """Also where a turn goes over several chunks, of which only one is changed."""
    words = _long("bridge")
    await small.retain("b", [ItemInput(content=write(words), document_id="d", timestamp=AT)])
    for old, new in (("Sentence 11 of", "Chapter 11 of"), ("Sentence 0 of", "Chapter 0 of")):
        words = words.replace(old, new)
        await small.retain("b", [ItemInput(content=write(words), document_id="d", timestamp=AT)])
        text = " ".join(await facts(small))
        assert new in text
        assert f"{old} the report about the bridge" not in text
    assert sorted(await small.texts("b")) == sorted(await _fresh(small, write(words)))


async def _fresh(engine: Engine, content: str) -> list[str]:
    """The facts of a text that is retained for the first time."""
    await engine.store.save_bank("fresh", BankChange(config={"retain_chunk_size": 200}), engine.clock.now())
    await engine.retain("fresh", [ItemInput(content=content, document_id="d", timestamp=AT)])
    texts = await engine.texts("fresh")
    await engine.banks.delete("fresh")
    return texts


@pytest.mark.feature("R4")
async def test_a_speaker_who_is_named_otherwise_is_followed_in_every_chunk(small: Engine) -> None:
    for speaker in ("Ann", "Bob"):
        content = f"{speaker}: {_long('bridge')}"
        await small.retain("b", [ItemInput(content=content, document_id="d", timestamp=AT)])
    assert {fact.speaker for fact in (await facts(small)).values()} == {"Bob"}


@pytest.mark.feature("R4")
async def test_what_is_invalidated_stays_so_where_its_words_are_told_again_further_down(engine: Engine) -> None:
    def told(*words: str) -> ItemInput:
        return ItemInput(content=json.dumps([{"speaker": "Ann", "text": one} for one in words]), document_id="d")

    await engine.retain("b", [told("The kettle is in the attic.", "The ladder is in the cellar.")])
    ladder = (await facts(engine))["Ann: The ladder is in the cellar."]
    await engine.memories.update("b", ladder.fact_id, MemoryPatch(state="invalidated"))
    words = ["The violin is in the garden.", "The lamp is in the hall.", "The ladder is in the cellar."]
    await engine.retain("b", [told(*words, "The boat is at the lake.")])

    found = await facts(engine)
    places = {fact.turn_index: text.removeprefix("Ann: ") for text, fact in found.items()}
    assert places == dict(enumerate([*words, "The boat is at the lake."]))
    again = found["Ann: The ladder is in the cellar."]
    assert (again.fact_id, again.state) == (ladder.fact_id, "invalidated")
