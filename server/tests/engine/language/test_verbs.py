"""The three verbs over a scripted provider."""

from __future__ import annotations

import json

import pytest

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelUnavailable
from hindsight_server.engine.language import CallAbout, LanguageModel, ModelOptions
from hindsight_server.ports.llm import ChatReply, Message, Schema, Tool, ToolRequest
from hindsight_server.testing.scripted_model import ScriptedProvider, tool_call

ABOUT = CallAbout(bank_id="ann", purpose="retain")
ASKED = [Message(role="user", text="Where does Ann live?")]
PLACE = Schema(name="place", schema={"type": "object", "properties": {"city": {"type": "string"}}})
QUICK = ModelOptions(backoff_seconds=0.0)


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Oslo"}',
        'Sure! Here it is:\n```json\n{"city": "Oslo"}\n```\nAnything else?',
        '<think>{"city": "Rome"} or Oslo?</think>{"city": "Oslo"}',
        'Rome, no...</think>\n{"city": "Oslo"}',
        'The answer is {"city": "Oslo"} (as {Ann} said).',
    ],
)
async def test_case_a34_json_is_found_wherever_it_stands_and_reasoning_is_dropped(text: str) -> None:
    model = LanguageModel(ScriptedProvider([text]))
    assert (await model.structured(ASKED, PLACE, about=ABOUT)).value == {"city": "Oslo"}


async def test_prose_instead_of_json_is_asked_again_and_then_an_error() -> None:
    provider = ScriptedProvider(["Oslo, I think.", '{"city": "Oslo"}', "Oslo.", "Oslo!"])
    model = LanguageModel(provider)
    found = await model.structured(ASKED, PLACE, about=ABOUT)
    assert found.repaired
    assert found.usage.input_tokens == 20
    with pytest.raises(BadModelAnswer, match="place"):
        await model.structured(ASKED, PLACE, about=ABOUT)


async def test_a_cut_off_answer_says_so() -> None:
    model = LanguageModel(ScriptedProvider([ChatReply(text='{"city": "Os', truncated=True)]))
    with pytest.raises(AnswerTooLong):
        await model.structured(ASKED, PLACE, about=ABOUT)


async def test_what_may_pass_is_tried_again() -> None:
    provider = ScriptedProvider([ModelUnavailable("busy", retry_after=0), ModelUnavailable("gone"), "Oslo."])
    assert (await LanguageModel(provider, QUICK).complete(ASKED, about=ABOUT)).text == "Oslo."
    assert len(provider.requests) == 3


async def test_a_provider_that_asks_for_a_long_wait_is_not_waited_for() -> None:
    provider = ScriptedProvider([ModelUnavailable("quota", retry_after=3600)])
    with pytest.raises(ModelUnavailable):
        await LanguageModel(provider, QUICK).complete(ASKED, about=ABOUT)


async def test_a_turn_with_tools() -> None:
    model = LanguageModel(ScriptedProvider([tool_call("recall", query="Ann"), "<think>hm</think>Prose."]))
    tools = [Tool(name="recall", description="Search.", parameters={"type": "object"})]
    turn = await model.tool_turn(ASKED, tools, about=ABOUT, choice="recall")
    assert turn.requests[0].arguments == {"query": "Ann"}
    assert turn.message.tool_requests == turn.requests
    assert (await model.tool_turn(ASKED, tools, about=ABOUT)).text == "Prose."


async def test_half_a_character_is_not_sent() -> None:
    provider = ScriptedProvider(["Oslo."])
    await LanguageModel(provider).complete([Message(role="user", text="Where is \ud83d Ann?")], about=ABOUT)
    assert provider.requests[0].messages[0].text == "Where is  Ann?"


async def test_half_a_character_in_a_call_of_a_tool_is_not_sent_back() -> None:
    raw = '{"query": "dog \\ud83d"}'
    called = ChatReply(tool_requests=(ToolRequest(request_id="1", name="s", arguments=json.loads(raw), raw=raw),))
    tools = [Tool(name="s", description="", parameters={})]
    turn = await LanguageModel(ScriptedProvider([called])).tool_turn(ASKED, tools, about=ABOUT)
    assert turn.message.tool_requests[0].arguments == {"query": "dog "}


async def test_nul_is_taken_out_of_prose_and_of_tool_calls_as_out_of_users_texts() -> None:
    raw = '{"query": "Hugo\\u0000"}'
    called = ChatReply(tool_requests=(ToolRequest(request_id="1", name="s", arguments=json.loads(raw), raw=raw),))
    written = '<tool_call>{"name": "s", "arguments": {"query": "Hugo\\u0000"}}</tool_call>'
    model = LanguageModel(ScriptedProvider(["Gina met Hugo\0 in Lyon.", called, written]))
    assert (await model.complete(ASKED, about=ABOUT)).text == "Gina met Hugo in Lyon."
    for _ in range(2):
        turn = await model.tool_turn(ASKED, [Tool(name="s", description="", parameters={})], about=ABOUT)
        assert turn.requests[0].arguments == {"query": "Hugo"}
        assert "u0000" not in turn.message.tool_requests[0].raw
