"""What a server or a model refuses is left out, and remembered."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.adapters.llm.openai_wire import is_strict
from hindsight_server.domain.errors import ModelRefused
from hindsight_server.ports.llm import ChatRequest, Message, Schema, Tool
from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply

from .conftest import opened

ASKED = (Message(role="user", text="Where does Ann live?"),)
RECALL = Tool(name="recall", description="Searches.", parameters={"type": "object", "properties": {}})


def place(name: str = "city") -> Schema:
    return Schema(name="place", schema={"type": "object", "properties": {name: {"type": "string"}}})


def kind(question: Question) -> Any:
    return question.body.get("response_format", {}).get("type")


async def chat(server: ModelServer, *requests: ChatRequest) -> None:
    async with opened("openai", server.url) as provider:
        for request in requests:
            await provider.chat(request)


@pytest.mark.parametrize(
    ("refused", "tried"),
    [
        ({"json_schema"}, ["json_schema", "json_object"]),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", None]),
    ],
)
async def test_a_refused_format_is_left_out_and_remembered(refused: set[str], tried: list[str | None]) -> None:
    def answer(question: Question) -> Reply:
        return Fail(400, message="response_format not supported") if kind(question) in refused else {"city": "Oslo"}

    with ModelServer(answer) as server:
        await chat(server, *(ChatRequest(messages=ASKED, schema=place()) for _ in range(2)))
    assert [kind(question) for question in server.questions] == [*tried, tried[-1]]
    assert '"city"' in server.questions[-1].text


async def test_an_answer_that_failed_once_changes_no_later_question() -> None:
    script: list[Reply] = [Fail(400, message="Failed to generate JSON.", code="json_validate_failed"), {}, {}]
    with ModelServer(script) as server:
        await chat(server, *(ChatRequest(messages=ASKED, schema=place()) for _ in range(2)))
    assert [kind(question) for question in server.questions] == ["json_schema", "json_object", "json_schema"]


async def test_one_odd_schema_does_not_change_how_others_are_asked_for() -> None:
    def answer(question: Question) -> Reply:
        odd = kind(question) == "json_schema" and "odd" in str(question.schema)
        return Fail(400, message="Invalid schema for response_format") if odd else {}

    with ModelServer(answer) as server:
        await chat(
            server, ChatRequest(messages=ASKED, schema=place("odd")), ChatRequest(messages=ASKED, schema=place())
        )
    assert [kind(question) for question in server.questions] == ["json_schema", "json_object", "json_schema"]


async def test_two_refused_schemas_mean_that_the_server_knows_none() -> None:
    def answer(question: Question) -> Reply:
        return Fail(422) if kind(question) == "json_schema" else {}

    with ModelServer(answer) as server:
        await chat(server, *(ChatRequest(messages=ASKED, schema=place(name)) for name in "abc"))
    assert [kind(question) for question in server.questions] == [*["json_schema", "json_object"] * 2, "json_object"]


async def test_a_request_that_is_refused_in_every_manner_changes_nothing() -> None:
    replies = [Fail(400, message="first"), Fail(400), Fail(400), {}]
    with ModelServer(replies) as server:
        async with opened("openai", server.url) as provider:
            with pytest.raises(ModelRefused):
                await provider.chat(ChatRequest(messages=ASKED, schema=place()))
            await provider.chat(ChatRequest(messages=ASKED, schema=place()))
    assert kind(server.questions[-1]) == "json_schema"


@pytest.mark.parametrize(
    ("choice", "known", "tried"),
    [
        ("recall", {"required", "auto"}, ["recall", "required", "required"]),
        ("recall", {"auto"}, ["recall", "required", "auto", "auto"]),
        ("required", {"auto"}, ["required", "auto", "auto"]),
    ],
)
async def test_a_refused_choice_of_tool_is_weakened(choice: str, known: set[str], tried: list[str]) -> None:
    def answer(question: Question) -> Reply:
        return "Oslo." if question.tool_choice in known else Fail(400, message="tool_choice")

    with ModelServer(answer) as server:
        request = ChatRequest(messages=ASKED, tools=(RECALL,), tool_choice=choice)
        await chat(server, request, request)
    assert [question.tool_choice for question in server.questions] == tried


async def test_the_other_name_of_the_limit_and_no_temperature() -> None:
    def answer(question: Question) -> Reply:
        if "max_tokens" in question.body:
            return Fail(400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in question.body:
            return Fail(400, message="Unsupported value: 'temperature' does not support 0.1")
        return "Oslo."

    request = ChatRequest(messages=ASKED, max_tokens=9, temperature=0.1)
    with ModelServer(answer) as server:
        await chat(server, request, request)
    assert len(server.questions) == 4
    assert server.questions[-1].body["max_completion_tokens"] == 9


async def test_a_model_of_anthropic_that_takes_no_temperature_and_no_forced_tool() -> None:
    def answer(question: Question) -> Reply:
        if "temperature" in question.body:
            return Fail(400, message="`temperature` is deprecated for this model.")
        if question.body.get("tool_choice", {}).get("type") in ("tool", "any"):
            return Fail(400, message="tool_choice forces tool use.")
        return {"city": "Oslo"}

    asks_schema = ChatRequest(messages=ASKED, schema=place(), temperature=0.1)
    asks_tool = ChatRequest(messages=ASKED, tools=(RECALL,), tool_choice="recall", temperature=0.1)
    with ModelServer(answer) as server:
        async with opened("anthropic", server.url) as provider:
            assert (await provider.chat(asks_schema)).text == '{"city": "Oslo"}'
            await provider.chat(asks_schema)
            await provider.chat(asks_tool)
            await provider.chat(asks_tool)
    asked = [
        ("temperature" in question.body, question.body.get("tool_choice", {}).get("type"), '"city"' in question.text)
        for question in server.questions
    ]
    found_out, known = [(True, "tool", False), (False, "tool", False), (False, None, True)], [(False, None, True)]
    weakened = [(False, "tool", False), (False, "any", False), (False, "auto", False)]
    assert asked == [*found_out, *known, *weakened, (False, "auto", False)]


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "required": []}, False),
        ({"type": "object", "properties": {}}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": CLOSED}}}, True),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"type": "null"}, {"properties": {}}]}}}, False),
        ({**CLOSED, "$defs": {"x": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"a": {"oneOf": [{"type": "null"}]}}}, False),
    ],
)
def test_only_a_schema_that_can_be_is_enforced_strictly(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict
