"""Writing without tools: from much evidence, shorter, structured."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import ModelUnavailable, QuestionTooLong, ReflectFailed
from hindsight_server.engine.reflect import ReflectOptions
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.testing.scripted_model import tool_call

from .conftest import Desk, done, recall

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def part(request: ChatRequest) -> str:
    """Which prompt a question without tools was asked with."""
    system = request.messages[0].text
    return next(name for name in ("notes", "shorten", "JSON object", "evidence below") if name in system)


async def many(desk: Desk, count: int = 60) -> None:
    await desk.retain(*(f"Ann: I saw ship number {number} in the harbour, painted grey." for number in range(count)))


async def test_a_conversation_that_grows_too_long_is_answered_from_parts_of_the_evidence(desk: Desk) -> None:
    await many(desk)
    desk.options = ReflectOptions(context_tokens=1600)
    asked: list[str] = []

    def script(request: ChatRequest) -> Any:
        if request.tools:
            return recall(f"ship in the harbour {len(asked)}", max_tokens=4000)
        asked.append(part(request))
        if asked[-1] == "notes":
            assert "ship number" in request.messages[1].text
            return "ship number 7 was grey [m1]"
        assert "ship number 7 was grey" in request.messages[1].text
        return "Many grey ships [m1]."

    outcome = await desk.ask(script, "Which ships?")
    assert outcome.text == "Many grey ships."
    assert len(outcome.based_on) == 1
    assert asked.count("notes") > 1
    assert asked[-1] == "evidence below"
    assert {call.scope for call in outcome.model_calls} >= {"agent_1", "notes_1", "notes_2", "final"}


async def test_a_model_that_finds_it_too_long_is_given_less(desk: Desk) -> None:
    await many(desk)

    def script(request: ChatRequest) -> Any:
        if request.tools:
            return QuestionTooLong("too long") if len(request.messages) > 2 else recall("ship", max_tokens=8000)
        if sum(len(message.text) for message in request.messages) > 6000:
            return QuestionTooLong("too long")
        return "Grey [m2]."

    outcome = await desk.ask(script, "Which ships?")
    assert outcome.text == "Grey."


async def test_a_first_question_that_is_too_long_is_the_callers_to_know(desk: Desk) -> None:
    with pytest.raises(QuestionTooLong):
        await desk.ask([QuestionTooLong("too long")])


async def test_notes_that_do_not_get_shorter_end_it(desk: Desk) -> None:
    await many(desk)
    desk.options = ReflectOptions(context_tokens=1600)

    def script(request: ChatRequest) -> Any:
        return recall("ship", max_tokens=4000) if request.tools else "word " * 3000

    with pytest.raises(ReflectFailed, match="do not make it shorter"):
        await desk.ask(script, "Which ships?")


@pytest.mark.parametrize("reply", ["", "<think>hm</think>", ChatReply(text="Many sh", truncated=True)])
async def test_an_answer_that_is_empty_or_cut_off_is_an_error(desk: Desk, reply: Any) -> None:
    def script(request: ChatRequest) -> Any:
        return recall(f"{len(request.messages)}") if request.tools else reply

    with pytest.raises(ReflectFailed):
        await desk.ask(script, "Which ships?")


@pytest.mark.feature("F1")
async def test_an_answer_that_is_too_long_is_shortened_once(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("word " * 500, "m1"), "Luna [m1]."], max_tokens=50)
    assert outcome.text == "Luna."
    assert outcome.model_calls[-1].scope == "shorten"
    assert "50 tokens" in desk.provider.requests[-1].messages[0].text


@pytest.mark.parametrize("shorter", ["", "word " * 600, ChatReply(text="Lu", truncated=True)])
async def test_a_rewrite_that_is_no_better_is_not_taken(desk: Desk, shorter: Any) -> None:
    outcome = await desk.ask([recall(), done("word " * 500, "m1"), shorter, shorter], max_tokens=50)
    assert outcome.text == ("word " * 500).strip()


async def test_an_answer_of_the_wanted_length_is_not_asked_for_again(desk: Desk) -> None:
    await desk.ask([recall(), done("Luna.", "m1")], max_tokens=5)
    assert len(desk.provider.requests) == 2


async def test_an_answer_beyond_all_bounds_is_an_error(desk: Desk) -> None:
    desk.options = ReflectOptions(context_tokens=3000)
    with pytest.raises(ReflectFailed, match="too long"):
        await desk.ask([recall(), done("word " * 10_000, "m1")], max_tokens=50)


@pytest.mark.feature("F3")
async def test_a_structured_answer_is_made_from_the_answer(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Her dog is Luna.", "m1"), {"name": "Luna"}], response_schema=SCHEMA)
    assert (outcome.text, outcome.structured_output) == ("Her dog is Luna.", {"name": "Luna"})
    assert outcome.structured_output_error is None
    last = desk.provider.requests[-1]
    assert last.schema is not None
    assert last.schema.schema == SCHEMA
    assert "Her dog is Luna." in last.messages[-1].text
    assert outcome.usage.input_tokens == 30


@pytest.mark.feature("F3")
@pytest.mark.parametrize(
    "replies", [["prose", "more prose"], [ModelUnavailable("busy")] * 2, [ChatReply(text='{"na', truncated=True)] * 2]
)
async def test_without_a_structured_answer_the_text_stands_and_the_reason_is_told(
    desk: Desk, replies: list[Any]
) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1"), *replies, *replies], response_schema=SCHEMA)
    assert (outcome.text, outcome.structured_output) == ("Luna.", None)
    assert outcome.structured_output_error


async def test_without_a_schema_nothing_is_structured(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1")])
    assert (outcome.structured_output, outcome.structured_output_error) == (None, None)


async def test_mental_models_are_cited_by_their_id_in_prose(desk: Desk) -> None:
    from .conftest import Shelf, mental_model

    desk.shelf = Shelf(mental_model())

    def script(request: ChatRequest) -> Any:
        return tool_call("search_mental_models", query="dog") if request.tools else "Luna [dogs]."

    outcome = await desk.ask(script)
    assert outcome.text == "Luna."
    assert [one.mental_model_id for one in outcome.mental_models] == ["dogs"]
