"""Models that misbehave: no crash, a clear error, nothing invented."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelError, ModelRefused, ModelUnavailable
from hindsight_server.engine.language import CallAbout, LanguageModel, ModelOptions
from hindsight_server.engine.language.types import Attempt
from hindsight_server.ports.llm import ChatReply, ChatRequest, Message, Schema, Tool, ToolRequest
from hindsight_server.testing.scripted_model import Reply, ScriptedProvider, tool_call

ABOUT = CallAbout(bank_id="ann", purpose="retain", scope="extract_facts")
QUICK = ModelOptions(backoff_seconds=0.0, max_retries=2)
SECRET = "My locker code is 4417B."
ASKED = [Message(role="system", text="Extract facts."), Message(role="user", text=SECRET)]
FACTS = Schema(
    name="facts",
    schema={
        "type": "object",
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}, "type": {"enum": ["world", "experience"]}},
                    "required": ["text", "type"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["facts"],
        "additionalProperties": False,
    },
)
GOOD = {"facts": [{"text": "Ann's locker code is 4417B.", "type": "world"}]}
RECALL = Tool(name="recall", description="Searches.", parameters={"type": "object", "properties": {}})

UNUSABLE: dict[str, Any] = {
    "prose": "I found one fact: the code.",
    "other language": "我找到了一个事实：密码。",
    "empty": "",
    "blank": " \n\t",
    "null": "null",
    "only reasoning": "<think>the code is a fact</think>",
    "open reasoning": '<think>{"facts": []}',
    "list": '[{"text": "x", "type": "world"}]',
    "list of lists": "[[]]",
    "wrong enum": {"facts": [{"text": "x", "type": "World"}]},
    "missing key": {"facts": [{"text": "x"}]},
    "wrong type": {"facts": "none"},
    "null list": {"facts": None},
    "number as text": {"facts": [{"text": 7, "type": "world"}]},
    "other object": {"error": "I can't do that"},
    "empty object": {},
    "nested in another": {"result": GOOD},
    "not a number": '{"facts": NaN}',
    "two values": '{"facts": [], "facts": [{"text": "x", "type": "world"}]}',
    "single quotes": "{'facts': []}",
    "trailing comma": '{"facts": [],}',
    "comment": '{"facts": [] // none\n}',
    "torn": '{"facts": [{"text": "x", "type": "world"}, {"te',
    "deep": '{"facts":' * 50_000,
    "as deep as can be read": '{"facts":' * 800 + "[]" + "}" * 800,
    "unclosed fence": '```json\n{"facts": [',
    "surrogate": '{"facts": [{"text": "\\ud800", "type": "world"}]}',
    "template": "{{facts}}",
    "html": "<!DOCTYPE html><html><body>502</body></html>",
    "echo of the schema": json.dumps(FACTS.schema),
    "refusal": "I'm sorry, but I can't help with that.",
    "xml": "<facts><fact>x</fact></facts>",
    "wrong tool": ChatReply(tool_requests=(ToolRequest(request_id="1", name="x", arguments={}),)),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_an_unusable_answer_is_asked_again_once_and_then_an_error(reply: Reply) -> None:
    model = LanguageModel(ScriptedProvider([reply, GOOD]), QUICK)
    found = await model.structured(ASKED, FACTS, about=ABOUT)
    assert (found.value, found.repaired) == (GOOD, True)
    with pytest.raises(BadModelAnswer, match="facts") as caught:
        await LanguageModel(ScriptedProvider([reply, reply]), QUICK).structured(ASKED, FACTS, about=ABOUT)
    assert "4417B" not in str(caught.value)


USABLE: dict[str, Any] = {
    "fence": f"```json\n{json.dumps(GOOD)}\n```",
    "prose around": f"Here you are:\n{json.dumps(GOOD)}\nAnything else?",
    "byte order mark": "\ufeff" + json.dumps(GOOD),
    "reasoning before": "<think>hm, {}</think>" + json.dumps(GOOD),
    "reasoning ended only": "hm, {}</think>" + json.dumps(GOOD),
    "one of several": '{"note": 1} ' + json.dumps(GOOD),
    "more than asked": {**GOOD, "confidence": 1, "facts": [{**GOOD["facts"][0], "why": "said so"}]},
    "reasoning inside": {"facts": [{"text": "<think>hm</think>Ann's locker code is 4417B.", "type": "world"}]},
    "said twice": json.dumps(GOOD) + json.dumps(GOOD),
    "huge": json.dumps(GOOD) + " " * 2_000_000,
}


@pytest.mark.parametrize("reply", USABLE.values(), ids=USABLE.keys())
async def test_a_usable_answer_is_used_as_it_is(reply: Reply) -> None:
    found = await LanguageModel(ScriptedProvider([reply]), QUICK).structured(ASKED, FACTS, about=ABOUT)
    assert (found.value, found.repaired) == (GOOD, False)


async def test_what_a_user_says_about_reasoning_tags_is_kept() -> None:
    said = "The <think>tag</think> is ours."
    asked = [Message(role="user", text=said)]
    reply = {"facts": [{"text": said, "type": "world"}]}
    found = await LanguageModel(ScriptedProvider([reply]), QUICK).structured(asked, FACTS, about=ABOUT)
    assert found.value == reply


async def test_the_second_question_says_what_was_wrong() -> None:
    provider = ScriptedProvider([{"facts": [{"text": "x", "type": "World"}]}, GOOD])
    await LanguageModel(provider, QUICK).structured(ASKED, FACTS, about=ABOUT)
    said, asked = provider.requests[1].messages[-2:]
    assert (said.role, asked.role) == ("assistant", "user")
    assert "facts[0].type: must be one of 'world', 'experience'" in asked.text
    assert provider.requests[1].messages[:2] == tuple(ASKED)


@pytest.mark.parametrize("text", ['{"facts": [{"text": "x", "type": "wor', "", "<think>long"])
async def test_case_a37_a_cut_off_answer_is_never_taken_for_a_whole_one(text: str) -> None:
    cut = ChatReply(text=text, truncated=True)
    with pytest.raises(AnswerTooLong):
        await LanguageModel(ScriptedProvider([cut]), QUICK).structured(ASKED, FACTS, about=ABOUT)


async def test_case_a37_cut_off_prose_is_marked() -> None:
    answer = await LanguageModel(ScriptedProvider([ChatReply(text="The co", truncated=True)])).complete(
        ASKED, about=ABOUT
    )
    assert answer.truncated


async def test_case_a37_nothing_but_reasoning_before_the_limit_is_an_error() -> None:
    cut = ChatReply(text="<think>so long that", truncated=True)
    with pytest.raises(AnswerTooLong):
        await LanguageModel(ScriptedProvider([cut])).complete(ASKED, about=ABOUT)


@pytest.mark.parametrize("text", ["", " ", "<think>hm</think>", "\ufeff"])
async def test_case_a34_an_empty_answer_is_asked_again_once_and_then_an_error(text: str) -> None:
    assert (await LanguageModel(ScriptedProvider([text, "Oslo."])).complete(ASKED, about=ABOUT)).text == "Oslo."
    with pytest.raises(BadModelAnswer, match="empty"):
        await LanguageModel(ScriptedProvider([text, text])).complete(ASKED, about=ABOUT)


async def test_a_pattern_of_a_caller_that_never_ends_does_not_hold_the_event_loop() -> None:
    properties = {"a": {"type": "string", "pattern": "^(a|aa)+$"}}
    schema = Schema(name="answer", schema={"type": "object", "properties": properties}, from_caller=True)
    model = LanguageModel(ScriptedProvider(lambda request: {"a": "a" * 60 + "b"}), QUICK)
    await model.prepare()
    began = time.thread_time()
    with pytest.raises(BadModelAnswer, match="too long to check"):
        await model.structured(ASKED, schema, about=ABOUT)
    assert time.thread_time() - began < 0.1


async def test_a_call_that_is_written_into_the_text_is_a_call() -> None:
    said = '<tool_call>{"name": "recall", "arguments": {"query": "x"}}</tool_call>'
    turn = await LanguageModel(ScriptedProvider([said])).tool_turn(ASKED, [RECALL], about=ABOUT)
    assert (turn.text, turn.requests[0].arguments) == ("", {"query": "x"})
    assert turn.message.tool_requests == turn.requests


async def test_a_wrong_tool_and_bad_arguments_reach_the_caller_as_they_are() -> None:
    wrong = ToolRequest(request_id="1", name="forget_all", arguments=None, raw="{oops")
    provider = ScriptedProvider([ChatReply(text="<think>hm</think>", tool_requests=(wrong,))])
    turn = await LanguageModel(provider).tool_turn(ASKED, [RECALL], about=ABOUT, choice="required")
    assert (turn.requests, turn.text) == ((wrong,), "")


async def test_prose_instead_of_a_call_stays_prose() -> None:
    turn = await LanguageModel(ScriptedProvider(["Oslo."])).tool_turn(ASKED, [RECALL], about=ABOUT, choice="recall")
    assert (turn.text, turn.requests) == ("Oslo.", ())


async def test_a_failure_that_lasts_is_told_after_the_last_try() -> None:
    provider = ScriptedProvider(lambda _: ModelUnavailable("down"))
    with pytest.raises(ModelUnavailable, match="down"):
        await LanguageModel(provider, QUICK).complete(ASKED, about=ABOUT)
    assert len(provider.requests) == 3


async def test_a_refusal_is_not_tried_again() -> None:
    provider = ScriptedProvider([ModelRefused("bad key")])
    with pytest.raises(ModelRefused):
        await LanguageModel(provider, QUICK).complete(ASKED, about=ABOUT)
    assert len(provider.requests) == 1


async def test_a_model_that_never_answers_is_given_up() -> None:
    provider = ScriptedProvider(lambda _: "late", seconds=60)
    with pytest.raises(ModelUnavailable, match=r"0\.01 s"):
        await LanguageModel(provider, ModelOptions(timeout_seconds=0.01, max_retries=1, backoff_seconds=0)).complete(
            ASKED, about=ABOUT
        )
    assert len(provider.requests) == 2


async def test_a_caller_that_can_wait_no_longer_is_answered_in_time() -> None:
    provider = ScriptedProvider(lambda _: ModelUnavailable("busy", retry_after=30))
    about = CallAbout(bank_id="ann", purpose="reflect", within_seconds=0.05)
    with pytest.raises(ModelUnavailable, match=r"0\.05 s"):
        await LanguageModel(provider, QUICK).complete(ASKED, about=about)


async def test_a_cancelled_question_gives_its_place_free_and_is_recorded() -> None:
    seen: list[Attempt] = []
    asked = asyncio.Event()

    class Waiting(ScriptedProvider):
        async def chat(self, request: ChatRequest) -> ChatReply:
            asked.set()
            return await super().chat(request)

    model = LanguageModel(Waiting(lambda _: "late", seconds=60), ModelOptions(max_concurrent=1), seen.append)
    for _ in range(2):
        asking = asyncio.create_task(model.complete(ASKED, about=ABOUT))
        await asked.wait()
        asked.clear()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert [attempt.error for attempt in seen] == ["cancelled", "cancelled"]


async def test_no_more_questions_at_once_than_allowed() -> None:
    inside = most = 0

    class Counting(ScriptedProvider):
        async def chat(self, request: ChatRequest) -> ChatReply:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1
            return ChatReply(text="x")

    model = LanguageModel(Counting([]), ModelOptions(max_concurrent=3))
    await asyncio.gather(*(model.complete(ASKED, about=ABOUT) for _ in range(20)))
    assert most == 3


async def test_every_try_is_recorded_with_what_became_of_it() -> None:
    seen: list[Attempt] = []
    provider = ScriptedProvider([ModelUnavailable("busy", retry_after=0), {"facts": 1}, GOOD])
    await LanguageModel(provider, QUICK, seen.append).structured(ASKED, FACTS, about=ABOUT)
    assert [attempt.error for attempt in seen] == ["busy", None, None]
    assert all(attempt.about == ABOUT and attempt.ended >= attempt.began for attempt in seen)
    assert "4417B" not in repr(seen)


async def test_a_bug_of_a_provider_is_recorded_by_its_kind_only() -> None:
    seen: list[Attempt] = []
    model = LanguageModel(ScriptedProvider([KeyError(SECRET)]), QUICK, seen.append)
    with pytest.raises(KeyError):
        await model.complete(ASKED, about=ABOUT)
    assert [attempt.error for attempt in seen] == ["KeyError"]


async def test_errors_of_models_are_one_family() -> None:
    assert all(issubclass(kind, ModelError) for kind in (AnswerTooLong, BadModelAnswer, ModelRefused, ModelUnavailable))


def test_a_scripted_tool_call_has_its_arguments() -> None:
    assert tool_call("recall", query="x").tool_requests[0].arguments == {"query": "x"}


@pytest.mark.parametrize(
    ("own", "callers", "sent"), [(None, None, None), (50, None, 50), (None, 9, 9), (50, 9, 9), (5, 9, 5)]
)
async def test_the_lower_limit_of_tokens_counts(own: int | None, callers: int | None, sent: int | None) -> None:
    provider = ScriptedProvider(["Oslo."])
    await LanguageModel(provider, ModelOptions(max_tokens=own)).complete(ASKED, about=ABOUT, max_tokens=callers)
    assert provider.requests[0].max_tokens == sent
