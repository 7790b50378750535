"""Looking without storing: what a retain would make of a text, and how memories hang together."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import BankNotFound, InvalidInput
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.graph import Graph, Graphs
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.retain.preview import Previewer
from hindsight_server.ports.records import BankChange, FactFilter

from .conftest import Engine

AT = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def previewer(engine: Engine) -> Previewer:
    return Previewer(engine.store, BuiltinExtractor(Analyzer()), engine.clock)


@pytest.mark.feature("R7")
async def test_a_preview_is_what_a_retain_makes_and_stores_nothing(engine: Engine, previewer: Previewer) -> None:
    item = ItemInput(content="Ann: I ran yesterday.\nBob: ok\nBob: I live in Oslo.", timestamp=AT)
    previewed = (await previewer.extract("b", item, {})).extraction
    with pytest.raises(BankNotFound):
        await engine.store.get_bank("b")
    await engine.retain("b", [item])
    assert sorted(fact.text for fact in previewed.facts) == sorted(await engine.texts("b"))
    assert previewed.facts[0].occurred is not None
    assert previewed.facts[0].occurred.start.day == 3


@pytest.mark.feature("R7")
async def test_settings_of_the_call_win_over_those_of_strategy_and_bank(engine: Engine, previewer: Previewer) -> None:
    strategies = {"small": {"retain_chunk_size": 200}, "whole": {"retain_extraction_mode": "verbatim"}}
    change = BankChange(config={"retain_strategies": strategies, "retain_default_strategy": "small"})
    await engine.store.save_bank("b", change, AT)
    text = "\n".join(f"Ann: this is the line with the number {number}." for number in range(10))

    async def chunks(strategy: str | None = None, **overrides: Any) -> tuple[int, int]:
        made = (await previewer.extract("b", ItemInput(content=text, strategy=strategy), overrides)).extraction
        return len(made.chunks), len(made.facts)

    assert await chunks() == (3, 10)
    assert await chunks("whole") == (1, 1)
    assert await chunks("whole", retain_chunk_size=250) == (2, 2)
    assert await chunks(retain_extraction_mode="verbatim", retain_chunk_size=3000) == (1, 1)
    for overrides in ({"retain_extraction_mode": "custom"}, {"retain_chunk_size": 1}):
        with pytest.raises(InvalidInput):
            await chunks(**overrides)
    with pytest.raises(InvalidInput, match="strategy"):
        await chunks("none")


async def _graph(engine: Engine, limit: int = 100, chunk_id: str | None = None, **wanted: Any) -> Graph:
    return await Graphs(engine.store).of("b", FactFilter(**wanted), limit, chunk_id)


def _links(graph: Graph, kind: str) -> set[tuple[str, str, float]]:
    texts = {fact.fact_id: fact.text for fact in graph.facts}
    return {
        (texts[link.source], texts[link.target], round(link.weight, 3)) for link in graph.links if link.kind == kind
    }


@pytest.mark.feature("R11")
async def test_links_follow_names_times_and_meaning(engine: Engine) -> None:
    said = [
        ("Carla Diaz bought a canoe in Lisbon.", timedelta()),
        ("Carla Diaz sold her house in Lisbon.", timedelta(hours=6)),
        ("Carla Diaz bought a canoe in Lisbon today.", timedelta(days=30)),
    ]
    for text, later in said:
        await engine.retain("b", [ItemInput(content=text, timestamp=AT + later)])
    graph = await _graph(engine)
    first, second, third = (text for text, _ in said)
    assert [fact.text for fact in graph.facts] == [third, second, first]
    two = round(math.tanh(1.0), 3)
    assert _links(graph, "entity") == {(first, second, two), (second, third, two)}
    assert _links(graph, "temporal") == {(first, second, 0.75)}
    alike = {frozenset(link[:2]): link[2] for link in _links(graph, "semantic")}
    assert max(alike, key=lambda pair: alike[pair]) == {first, third}
    assert all(0 < link.weight <= 1 for link in graph.links)


@pytest.mark.feature("R11")
async def test_a_graph_shows_what_was_asked_for_and_nothing_forgotten(engine: Engine) -> None:
    for number in range(6):
        tags = ["even"] if number % 2 == 0 else []
        item = ItemInput(content=f"Carla paid invoice {number}.", document_id=f"d{number}", tags=tags, timestamp=AT)
        await engine.retain("b", [item])
    await engine.retain("b", [ItemInput(content="Carla waits.", document_id="w", timestamp=AT)], run_async=True)
    graph = await _graph(engine, 3)
    assert (len(graph.facts), graph.total, graph.limit) == (3, 7, 3)
    ids = {fact.fact_id for fact in graph.facts}
    assert {end for link in graph.links for end in (link.source, link.target)} <= ids
    assert (await _graph(engine, tags=TagLeaf(frozenset({"even"}), TagsMatch.ALL_STRICT))).total == 3
    assert (await _graph(engine, query="invoice 4")).total == 1
    (one,) = (await _graph(engine, document_id="d1")).facts
    assert [fact.fact_id for fact in (await _graph(engine, chunk_id=one.chunk_id)).facts] == [one.fact_id]
    assert (await _graph(engine, chunk_id="none")).facts == ()
    assert (await _graph(engine, 0)).facts == ()
    await engine.memories.update("b", one.fact_id, MemoryPatch(state="invalidated"))
    assert one.fact_id not in {fact.fact_id for fact in (await _graph(engine)).facts}
    with pytest.raises(InvalidInput):
        await _graph(engine, fact_type="opinion")
    with pytest.raises(BankNotFound):
        await Graphs(engine.store).of("none", FactFilter(), 10)
