"""Banks that are asked in several scripts: all facts get vectors in the space that every script shares."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.crossing import Crossing
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallQuery
from hindsight_server.engine.retain import ItemInput, Retainer
from hindsight_server.ports.embedder import Encoding

from .conftest import Memory, texts

OWN, SHARED = "hashing-384", "shared-384"
ENGLISH = [
    "The ferry to the lighthouse is cancelled because of the storm.",
    "Olga speaks Finnish because she grew up in Turku.",
    "Water the orchids once a week and keep them out of the sun.",
    "The mechanic found a leak in the brake line.",
    "Nora keeps the spare car key under the garden bench.",
]


class TwoSpaces(HashingEmbedder):
    """Hashed words in a space for ASCII and in one for everything; counts what it encodes into the latter."""

    def __init__(self) -> None:
        super().__init__()
        self.crossed: list[str] = []
        self.broken = False
        self.held = 0.0

    @property
    def spaces(self) -> tuple[str, ...]:
        return (OWN, SHARED)

    def space_of(self, text: str) -> str:
        return OWN if text.isascii() else SHARED

    def encode_query(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        if SHARED in spaces:
            if self.broken:
                raise EmbeddingUnavailable("The shared model is damaged.")
            time.sleep(self.held)
            self.crossed.append(text)
        (made,) = super().encode_query(text, [OWN])
        return [Encoding(space, made.vector) for space in spaces]


@pytest.fixture
def embedder() -> TwoSpaces:
    return TwoSpaces()


@pytest.fixture
async def asked(memory: Memory, embedder: TwoSpaces) -> Memory:
    """A bank of English facts, read by a recaller of two spaces."""
    await memory.retain(*ENGLISH)
    return Memory(memory.engine, Recaller(memory.engine.store, embedder, Analyzer(), memory.engine.clock))


async def spaces(memory: Memory) -> dict[str, int]:
    held = (await memory.engine.store.snapshot("b", 0, 0)).vectors
    return {space: len(seqs) for space, (seqs, _) in held.items()}


async def test_a_bank_of_one_script_that_is_asked_in_it_pays_nothing(asked: Memory, embedder: TwoSpaces) -> None:
    assert (await asked.texts("Who speaks Finnish?"))[0] == ENGLISH[1]
    assert embedder.crossed == []
    assert await spaces(asked) == {OWN: 5}


async def test_the_first_question_in_another_script_gives_all_facts_vectors_there(
    asked: Memory, embedder: TwoSpaces
) -> None:
    outcome = await asked.ask("谁会说 Finnish？")
    assert texts(outcome)[0] == ENGLISH[1]
    assert not any("other scripts" in note for note in outcome.trace.notes)
    assert await spaces(asked) == {OWN: 5, SHARED: 5}
    embedder.crossed.clear()
    await asked.ask("谁会说 Finnish？")
    assert embedder.crossed == []  # nothing is encoded twice, and the question itself is remembered


async def test_facts_that_come_later_get_theirs_with_the_next_question(asked: Memory, embedder: TwoSpaces) -> None:
    await asked.ask("谁会说 Finnish？")
    await asked.retain("Lucas wants to become a pilot.")
    assert (await spaces(asked))[SHARED] == 5
    embedder.crossed.clear()
    await asked.ask("谁想当 pilot？")
    assert len(embedder.crossed) == 2  # the fact and the question
    assert (await spaces(asked))[SHARED] == 6


async def test_a_question_in_the_script_of_the_facts_does_not_wait(asked: Memory, embedder: TwoSpaces) -> None:
    await asked.ask("谁会说 Finnish？")
    await asked.retain("Lucas wants to become a pilot.")
    outcome = await asked.ask("Who wants to become a pilot?")
    assert texts(outcome)[0] == "Lucas wants to become a pilot."
    assert not any("other scripts" in note for note in outcome.trace.notes)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "cross b"))
    assert (await spaces(asked))[SHARED] == 6


async def test_a_restart_finds_the_vectors_where_they_were_stored(asked: Memory, embedder: TwoSpaces) -> None:
    await asked.ask("谁会说 Finnish？")
    embedder.crossed.clear()
    again = Memory(asked.engine, Recaller(asked.engine.store, embedder, Analyzer(), asked.engine.clock))
    assert (await again.texts("谁会说 Finnish？"))[0] == ENGLISH[1]
    assert embedder.crossed == ["谁会说 Finnish？"]


async def test_what_is_forgotten_leaves_no_vector_in_any_space(asked: Memory) -> None:
    outcome = await asked.ask("谁会说 Finnish？")
    forgotten = outcome.results[0].fact
    await asked.engine.documents.delete("b", forgotten.document_id)
    assert await spaces(asked) == {OWN: 4, SHARED: 4}
    assert await asked.engine.store.vectors("b", [forgotten.seq]) == {}
    assert ENGLISH[1] not in await asked.texts("谁会说 Finnish？")


async def test_without_the_shared_model_the_rest_answers(asked: Memory, embedder: TwoSpaces) -> None:
    embedder.broken = True
    outcome = await asked.ask("谁会说 Finnish？")
    assert texts(outcome)[0] == ENGLISH[1]
    assert await spaces(asked) == {OWN: 5}


async def test_a_big_bank_is_answered_at_once_and_filled_afterwards(asked: Memory, embedder: TwoSpaces) -> None:
    store: Any = asked.engine.store
    cache = ViewCache(store)
    crossing = Crossing(store, embedder, cache, awaited=4)
    _, view = await cache.get("b")
    until = time.monotonic() + 60
    assert await crossing.needed("b", view, "谁？", until) == 5
    assert await crossing.needed("b", view, "谁？", until) == 5  # one job a bank
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "cross b"))
    _, filled = await cache.get("b")
    assert await crossing.needed("b", filled, "谁？", until) is None
    assert len(embedder.crossed) == 5
    assert filled.vectors[SHARED].rows.tolist() == [0, 1, 2, 3, 4]
    assert list(view.vectors) == [OWN]  # what another recall reads stays as it is
    await crossing.close()


async def test_a_question_waits_no_longer_than_its_deadline(asked: Memory, embedder: TwoSpaces) -> None:
    embedder.held = 0.2
    store: Any = asked.engine.store
    cache = ViewCache(store)
    crossing = Crossing(store, embedder, cache)
    _, view = await cache.get("b")
    assert await crossing.needed("b", view, "谁？", time.monotonic() + 0.02) == 5
    await crossing.close()
    assert await spaces(asked) == {OWN: 5}


async def test_views_take_vectors_in_the_order_of_their_rows(asked: Memory) -> None:
    cache = ViewCache(asked.engine.store)
    _, view = await cache.get("b")
    seqs = view.seq.tolist()
    unit = np.eye(5, dtype=np.float32)
    for places in ([3, 1], [0, 4, 2, 1]):
        await cache.add_vectors("b", {seqs[at]: Encoding(SHARED, unit[at]) for at in places})
    _, view = await cache.get("b")
    assert view.vectors[SHARED].rows.tolist() == [0, 1, 2, 3, 4]
    assert [int(np.argmax(view.vectors[SHARED].cosines(one))) for one in unit] == [0, 1, 2, 3, 4]


async def test_chinese_questions_find_english_facts_and_the_other_way_round(store: Any, clock: Any) -> None:
    embedder = make_embedder("local")
    embedder.start()
    retainer = Retainer(store, BuiltinExtractor(Analyzer()), Indexer(Analyzer(), embedder), clock)
    chinese = ["野猪拱坏了西边的篱笆。", "老郑把拖拉机借走了。", "冷库最多能放四十吨苹果。"]
    await retainer.retain("b", [ItemInput(content=text) for text in (*ENGLISH, *chinese)])
    recaller = Recaller(store, embedder, Analyzer(), clock)
    pairs = {
        "谁会说芬兰语？": ENGLISH[1],
        "兰花多久浇一次水？": ENGLISH[2],
        "汽车检查出什么故障？": ENGLISH[3],
        "Who borrowed the tractor?": chinese[1],
        "How many tons of apples fit into the cold storage?": chinese[2],
        "Who speaks Finnish?": ENGLISH[1],
    }
    found = {query: texts(await recaller.recall("b", RecallQuery(query=query)))[0] for query in pairs}
    assert found == pairs
    await recaller.close()
