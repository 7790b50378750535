"""Whose memory a call is about, and that it is never another's."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_scripted import HindsightMiddleware, ScriptedModel, calling, create_agent
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightRetriever,
    RunContext,
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    memory_instructions,
)

Runner = Callable[..., Awaitable[Any]]


class AsDict(TypedDict):
    user_id: str


@dataclass
class AsDataclass:
    user_id: str


class AsModel(BaseModel):
    user_id: str


SCHEMAS = [AsDict, AsDataclass, AsModel]


def agent_of(server: FakeHindsight, schema: Any = None, **options: Any) -> tuple[Any, ScriptedModel]:
    """An agent whose model stores the user's words, looks them up, and repeats what it was told."""

    def next_step(messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"Found: {last.content}")
        return calling(("recall_memory", {"query": str(last.content)}))

    model = ScriptedModel(next_step)
    options = {"hindsight_api_url": server.url, **options}
    agent = create_agent(
        model,
        create_hindsight_tools(**options),
        middleware=[HindsightMiddleware(**options)],
        context_schema=schema,
    )
    return agent, model


def prompts_of(model: ScriptedModel) -> str:
    return str(model.prompts)


def two_users(server: FakeHindsight) -> None:
    server.remember("ada", "Ada's secret theme is dark.")
    server.remember("bob", "Bob's secret theme is light.")


@pytest.mark.feature("C4")
@pytest.mark.parametrize("schema", SCHEMAS)
async def test_the_runtime_context_names_the_bank(server: FakeHindsight, run: Runner, schema: Any) -> None:
    two_users(server)
    agent, model = agent_of(server, schema)
    context = schema(user_id="ada")
    result = await run(agent, {"messages": [("user", "What is the theme?")]}, context=context)
    assert "dark" in result["messages"][-1].content
    assert "dark" in model.prompts[0][0].content
    assert "light" not in prompts_of(model)
    assert {request.bank_id for request in server.requests} == {"ada"}


@pytest.mark.feature("C4")
@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"bank_id": "ada"}, {"configurable": {"user_id": "bob"}}),
        ({}, {"configurable": {"user_id": "ada"}}),
        ({"bank_id_from_config": "tenant"}, {"configurable": {"tenant": "ada", "user_id": "bob"}}),
        ({"bank_id": lambda run: run.configurable["who"].lower()}, {"configurable": {"who": "ADA", "user_id": "bob"}}),
    ],
    ids=["argument", "configurable", "another key", "function"],
)
async def test_argument_function_and_config(
    server: FakeHindsight, run: Runner, options: dict[str, Any], config: dict[str, Any]
) -> None:
    two_users(server)
    agent, model = agent_of(server, **options)
    await run(agent, {"messages": [("user", "What is the theme?")]}, config)
    assert "dark" in prompts_of(model)
    assert "light" not in prompts_of(model)
    assert {request.bank_id for request in server.requests} == {"ada"}


@pytest.mark.feature("C4")
async def test_the_environment_comes_last(server: FakeHindsight, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "shared")
    recall = create_hindsight_tools(hindsight_api_url=server.url)[1]
    await run(recall, {"query": "theme"})
    await run(recall, {"query": "theme"}, {"configurable": {"user_id": "ada"}})
    assert [request.bank_id for request in server.requests] == ["shared", "ada"]


@pytest.mark.feature("C4")
async def test_in_doubt_nothing_is_sent(server: FakeHindsight, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(tool: Any) -> dict[str, Any]:
        return {"type": "tool_call", "id": "1", "name": tool.name, "args": {"query": "theme"}}

    two_users(server)
    agent, model = agent_of(server, AsDict)
    await run(
        agent, {"messages": [("user", "theme")]}, {"configurable": {"user_id": "ada"}}, context={"user_id": "bob"}
    )
    assert "name different values" in model.prompt
    await run(agent, {"messages": [("user", "theme")]})
    assert "no memory bank" in model.prompt
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "shared")
    for choose in (lambda run: None, lambda run: "", lambda run: run.configurable["missing"], lambda run: ["ada"]):
        recall = create_hindsight_tools(bank_id=choose, hindsight_api_url=server.url)[1]  # type: ignore[arg-type]
        assert (await run(recall, call(recall))).status == "error"
    recall = create_hindsight_tools(hindsight_api_url=server.url)[1]
    assert (await run(recall, call(recall), {"configurable": {"user_id": {"a": 1}}})).status == "error"
    assert server.requests == []


async def test_ids_that_are_no_strings(server: FakeHindsight, run: Runner) -> None:
    user = uuid.uuid4()
    recall = create_hindsight_tools(hindsight_api_url=server.url)[1]
    for value in (7, user):
        await run(recall, {"query": "theme"}, {"configurable": {"user_id": value}})
    assert [request.bank_id for request in server.requests] == ["7", str(user)]


@pytest.mark.feature("C4")
async def test_the_function_sees_the_run(server: FakeHindsight, run: Runner) -> None:
    seen: list[RunContext] = []

    def choose(context: RunContext) -> str:
        seen.append(context)
        return f"{context.context['user_id']}-{context.thread_id}"

    agent, _ = agent_of(server, AsDict, bank_id=choose)
    await run(agent, {"messages": [("user", "x")]}, {"configurable": {"thread_id": "t"}}, context={"user_id": "ada"})
    assert {request.bank_id for request in server.requests} == {"ada-t"}
    assert len(seen) >= 3


@pytest.mark.feature("C4")
async def test_a_graph_of_nodes_retriever_and_instructions(server: FakeHindsight, run: Runner) -> None:
    two_users(server)
    retriever = HindsightRetriever(hindsight_api_url=server.url)
    instructions = memory_instructions(hindsight_api_url=server.url, query="theme")
    seen: list[str] = []

    def look(state: Any) -> dict[str, Any]:
        seen.extend([str(state["messages"]), str(retriever.invoke("theme")), instructions.sync()])
        return {}

    async def alook(state: Any) -> dict[str, Any]:
        seen.extend([str(state["messages"]), str(await retriever.ainvoke("theme")), await instructions()])
        return {}

    graph = StateGraph(MessagesState, context_schema=AsDataclass)
    graph.add_node("recall", create_recall_node(hindsight_api_url=server.url))
    graph.add_node("look", look if run.face == "sync" else alook)  # type: ignore[attr-defined]
    graph.add_node("retain", create_retain_node(hindsight_api_url=server.url))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "look")
    graph.add_edge("look", "retain")
    await run(graph.compile(), {"messages": [("user", "My theme?")]}, context=AsDataclass(user_id="ada"))
    assert len(seen) == 3
    assert all("dark" in one and "light" not in one for one in seen)
    assert {request.bank_id for request in server.requests} == {"ada"}


@pytest.mark.feature("C4")
async def test_an_explicit_config_wins_over_the_run_around_it(server: FakeHindsight) -> None:
    two_users(server)
    retriever = HindsightRetriever(hindsight_api_url=server.url)
    found: list[str] = []

    def look(state: Any) -> dict[str, Any]:
        found.append(str(retriever.invoke("theme", {"configurable": {"user_id": "bob"}})))
        return {}

    graph = StateGraph(MessagesState, context_schema=AsDataclass)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.compile().invoke({"messages": []}, context=AsDataclass(user_id="ada"))
    assert "light" in found[0]
    assert "dark" not in found[0]


@pytest.mark.feature("C4")
@pytest.mark.parametrize("through", ["context", "configurable"])
async def test_many_users_at_once_never_meet(server: FakeHindsight, through: str) -> None:
    """One agent object, eight users, side by side on a loop and in threads."""
    agent, _ = agent_of(server, AsDict if through == "context" else None)
    users = [f"user{number}" for number in range(8)]

    def arguments(user: str, text: str) -> dict[str, Any]:
        named: dict[str, Any] = {"input": {"messages": [("user", text)]}}
        if through == "context":
            return {**named, "context": {"user_id": user}}
        return {**named, "config": {"configurable": {"user_id": user}}}

    async def tell(user: str) -> None:
        await agent.ainvoke(**arguments(user, f"The word of {user} is w{user}."))

    def ask(user: str) -> str:
        result = agent.invoke(**arguments(user, "What is the word?"))
        return str(result["messages"])

    await asyncio.gather(*map(tell, users))
    with ThreadPoolExecutor(8) as pool:
        answers = list(await asyncio.to_thread(lambda: list(pool.map(ask, users))))
    for user, answer in zip(users, answers, strict=True):
        assert f"w{user}." in answer
        assert not [other for other in users if other != user and f"w{other}." in answer]
    assert set(server.banks) == set(users)
    for user in users:
        assert not [text for text in server.texts(user) if any(f"w{o}." in text for o in users if o != user)]


@pytest.mark.feature("C4")
async def test_two_users_on_the_real_server(real_url: str, run: Runner) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=real_url)
    model = ScriptedModel("Noted.")
    agent = create_agent(model, middleware=[middleware])
    ada, bob = (f"{name}-{id(run)}" for name in ("ada", "bob"))
    for user, colour in ((ada, "dark"), (bob, "light")):
        await run(agent, {"messages": [("user", f"My theme is {colour}.")]}, {"configurable": {"user_id": user}})
    for user, mine, other in ((ada, "dark", "light"), (bob, "light", "dark")):
        config = {"configurable": {"user_id": user, "thread_id": "new"}}
        await run(agent, {"messages": [("user", "What is my theme?")]}, config)
        assert mine in model.prompt
        assert other not in model.prompt


@pytest.mark.feature("C4")
async def test_tags_divide_a_bank(real_url: str, run: Runner) -> None:
    bank, model = f"shared-{id(run)}", ScriptedModel("Noted.")

    def agent(tag: str) -> Any:
        middleware = HindsightMiddleware(
            bank_id=bank, hindsight_api_url=real_url, tags=[tag], recall_tags=[tag], recall_tags_match="any_strict"
        )
        return create_agent(model, middleware=[middleware])

    for tag, colour in (("user:ada", "dark"), ("user:bob", "light")):
        await run(agent(tag), {"messages": [("user", f"My theme is {colour}.")]})
    await run(agent("user:ada"), {"messages": [("user", "What is my theme?")]})
    assert "dark" in model.prompt
    assert "light" not in model.prompt


@pytest.mark.feature("C4")
@pytest.mark.parametrize("blank", ["", "  "])
async def test_a_run_with_a_blank_user_does_not_get_the_shared_memory(
    server: FakeHindsight, run: Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, blank: str
) -> None:
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "shared")
    server.remember("shared", "The theme of somebody else is dark.")
    agent, model = agent_of(server, AsDict)
    question = {"messages": [("user", "What is the theme?")]}
    await run(agent, question, {"configurable": {"user_id": blank}})
    await run(agent, question, context=AsDict(user_id=blank))
    assert "dark" not in prompts_of(model)
    assert server.requests == []
    assert "Failed to store memory: MissingBankError: this run gives a blank 'user_id'" in caplog.text
    tools = create_hindsight_tools(hindsight_api_url=server.url)
    for tool in tools:
        argument = "content" if tool.name == "retain_memory" else "query"
        call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {argument: "theme"}}
        answer = await run(tool, call, {"configurable": {"user_id": blank}})
        assert answer.status == "error"
        assert "blank 'user_id'" in answer.content
    assert server.requests == []
    # Nothing said is not blank: one process, one user.
    await run(agent, question)
    assert {request.bank_id for request in server.requests} == {"shared"}


@pytest.mark.feature("C4")
@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.parametrize("key", ["user_id", "thread_id"])
async def test_a_run_whose_names_mean_another_place_goes_on_without_memory(
    server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture, key: str, name: str
) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=server.url)
    agent = create_agent(ScriptedModel("Hello."), middleware=[middleware])
    config = {"configurable": {"user_id": "ada", "thread_id": "t", key: name}}
    result = await run(agent, {"messages": [("user", "My number is 77.")]}, config)
    assert result["messages"][-1].content == "Hello."
    assert f"must not be '{name}'" in caplog.text
    assert key in caplog.text
    assert server.requests == []
