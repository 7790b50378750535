"""The recall and retain nodes in compiled graphs."""

from __future__ import annotations

import json
import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_scripted import ScriptedModel, calling
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightError,
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    memory_instructions,
)

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."
QUESTION = "Which theme does Ada prefer?"


def thread(user: str = "ada", thread_id: str = "t1") -> dict[str, Any]:
    return {"configurable": {"user_id": user, "thread_id": thread_id}}


def words(server: FakeHindsight, bank: str = "ada") -> list[str]:
    return [element["content"] for item in server.items(bank) for element in json.loads(item["content"])]


def chat(server: FakeHindsight, model: ScriptedModel, *, checkpointer: Any = None, **options: Any) -> Any:
    """recall → agent → retain."""
    graph = StateGraph(MessagesState)
    graph.add_node("recall", create_recall_node(hindsight_api_url=server.url, **options))
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("retain", create_retain_node(hindsight_api_url=server.url, **options))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "agent")
    graph.add_edge("agent", "retain")
    graph.add_edge("retain", END)
    return graph.compile(checkpointer=checkpointer)


@pytest.mark.feature("C3")
async def test_memory_reaches_the_agent_and_the_exchange_is_stored(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel("Dark.")
    result = await run(chat(server, model), {"messages": [("user", QUESTION)]}, thread())
    first, second = model.prompts[0]
    assert isinstance(first, SystemMessage), "some services refuse a system message after the user's"
    assert f"1. {FACT}" in first.content
    assert second.content == QUESTION
    assert words(server) == [QUESTION, "Dark."]
    assert {item["document_id"] for item in server.items()} == {"t1"}
    assert [one.type for one in result["messages"]] == ["human", "ai"], "the block is gone when the answer is given"


@pytest.mark.feature("C3")
async def test_every_turn_has_one_block_at_the_front(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT, "Ada owns a boat.")
    model = ScriptedModel("Ok.")
    graph = chat(server, model, checkpointer=InMemorySaver())
    for question in (QUESTION, "Does Ada own a boat?", "Xyzzy?"):
        await run(graph, {"messages": [("user", question)]}, thread())
    kinds = [[one.type for one in prompt] for prompt in model.prompts]
    assert kinds[0] == ["system", "human"]
    assert kinds[1] == ["system", "human", "ai", "human"]
    assert "boat" in model.prompts[1][0].content
    assert kinds[2] == ["human", "ai", "human", "ai", "human"], "nothing found, nothing shown"
    assert words(server) == [QUESTION, "Ok.", "Does Ada own a boat?", "Ok.", "Xyzzy?", "Ok."]


@pytest.mark.feature("C3")
async def test_the_block_of_the_turn_before_is_replaced(server: FakeHindsight, run: Runner) -> None:
    """Without a retain node nothing takes the block away."""
    server.remember("ada", FACT, "Ada owns a boat.")
    model = ScriptedModel("Ok.")
    graph = StateGraph(MessagesState)
    graph.add_node(create_recall_node(hindsight_api_url=server.url))
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "recall_node")
    graph.add_edge("recall_node", "agent")
    compiled = graph.compile(checkpointer=InMemorySaver())
    begin = {"messages": [SystemMessage("Be terse."), HumanMessage(QUESTION)]}
    await run(compiled, begin, thread())
    await run(compiled, {"messages": [("user", "Does Ada own a boat?")]}, thread())
    assert [one.type for one in model.prompts[1]] == ["system", "system", "human", "ai", "human"]
    assert model.prompts[1][0].content == "Be terse."
    assert "boat" in model.prompts[1][1].content
    await run(compiled, {"messages": [("user", "Xyzzy?")]}, thread())
    assert [one.type for one in model.prompts[2]] == ["system", "human", "ai", "human", "ai", "human"]


@pytest.mark.feature("C3")
async def test_tool_loops_recall_once_and_store_once(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    tools = create_hindsight_tools(hindsight_api_url=server.url, include_retain=False, include_reflect=False)
    model = ScriptedModel(calling(("recall_memory", {"query": "theme"}), said="Let me see."), "Dark.")
    graph = StateGraph(MessagesState)
    graph.add_node("recall", create_recall_node(hindsight_api_url=server.url))
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_node("retain", create_retain_node(hindsight_api_url=server.url))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "agent")
    graph.add_edge("agent", "retain")
    graph.add_conditional_edges("retain", tools_condition)
    graph.add_edge("tools", "recall")
    result = await run(graph.compile(), {"messages": [("user", QUESTION)]}, thread())
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION, "theme"]
    assert words(server) == [QUESTION, "Dark."]
    assert [one.type for one in result["messages"]] == ["human", "ai", "tool", "ai"]


class Plain(TypedDict, total=False):
    messages: Annotated[list[Any], operator.add]
    memories: str | None


@pytest.mark.feature("C3")
async def test_output_key_and_messages_of_other_shapes(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    recall = create_recall_node(bank_id="ada", hindsight_api_url=server.url, output_key="memories")
    retain = create_retain_node(bank_id="ada", hindsight_api_url=server.url)
    graph = StateGraph(Plain)
    graph.add_node("recall", recall)
    graph.add_node("retain", retain)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "retain")
    compiled = graph.compile()
    shapes: list[Any] = [{"role": "user", "content": QUESTION}, ("assistant", "Dark."), "And the theme of Bob?", 7]
    result = await run(compiled, {"messages": shapes})
    assert FACT in result["memories"]
    assert result["messages"] == shapes
    assert words(server) == ["And the theme of Bob?"], "of a history not met before, the last exchange"
    assert server.requests_for("recall")[0].body["query"] == "And the theme of Bob?"
    assert (await run(compiled, {"messages": [("user", "Xyzzy?")]}))["memories"] is None


@pytest.mark.feature("C3")
@pytest.mark.parametrize(
    "state", [{}, {"messages": []}, {"messages": None}, {"messages": [AIMessage("Hi.")]}, object()]
)
async def test_states_without_a_question(server: FakeHindsight, run: Runner, state: Any) -> None:
    recall = create_recall_node(bank_id="ada", hindsight_api_url=server.url)
    assert await run(recall, state) == {"messages": []}
    assert server.requests == []


@pytest.mark.feature("C3")
async def test_the_same_history_again_stores_nothing(server: FakeHindsight, run: Runner) -> None:
    retain = create_retain_node(bank_id="ada", hindsight_api_url=server.url)
    history = [HumanMessage("One.", id="1"), AIMessage("Two.", id="2")]
    for _ in range(3):
        assert await run(retain, {"messages": history}) == {"messages": []}
    history.append(HumanMessage("One.", id="3"))
    await run(retain, {"messages": history})
    assert words(server) == ["One.", "Two.", "One."]


@pytest.mark.feature("C3")
async def test_whose_words_are_stored(server: FakeHindsight, run: Runner) -> None:
    history = {"messages": [HumanMessage("One.", id="1"), AIMessage("Two.", id="2")]}
    options: dict[str, Any] = {"hindsight_api_url": server.url, "metadata": {"a": "b"}, "tags": ["t"]}
    await run(create_retain_node(bank_id="a", retain_ai=False, document_id="doc", **options), history)
    await run(create_retain_node(bank_id="b", retain_human=False, **options), history)
    assert (words(server, "a"), words(server, "b")) == (["One."], ["Two."])
    (item,) = server.items("a")
    assert (item["document_id"], item["tags"]) == ("doc", ["t"])
    assert item["metadata"] == {"a": "b", "role": "user", "source": "langchain"}


@pytest.mark.feature("C5")
async def test_failures(server: FakeHindsight, run: Runner) -> None:
    server.fail("recall", status=400, detail="out of order")
    server.fail("retain", status=400)
    model = ScriptedModel("Hello.")
    result = await run(chat(server, model), {"messages": [("user", "Hello there.")]}, thread())
    assert result["messages"][-1].content == "Hello."
    assert "out of order" in model.prompts[0][0].content
    server.fail("recall", status=400)
    with pytest.raises(HindsightError, match="Failed to search memory"):
        await run(chat(server, model, raise_on_error=True), {"messages": [("user", "Hello there.")]}, thread())
    model = ScriptedModel("Hello.")
    await run(chat(server, model), {"messages": [("user", "No one knows me.")]})
    assert "user_id" in model.prompts[0][0].content


async def test_a_node_may_be_awaited(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    (memory, *_) = [
        one
        for one in (
            await create_recall_node(hindsight_api_url=server.url)(
                MessagesState(messages=[HumanMessage(QUESTION)]), thread()
            )
        )["messages"]
        if isinstance(one, SystemMessage)
    ]
    assert FACT in memory.content


@pytest.mark.parametrize("number", [0, -1, 2.5])
def test_a_number_of_memories_that_is_none_is_refused(number: Any) -> None:
    with pytest.raises(HindsightError, match="max_results"):
        create_recall_node(max_results=number)
    with pytest.raises(HindsightError, match="max_results"):
        memory_instructions(max_results=number)


@pytest.mark.feature("C3")
async def test_memory_instructions(server: FakeHindsight) -> None:
    for number in range(9):
        server.remember("ada", f"Context number {number} about the user.")
    instructions = memory_instructions(
        bank_id="ada", base_instructions="Be terse.", hindsight_api_url=server.url, max_results=2, budget="low"
    )
    expected = (
        "Be terse.\n\nRelevant memories:\n1. Context number 8 about the user.\n2. Context number 7 about the user."
    )
    assert await instructions() == expected
    assert instructions.sync("any", argument=True) == expected
    assert server.requests_for("recall")[0].body["query"] == "relevant context about the user"
    server.fail("recall", status=400)
    assert await instructions(object()) == "Be terse."
    assert await memory_instructions(bank_id="new", base_instructions="Hi.", hindsight_api_url=server.url)() == "Hi."


@pytest.mark.feature("C3")
async def test_through_the_real_server(real_url: str, run: Runner) -> None:
    user = f"nodes-{id(run)}"
    model = ScriptedModel("What a nice name.", "Pico.")
    graph = StateGraph(MessagesState)
    graph.add_sequence(
        [
            ("recall", create_recall_node(hindsight_api_url=real_url)),
            ("agent", lambda state: {"messages": [model.invoke(state["messages"])]}),
            ("retain", create_retain_node(hindsight_api_url=real_url)),
        ]
    )
    graph.add_edge(START, "recall")
    compiled = graph.compile()
    await run(compiled, {"messages": [("user", "My parrot is called Pico.")]}, thread(user, "t1"))
    await run(compiled, {"messages": [("user", "What is my parrot called?")]}, thread(user, "t2"))
    assert "Pico" in model.prompts[-1][0].content
