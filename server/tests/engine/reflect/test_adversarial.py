"""Models that do what they should not: no crash, nothing made up, and a reason where there is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import BadModelAnswer, HindsightServerError, ModelUnavailable, ReflectFailed
from hindsight_server.ports.llm import ChatReply, ToolRequest
from hindsight_server.testing.scripted_model import tool_call

from .conftest import Desk, broken_call, calls, done, recall, told

pytestmark = pytest.mark.feature("F2")
LUNA = "Ann: I adopted a dog yesterday, her name is Luna."


async def test_case_a35_prose_instead_of_a_call_is_searched_for_once(desk: Desk) -> None:
    outcome = await desk.ask(["I have no information about that.", done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert outcome.tool_calls[0].tool == "recall"
    assert "her name is Luna" in told(desk.provider.requests[1])


async def test_case_a35_a_model_that_can_only_write_prose_is_an_error_that_says_so(desk: Desk) -> None:
    with pytest.raises(ReflectFailed, match="can call tools"):
        await desk.ask(["It is Rex.", "It is Rex, I said."])
    assert len(desk.provider.requests) == 2


async def test_prose_after_good_calls_is_handed_back_and_then_written_from_the_evidence(desk: Desk) -> None:
    outcome = await desk.ask([recall(), "Her dog is Luna.", "Luna!", "She is called Luna [m1]."])
    assert outcome.text == "She is called Luna."
    assert [fact.text for fact in outcome.based_on] == [LUNA]
    assert desk.provider.requests[-1].tools == ()


async def test_one_turn_of_prose_between_calls_does_no_harm(desk: Desk) -> None:
    outcome = await desk.ask([recall(), "Let me think.", done("Luna.", "m1")])
    assert outcome.text == "Luna."


@pytest.mark.parametrize("empty", ["", " \n ", "<think>I wonder</think>", "<think>never closed"])
async def test_case_a34_an_empty_turn_counts_as_prose(desk: Desk, empty: str) -> None:
    outcome = await desk.ask([empty, done("Luna.", "m1")])
    assert outcome.text == "Luna."
    with pytest.raises(ReflectFailed):
        await desk.ask([empty, empty])


@pytest.mark.parametrize(
    "answer", ["<think>The user wants a name. Luna?</think>Luna.", "Luna.<thinking>done", "So...</think>Luna."]
)
async def test_case_a34_reasoning_in_an_answer_is_dropped(desk: Desk, answer: str) -> None:
    assert (await desk.ask([recall(), done(answer, "m1")])).text == "Luna."


@pytest.mark.parametrize("answer", ["", "  \n", "<think>Luna</think>", "[m1]"])
async def test_an_empty_answer_is_an_error_and_no_placeholder(desk: Desk, answer: str) -> None:
    with pytest.raises(ReflectFailed, match="empty answer"):
        await desk.ask([recall(), done(answer, "m1")])


async def test_a_wrong_tool_is_told_and_corrected(desk: Desk) -> None:
    outcome = await desk.ask([tool_call("delete_all_memories", bank_id="b"), recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert told(desk.provider.requests[1]).startswith("There is no tool 'delete_all_memories'. There are: recall")


async def test_wrong_tools_again_and_again_are_an_error(desk: Desk) -> None:
    with pytest.raises(ReflectFailed, match="3 times"):
        await desk.ask([tool_call("lookup"), tool_call("search"), tool_call("x" * 5000)])


async def test_a_tool_that_is_not_offered_is_a_wrong_tool(desk: Desk) -> None:
    outcome = await desk.ask([tool_call("search_mental_models", query="dog"), recall(), done("Luna.", "m1")])
    assert outcome.mental_models == ()
    assert "There is no tool 'search_mental_models'" in told(desk.provider.requests[1])


@pytest.mark.parametrize(
    "bad",
    [
        broken_call("recall"),
        tool_call("recall"),
        tool_call("recall", query="   "),
        tool_call("recall", query=["dog"]),
        tool_call("recall", query={"text": "dog"}),
        tool_call("recall", query="dog", max_tokens="many"),
        tool_call("recall", query="dog", max_tokens=True),
        tool_call("done"),
        tool_call("done", answer=None),
        tool_call("done", answer="x", memory_ids={"m1": 1}),
        tool_call("done", answer="x", found="perhaps"),
        tool_call("expand", memory_ids=[1, 2]),
        tool_call("expand", memory_ids=["m1"], depth="everything"),
        tool_call("expand", memory_ids=[]),
    ],
)
async def test_unusable_arguments_are_told_once_and_then_an_error(desk: Desk, bad: ChatReply) -> None:
    outcome = await desk.ask([bad, recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert "Not carried out" in told(desk.provider.requests[1])
    with pytest.raises(ReflectFailed, match="2 times"):
        await desk.ask([bad, bad])


async def test_case_a37_a_done_that_was_cut_off_is_told_and_said_again(desk: Desk) -> None:
    cut = ChatReply(
        tool_requests=(ToolRequest(request_id="c", name="done", arguments=None, raw='{"answer": "Her dog is cal'),),
        truncated=True,
    )
    outcome = await desk.ask([recall(), cut, done("Luna.", "m1")])
    assert outcome.text == "Luna."
    with pytest.raises(ReflectFailed):
        await desk.ask([recall(), cut, cut])


async def test_the_same_call_again_and_again_ends_with_an_answer(desk: Desk) -> None:
    def script(request: Any) -> Any:
        return done("Luna.", "m1") if request.tool_choice == "done" else recall()

    outcome = await desk.ask(script)
    assert outcome.text == "Luna."
    assert len(desk.recaller.asked) == 1
    assert desk.choices == ["recall", "required", "required", "done"]


async def test_the_same_call_many_times_in_one_turn_is_made_once(desk: Desk) -> None:
    await desk.ask([calls(*[("recall", {"query": "dog"})] * 5), done("Luna.", "m1")])
    assert len(desk.recaller.asked) == 1


async def test_hundreds_of_calls_in_a_turn_are_not_all_carried_out(desk: Desk) -> None:
    await desk.ask([calls(*[("recall", {"query": f"dog {n}"}) for n in range(300)]), done("Luna.", "m1")])
    assert len(desk.recaller.asked) == 8
    replies = [message for message in desk.provider.requests[1].messages if message.role == "tool"]
    assert len(replies) == 300


async def test_an_answer_beside_searches_waits_for_what_they_find(desk: Desk) -> None:
    early = calls(("recall", {"query": "dog"}), ("done", {"answer": "Rex.", "memory_ids": []}))
    outcome = await desk.ask([early, done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert "call `done` alone" in told(desk.provider.requests[1])


async def test_a_huge_query_is_cut_and_searched(desk: Desk) -> None:
    outcome = await desk.ask([recall("dog " * 500_000), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert len(desk.recaller.asked[0].query) <= 4000


async def test_a_query_without_a_word_is_told(desk: Desk) -> None:
    outcome = await desk.ask([recall("???"), recall("dog"), done("Luna.", "m1")])
    assert outcome.text == "Luna."


async def test_a_huge_list_of_made_up_ids_is_dropped(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1", *(f"m{n}" for n in range(1000, 6000)))])
    assert (len(outcome.based_on), outcome.unknown_citations) == (1, 5000)


async def test_ids_in_every_spelling_and_place_are_understood(desk: Desk) -> None:
    outcome = await desk.ask([recall(), tool_call("done", answer="Luna.", mental_model_ids=["[M1]"], memory_ids="m1")])
    assert ([fact.text for fact in outcome.based_on], outcome.unknown_citations) == ([LUNA], 0)


async def test_an_error_and_then_an_answer(desk: Desk) -> None:
    script = [BadModelAnswer("torn"), recall(), ModelUnavailable("busy"), done("Luna.", "m1")]
    assert (await desk.ask(script)).text == "Luna."


async def test_an_answer_in_another_language_that_says_nothing_needs_the_whole_search(desk: Desk) -> None:
    outcome = await desk.ask([done("Je ne sais pas."), recall(), done("Elle s'appelle Luna.", "m1")])
    assert outcome.text == "Elle s'appelle Luna."


async def test_a_chinese_conversation(desk: Desk) -> None:
    await desk.retain("安：我的猫叫咪咪。")
    outcome = await desk.ask([recall("安的猫"), done("它叫咪咪。", "m1")], "安的猫叫什么？")
    assert outcome.text == "它叫咪咪。"
    assert "咪咪" in outcome.based_on[0].text


async def test_control_characters_do_not_reach_the_answer(desk: Desk) -> None:
    text = (await desk.ask([recall(), done("Lu\0na\ud800.", "m1")])).text
    assert text.startswith("Luna")
    assert text.encode()  # half a surrogate pair could not be encoded


async def test_an_answer_that_loops_on_spaces_is_read_in_one_go(desk: Desk) -> None:
    """Looking for citations from each of the spaces anew would take many minutes, and hold up every other request."""
    text = (
        await desk.ask([recall(), done("Luna" + " " * 300_000 + "[m1" + "\t " * 100_000 + "] barks [m1].", "m1")])
    ).text
    assert (text.startswith("Luna"), text.endswith("barks.")) == (True, True)


async def test_a_model_that_only_expands_what_is_not_there_gets_nowhere(desk: Desk) -> None:
    def script(request: Any) -> Any:
        return tool_call("expand", memory_ids=["m9"]) if request.tools else "Her dog is Luna [m1]."

    outcome = await desk.ask(script)
    assert outcome.text == "Her dog is Luna."
    assert "recall" in [call.tool for call in outcome.tool_calls]


@pytest.mark.parametrize(
    "script",
    [
        ["", ""],
        ["prose"] * 2,
        [recall(), "prose", "prose", ""],
        [recall(), done("")],
        [broken_call("done")] * 2,
        [tool_call("no")] * 3,
        [ModelUnavailable("x")] * 2,
        [recall(), "a", "b", ChatReply(text="cut", truncated=True)],
    ],
)
async def test_whatever_goes_wrong_is_one_of_our_errors_with_a_reason(desk: Desk, script: list[Any]) -> None:
    with pytest.raises(HindsightServerError) as failure:
        await desk.ask([*script, *script])
    assert str(failure.value)
