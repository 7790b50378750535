"""Causes and effects of what is found join the candidates."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.engine.extract.distiller import Distiller
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatRequest
from hindsight_server.testing.scripted_model import ScriptedProvider

from .conftest import Memory, arm, texts

_RAIN, _FALL = "Water covered the valley overnight.", "Ann fell on the steps."
_STORY = "\n".join(["assistant: " + _RAIN, *(f"Ben: Bread number {n} was baked." for n in range(8)), "Ben: " + _FALL])
_FILLERS = [ItemInput(content=f"Ann fell on step {n} and on the stairs.", document_id=f"d{n}") for n in range(400)]


async def _graph(memory: Memory, bank_id: str, causes: list[int], **options: Any) -> tuple[int, list[str]]:
    """How many candidates the graph arm brings of a bank with a fall and its cause, and what is recalled.

    Four hundred facts are nearer to the question than the cause.
    """

    def read(request: ChatRequest) -> dict[str, Any]:
        assert "valley" in request.messages[-1].text
        return {"facts": [{"what": _RAIN, "line": 1}, {"what": _FALL, "line": 10, "caused_by": causes}]}

    await memory.engine.retain(bank_id, _FILLERS)
    memory.engine.retainer.read_with(Distiller(LanguageModel(ScriptedProvider(read), ModelOptions(max_retries=0))))
    await memory.engine.retain(bank_id, [ItemInput(content=_STORY, document_id="story")])
    memory.engine.retainer._extracting.distiller = None
    outcome = await memory.ask("Ann fell on the steps.", bank_id, budget=Budget.LOW, max_tokens=256, **options)
    return arm(outcome, "graph").candidates, texts(outcome)


@pytest.mark.feature("R11")
async def test_the_cause_of_a_good_candidate_joins_the_candidates(memory: Memory) -> None:
    without, before = await _graph(memory, "without", [])
    count, found = await _graph(memory, "with", [0])
    assert (count, found[:20]) == (without + 1, before[:20])


async def test_a_cause_that_the_question_may_not_see_does_not(memory: Memory) -> None:
    without, _ = await _graph(memory, "without", [], types=("world",))
    count, found = await _graph(memory, "with", [0], types=("world",))
    assert count == without
    assert _RAIN not in found


async def test_a_bank_whose_graph_arm_is_off_brings_no_causes(memory: Memory) -> None:
    await memory.retain("Ben: Hello there.")
    await memory.engine.banks.update_config("b", {"enable_graph_retrieval": False})
    count, _ = await _graph(memory, "b", [0])
    assert count == 0
