"""Conversations over processes, outages and a hundred turns: every turn once, and the agent always answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_scripted import HindsightMiddleware, ScriptedModel, create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from hindsight_adapter_core import Deadlines
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightChatMessageHistory,
    HindsightRetriever,
    create_recall_node,
    create_retain_node,
)
from hindsight_server.testing.process import ServerProcess

Runner = Callable[..., Awaitable[Any]]


def exchange(number: int) -> list[BaseMessage]:
    return [HumanMessage(f"Question {number}?", id=f"h{number}"), AIMessage(f"Answer {number}.", id=f"a{number}")]


def in_thread(name: str = "t") -> dict[str, Any]:
    return {"configurable": {"user_id": "ada", "thread_id": name}}


def stored(url: str, session: str = "t", bank: str = "ada") -> list[str]:
    history = HindsightChatMessageHistory(session, bank_id=bank, hindsight_api_url=url, raise_on_error=True)
    return [str(one.content) for one in history.messages]


# -- several processes ---------------------------------------------------------------------------------------------


@pytest.mark.feature("C3")
@pytest.mark.parametrize("with_ids", [True, False])
async def test_a_second_process_stores_nothing_twice(real_url: str, run: Runner, with_ids: bool) -> None:
    bank = f"second-{run.face}-{with_ids}"  # type: ignore[attr-defined]

    def process() -> Any:
        return create_retain_node(bank_id=bank, hindsight_api_url=real_url)

    def until(number: int) -> dict[str, Any]:
        messages = [one for n in range(number) for one in exchange(n)]
        if not with_ids:
            messages = [type(one)(one.content) for one in messages]
        return {"messages": messages}

    first = process()
    await run(first, until(1), in_thread())
    await run(first, until(2), in_thread())
    second = process()
    await run(second, until(2), in_thread())
    await run(second, until(3), in_thread())
    # The first one was away for a turn.
    await run(first, until(4), in_thread())
    await run(process(), until(4), in_thread())
    await run(second, until(5), in_thread())
    assert stored(real_url, bank=bank) == [str(one.content) for n in range(5) for one in exchange(n)]


@pytest.mark.feature("C3")
async def test_a_run_done_again_by_another_process_stores_nothing_twice(real_url: str, run: Runner) -> None:
    bank = f"again-{run.face}"  # type: ignore[attr-defined]
    for roles in ({}, {"retain_ai": False}):
        thread = f"t{len(roles)}"
        for _ in range(2):
            node = create_retain_node(bank_id=bank, hindsight_api_url=real_url, **roles)
            await run(node, {"messages": exchange(0)}, in_thread(thread))
        wanted = [str(one.content) for one in exchange(0)]
        assert stored(real_url, thread, bank) == wanted[: 2 - len(roles)]


@pytest.mark.feature("C2")
async def test_a_process_killed_before_its_checkpoint_stores_nothing_twice(real_url: str, run: Runner) -> None:
    bank = f"killed-{run.face}"  # type: ignore[attr-defined]
    saver = InMemorySaver()

    def process() -> Any:
        middleware = HindsightMiddleware(bank_id=bank, hindsight_api_url=real_url)
        return create_agent(ScriptedModel("One.", "Two."), middleware=[middleware], checkpointer=saver)

    agent = process()
    await run(agent, {"messages": [HumanMessage("First?", id="h1")]}, in_thread())
    before = agent.get_state(in_thread()).config
    await run(agent, {"messages": [HumanMessage("Second?", id="h2")]}, in_thread())
    # The store was reached, the checkpoint was not: the thread goes on from the one before.
    again = create_agent(
        ScriptedModel("Two."),
        middleware=[HindsightMiddleware(bank_id=bank, hindsight_api_url=real_url)],
        checkpointer=saver,
    )
    await run(again, {"messages": [HumanMessage("Second?", id="h2")]}, before)
    assert stored(real_url, bank=bank) == ["First?", "One.", "Second?", "Two."]


async def test_an_answer_that_was_lost_does_not_stop_the_conversation(server: FakeHindsight, run: Runner) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=server.url, deadlines=Deadlines(retain=1.0))
    agent = create_agent(ScriptedModel("One.", "Two."), middleware=[middleware], checkpointer=InMemorySaver())
    # Done, but the answer comes too late.
    server.delay("retain", 3.0, after_work=True)
    await run(agent, {"messages": [("user", "First?")]}, in_thread())
    await run(agent, {"messages": [("user", "Second?")]}, in_thread())
    assert server.texts("ada") == ["First?", "One.", "Second?", "Two."]


async def test_a_named_document_is_read_once_and_its_loss_is_no_loss(server: FakeHindsight, run: Runner) -> None:
    node = create_retain_node(bank_id="ada", hindsight_api_url=server.url)
    messages: list[BaseMessage] = []
    server.fail("other", status=400, detail="out of order")
    for number in range(4):
        messages += exchange(number)
        await run(node, {"messages": messages}, in_thread())
    # The first read failed, so nothing was written; then it was made up for.
    assert server.texts("ada") == [str(one.content) for one in messages]
    assert len(server.requests_for("other")) == 2


# -- length --------------------------------------------------------------------------------------------------------


def graph_of(url: str, bank: str, model: Any, checkpointer: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("recall", create_recall_node(bank_id=bank, hindsight_api_url=url))
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("retain", create_retain_node(bank_id=bank, hindsight_api_url=url))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "agent")
    graph.add_edge("agent", "retain")
    return graph.compile(checkpointer=checkpointer)


@pytest.mark.feature("C2")
@pytest.mark.parametrize("kind", ["agent", "graph"])
def test_a_hundred_turns_are_sent_once_each(server: FakeHindsight, real_url: str, kind: str) -> None:
    def converse(url: str, bank: str, turns: int) -> None:
        model = ScriptedModel(lambda messages: AIMessage(f"That is answer {len(messages):03}."))
        if kind == "agent":
            middleware = HindsightMiddleware(bank_id=bank, hindsight_api_url=url)
            agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
        else:
            agent = graph_of(url, bank, model, InMemorySaver())
        for turn in range(turns):
            agent.invoke({"messages": [("user", f"This is what I say {turn:03}.")]}, in_thread())

    converse(server.url, "ada", 100)
    sizes = [len(json.dumps(request.body)) for request in server.requests_for("retain")]
    assert len(sizes) == 200
    # Linear: a late turn costs what an early one cost.
    assert max(sizes) - min(sizes) < 40
    converse(real_url, f"long-{kind}", 100)
    texts = stored(real_url, bank=f"long-{kind}")
    assert len(texts) == 200
    assert Counter(texts).most_common(1)[0][1] == 1


# -- outage --------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C5")
@pytest.mark.parametrize("kind", ["agent", "graph", "background"])
def test_the_server_is_killed_and_comes_back(tmp_path: Path, kind: str) -> None:
    model = ScriptedModel(lambda messages: AIMessage(f"Answer {sum(one.type == 'human' for one in messages)}."))
    with ServerProcess(tmp_path) as server:
        options: dict[str, Any] = {"bank_id": "ada", "hindsight_api_url": server.url, "deadlines": Deadlines(recall=2)}
        if kind == "graph":
            agent = graph_of(server.url, "ada", model, InMemorySaver())
        else:
            middleware = HindsightMiddleware(**options, retain_async=kind == "background")
            agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())

        def say(number: int) -> None:
            messages = agent.invoke({"messages": [("user", f"Statement {number}.")]}, in_thread())["messages"]
            assert messages[-1].content == f"Answer {number}."

        say(1)
        say(2)
        server.kill()
        say(3)
        say(4)
        server.start()
        say(5)
        if kind == "background":
            assert middleware.flush() == 0
        wanted = [text for n in range(1, 6) for text in (f"Statement {n}.", f"Answer {n}.")]
        assert stored(server.url) == wanted
        found = HindsightRetriever(**options, k=3).invoke("Statement 3")
        assert any("Statement 3" in one.page_content for one in found)


# -- turns that wait, without a checkpointer ------------------------------------------------------------------------


def say(number: int) -> dict[str, Any]:
    return {"messages": [("user", f"Question {number}?")]}


def spoken(*numbers: int) -> list[str]:
    return [text for n in numbers for text in (f"Question {n}?", f"Answer {n}.")]


def stateless(server_url: str, *numbers: int, **options: Any) -> Any:
    middleware = HindsightMiddleware(
        hindsight_api_url=server_url, auto_recall=False, deadlines=Deadlines(retain=1, recall=1), **options
    )
    return create_agent(ScriptedModel(*(f"Answer {n}." for n in numbers)), middleware=[middleware])


@pytest.mark.feature("C3")
async def test_turns_of_an_outage_are_stored_with_the_next_ones_without_a_checkpointer(
    server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    agent = stateless(server.url, *range(5))
    await run(agent, say(0), in_thread())
    # The writes of two runs fail: of the one before anything, of the other as its document is read.
    server.fail("retain", status=500)
    await run(agent, say(1), in_thread())
    assert "the turn was not stored, and is offered again" in caplog.text
    server.fail("other", status=500)
    await run(agent, say(2), in_thread())
    assert "Failed to store memory: the conversation's document could not be read" in caplog.text
    assert "Failed to search memory" not in caplog.text
    # Another thread's turns are its own.
    await run(agent, say(3), in_thread("other"))
    await run(agent, say(4), in_thread())
    assert stored(server.url) == spoken(0, 1, 2, 4)
    assert stored(server.url, "other") == spoken(3)


@pytest.mark.feature("C3")
async def test_a_turn_that_waits_and_had_arrived_is_stored_once(server: FakeHindsight, run: Runner) -> None:
    agent = stateless(server.url, *range(3))
    await run(agent, say(0), in_thread())
    server.delay("retain", 1.5, after_work=True)
    await run(agent, say(1), in_thread())
    await run(agent, say(2), in_thread())
    assert stored(server.url) == spoken(0, 1, 2)


@pytest.mark.feature("C3")
async def test_a_caller_who_passes_the_history_on_has_a_turn_that_waits_stored_once(
    server: FakeHindsight, run: Runner
) -> None:
    agent = stateless(server.url, *range(3))
    for number in range(3):
        if number == 1:
            server.fail("retain", status=500)
        history = [
            (role, text) for n in range(number) for role, text in (("user", f"Question {n}?"), ("ai", f"Answer {n}."))
        ]
        await run(agent, {"messages": [*history, ("user", f"Question {number}?")]}, in_thread())
    assert stored(server.url) == spoken(0, 1, 2)


@pytest.mark.feature("C3")
async def test_a_refused_turn_is_not_in_the_way_of_the_next(
    server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    agent = stateless(server.url, *range(3))
    await run(agent, say(0), in_thread())
    server.fail("retain", status=422)
    await run(agent, say(1), in_thread())
    assert "the turn was not stored\n" in caplog.text
    await run(agent, say(2), in_thread())
    assert stored(server.url) == [*spoken(0), "Answer 1.", *spoken(2)]


@pytest.mark.feature("C3")
async def test_the_same_words_said_again_are_two_turns(server: FakeHindsight, run: Runner) -> None:
    agent = stateless(server.url, 0)
    server.fail("retain", status=500)
    await run(agent, say(0), in_thread())
    await run(agent, say(0), in_thread())
    assert stored(server.url) == spoken(0, 0)
