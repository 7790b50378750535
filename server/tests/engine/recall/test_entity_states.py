"""What comes along of the entities that results name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.recall.types import RecallOutcome
from hindsight_server.ports.records import FactFilter

from .conftest import Memory
from .test_selection import observe

FIRST = "The engine of the ship is a Kestrel."


def known(outcome: RecallOutcome) -> dict[str, list[str]]:
    assert outcome.entities is not None
    return {one.entity.name: [fact.text for fact in one.observations] for one in outcome.entities}


@pytest.fixture
async def filled(memory: Memory) -> Memory:
    for month, text in enumerate(
        (
            FIRST,
            "Boris oiled a Kestrel.",
            "Cyrus painted a Kestrel.",
            "Dora sold a Kestrel.",
            "Emil weighed a Kestrel.",
        ),
        start=1,
    ):
        await memory.retain({"content": text, "tags": [f"m{month}"]}, timestamp=f"2025-0{month}-01T12:00:00Z")
    return memory


TIGHT = {"query": "the engine of the ship", "max_tokens": 15}


@pytest.mark.feature("S3")
async def test_the_newest_other_memories_of_an_entity(filled: Memory) -> None:
    outcome = await filled.ask(**TIGHT, entities_max_tokens=500)
    assert [result.fact.text for result in outcome.results] == [FIRST]
    assert known(outcome)["Kestrel"] == ["Emil weighed a Kestrel.", "Dora sold a Kestrel.", "Cyrus painted a Kestrel."]


@pytest.mark.feature("S3")
async def test_names_and_memories_share_the_budget(filled: Memory) -> None:
    count = Analyzer().count_tokens
    name, each = count("Kestrel"), count("Emil weighed a Kestrel.")
    assert known(await filled.ask(**TIGHT, entities_max_tokens=name)) == {"Kestrel": []}
    assert known(await filled.ask(**TIGHT, entities_max_tokens=name + each)) == {"Kestrel": ["Emil weighed a Kestrel."]}
    assert known(await filled.ask(**TIGHT, entities_max_tokens=name - 1)) == {}


@pytest.mark.feature("S4")
async def test_hidden_and_invalidated_memories_are_not_told(filled: Memory) -> None:
    only = TagLeaf(frozenset({"m1", "m3"}), TagsMatch.ANY_STRICT)
    assert known(await filled.ask(**TIGHT, tags=only, entities_max_tokens=500)) == {
        "Kestrel": ["Cyrus painted a Kestrel."]
    }
    page = await filled.engine.memories.list("b", FactFilter(), 10)
    await filled.engine.memories.update("b", page.items[0].fact_id, MemoryPatch(state="invalidated"))
    assert known(await filled.ask(**TIGHT, entities_max_tokens=500))["Kestrel"][0] == "Dora sold a Kestrel."


async def test_observations_come_first(filled: Memory, tmp_path: Path) -> None:
    page = await filled.engine.memories.list("b", FactFilter(), 10)
    ids = {fact.text: fact.fact_id for fact in page.items}
    observe(tmp_path, ids["Boris oiled a Kestrel."], [ids["Emil weighed a Kestrel."]])
    assert known(await filled.ask(**TIGHT, entities_max_tokens=500))["Kestrel"][0] == "Boris oiled a Kestrel."
