"""What a mental model may be defined as, and how that is changed."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.engine.mental_models.types import MentalModelInput, MentalModelPatch
from hindsight_server.engine.retain import ItemInput

from .conftest import BANK, PAGE, Brain, Pages, written

pytestmark = pytest.mark.feature("F7")


BAD_INPUT: dict[str, tuple[dict[str, Any], str]] = {
    "capital id": ({"mental_model_id": "Tea"}, "id"),
    "id with a blank": ({"mental_model_id": "a b"}, "id"),
    "id that ends with a hyphen": ({"mental_model_id": "tea-"}, "id"),
    "blank name": ({"name": " "}, "name"),
    "blank question": ({"source_query": "\0"}, "source_query"),
    "few tokens": ({"max_tokens": 255}, "max_tokens"),
    "many tokens": ({"max_tokens": 8193}, "max_tokens"),
    "two ways to begin": (
        {"trigger": {"refresh_after_consolidation": True, "refresh_cron": "0 3 * * *"}},
        "trigger.refresh_cron",
    ),
    "no cron": ({"trigger": {"refresh_cron": "every day"}}, "trigger.refresh_cron"),
    "blank cron": ({"trigger": {"refresh_cron": " "}}, "trigger.refresh_cron"),
    "empty full cron": ({"trigger": {"full_refresh_cron": ""}}, "trigger.full_refresh_cron"),
    "cron with seconds": ({"trigger": {"full_refresh_cron": "0 0 3 * * *"}}, "trigger.full_refresh_cron"),
    "unknown mode": ({"trigger": {"mode": "half"}}, "trigger.mode"),
    "unknown type": ({"trigger": {"fact_types": ["opinion"]}}, "trigger.fact_types"),
    "groups of nothing": ({"trigger": {"tag_groups": [{"nor": []}]}}, "trigger.tag_groups[0]"),
    "a schema of no object": ({"trigger": {"response_schema": {"type": "array"}}}, "trigger.response_schema"),
    "a schema elsewhere": ({"trigger": {"response_schema": {"$ref": "http://x/y"}}}, "trigger.response_schema"),
    "negative interval": (
        {"trigger": {"min_refresh_interval_seconds": -1}},
        "trigger.min_refresh_interval_seconds",
    ),
}


@pytest.mark.parametrize("bad", BAD_INPUT)
async def test_a_definition_that_makes_no_sense_is_refused(pages: Pages, bad: str) -> None:
    options, field = BAD_INPUT[bad]
    with pytest.raises(InvalidInput) as refused:
        await pages.models.create(BANK, MentalModelInput(**{"name": "Tea", "source_query": "What?", **options}))
    assert refused.value.field == field


async def test_an_id_is_given_once(pages: Pages) -> None:
    await pages.make()
    with pytest.raises(Conflict):
        await pages.models.create(BANK, MentalModelInput(name="Tea", source_query="?", mental_model_id="tea"))
    await pages.models.delete(BANK, "tea")
    with pytest.raises(NotFound):
        await pages.models.get(BANK, "tea")


async def test_a_trigger_is_changed_field_by_field(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_after_consolidation=True, keep_trace=True)
    seen, _ = await pages.models.update(BANK, "tea", MentalModelPatch(trigger={"refresh_cron": "0 3 * * *"}))
    trigger = seen.model.trigger
    assert (trigger.refresh_cron, trigger.refresh_after_consolidation) == ("0 3 * * *", False)
    assert (trigger.mode, trigger.keep_trace) == ("delta", True)
    seen, _ = await pages.models.update(BANK, "tea", MentalModelPatch(trigger={"refresh_after_consolidation": True}))
    assert (seen.model.trigger.refresh_cron, seen.model.trigger.refresh_after_consolidation) == (None, True)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, True),
        ({"include_chunks": False}, False),
        ({"include_chunks": True, "recall_chunks_max_tokens": 300}, True),
        ({"include_chunks": True, "recall_chunks_max_tokens": 2}, False),
        ({"recall_chunks_max_tokens": 0}, False),
        ({"recall_max_tokens": 1}, False),
    ],
)
async def test_the_trigger_says_what_of_memories_is_shown(
    pages: Pages, brain: Brain, given: dict[str, Any], shown: bool
) -> None:
    await pages.engine.retain(BANK, [ItemInput(content="Ann: I drink green tea.\nBob: Jazz is what I listen to.")])
    await pages.make(trigger=given)
    found = [message.text for request in brain.asked for message in request.messages if message.role == "tool"]
    assert any("Where they stand" in text for text in found) == shown
    if "recall_max_tokens" in given:
        assert "Jazz" not in "".join(found)


@pytest.mark.parametrize(
    ("given", "choices"),
    [
        ({"budget": "mid"}, ["search_mental_models", "required"]),
        ({"budget": "high"}, ["search_mental_models", "recall", "required"]),
        ({"exclude_mental_models": True}, ["recall", "required"]),
        ({"exclude_mental_model_ids": ["other"]}, ["recall", "required"]),
    ],
)
async def test_the_trigger_says_how_hard_and_where_to_look(
    pages: Pages, brain: Brain, given: dict[str, Any], choices: list[str]
) -> None:
    brain.ids = [await pages.say("Ann: I drink green tea.")]
    await pages.make(mental_model_id="other")
    assert (await pages.get("other")).max_tokens == 2048
    brain.asked.clear()
    await pages.make(trigger=given)
    assert [request.tool_choice for request in brain.asked if request.tools][: len(choices)] == choices


async def test_a_cleared_model_is_written_anew(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    cleared = await pages.models.clear(BANK, "tea")
    assert cleared.is_stale
    assert await pages.words() == ""
    assert [one.previous_content for one in await pages.models.history(BANK, "tea")] == [PAGE]
    assert await pages.outcome() == ("content_written", None)
    assert await pages.words() == PAGE
