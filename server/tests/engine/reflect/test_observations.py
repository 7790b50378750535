"""Reflect over observations that a consolidation made."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.domain.model import FactType
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.testing.scripted_model import tool_call

from .conftest import Desk, Shelf, done, mental_model, recall, told

QUESTION = "Where does Ann live?"
OBSERVED = "Ann lives in Bergen (since 2024-05-07; before that Oslo)."


@pytest.fixture
async def observed(engine: Any) -> Desk:
    """A bank with an observation that rests on two memories."""
    desk = Desk(engine)
    indexer = Indexer(desk.analyzer, HashingEmbedder())
    consolidator = Consolidator(
        engine.store, indexer, engine.clock, None, on_job=engine.jobs.wake, options=ConsolidatorOptions()
    )
    engine.jobs.register(CONSOLIDATION, consolidator.run_job)
    for text, time in (("I live in Oslo.", "2023-03-01"), ("I now live in Bergen, near the sea.", "2024-05-07")):
        await engine.retain("b", [ItemInput(content=f"Ann: {text}", timestamp=f"{time}T10:00:00Z")])
    await consolidator.trigger("b")
    await engine.jobs.run_until_idle()
    return desk


def observe(**more: Any) -> Any:
    return tool_call("search_observations", query="Ann's home", **more)


@pytest.mark.feature("F1")
async def test_they_are_searched_before_single_memories_and_cited(observed: Desk) -> None:
    outcome = await observed.ask([observe(), recall("Ann's home"), done("In Bergen.", "m1")], QUESTION)
    assert observed.choices == ["search_observations", "recall", "required"]
    assert [(fact.text, fact.fact_type) for fact in outcome.based_on] == [(OBSERVED, FactType.OBSERVATION)]
    shown = told(observed.provider.requests[1])
    assert '"type":"observation"' in shown
    assert '"support":2' in shown
    assert "near the sea" not in shown
    assert OBSERVED not in told(observed.provider.requests[2])


@pytest.mark.feature("F1")
async def test_mental_models_come_first_of_all(observed: Desk) -> None:
    observed.shelf = Shelf(mental_model(fresh=False))
    script = [tool_call("search_mental_models", query="home"), observe(), recall("home"), done("In Bergen.", "m1")]
    await observed.ask(script, QUESTION)
    assert observed.choices == ["search_mental_models", "search_observations", "recall", "required"]
    searches = {"search_mental_models", "read_mental_models", "search_observations", "recall"}
    assert observed.tools == {*searches, "expand", "done"}


async def test_names_can_be_left_out_and_tokens_bounded(observed: Desk) -> None:
    script = [observe(), recall("Ann's home"), done("In Bergen.", "m1")]
    await observed.ask(script, QUESTION)
    assert '"names":[' in told(observed.provider.requests[1])
    await observed.ask(script, QUESTION, observation_entities=False, observation_tokens=333)
    assert '"names":[' not in told(observed.provider.requests[1])
    assert observed.recaller.asked[-2].max_tokens == 333


async def test_what_they_rest_on_is_shown_when_the_bank_says_so(observed: Desk) -> None:
    await observed.engine.banks.update_config("b", {"reflect_source_facts_max_tokens": 500})
    outcome = await observed.ask([observe(), recall("Ann's home"), done("In Bergen.", "m1", "m2")], QUESTION)
    assert "near the sea" in told(observed.provider.requests[1])
    assert len(outcome.based_on) == 2


async def test_they_alone_can_be_asked_and_are_left_out_where_no_type_wants_them(observed: Desk) -> None:
    outcome = await observed.ask([observe(), done("In Bergen.", "m1")], QUESTION, fact_types=("observation",))
    assert observed.choices == ["search_observations", "required"]
    assert outcome.based_on[0].text == OBSERVED
    await observed.ask([recall("Ann's home"), done("In Bergen.", "m1")], QUESTION, fact_types=("world", "experience"))
    assert "search_observations" not in observed.tools


@pytest.mark.feature("F2")
async def test_nothing_found_among_them_still_needs_recall(observed: Desk) -> None:
    outcome = await observed.ask(
        [observe(), done("I don't know.", found=False), recall("Ann's home"), done("In Bergen.", "m1")],
        QUESTION,
        budget=Budget.HIGH,
        tags=TagLeaf(frozenset({"nobody"}), TagsMatch.ANY),
    )
    assert outcome.text == "In Bergen."
    assert told(observed.provider.requests[2]).startswith("Not yet: call recall first")
