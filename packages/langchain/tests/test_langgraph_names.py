"""The names of hindsight-langgraph: signatures, strings, and the one thing that differs on purpose."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_scripted import ScriptedModel, calling, create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

import hindsight_langgraph
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langgraph import (
    HindsightError,
    HindsightLangGraphConfig,
    configure,
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    get_config,
    memory_instructions,
    reset_config,
)

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."


def user(name: str = "ada") -> dict[str, Any]:
    return {"configurable": {"user_id": name}}


def message(tool: Any, text: str) -> dict[str, Any]:
    (argument,) = tool.args
    return {"type": "tool_call", "id": "1", "name": tool.name, "args": {argument: text}}


def stub(*texts: str) -> MagicMock:
    client = MagicMock()
    client.aretain = AsyncMock(return_value=SimpleNamespace(items_count=1))
    client.arecall = AsyncMock(return_value=SimpleNamespace(results=[SimpleNamespace(text=text) for text in texts]))
    client.areflect = AsyncMock(return_value=SimpleNamespace(text="Reasoned."))
    return client


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (
            configure,
            "hindsight_api_url=None, api_key=None, budget='mid', max_tokens=4096, tags=None, recall_tags=None, "
            "recall_tags_match='any', verbose=False",
        ),
        (
            create_hindsight_tools,
            "bank_id=None, client=None, hindsight_api_url=None, api_key=None, budget=None, max_tokens=None, "
            "tags=None, recall_tags=None, recall_tags_match=None, retain_metadata=None, retain_document_id=None, "
            "recall_types=None, recall_include_entities=False, bank_id_from_config='user_id', reflect_context=None, "
            "reflect_max_tokens=None, reflect_response_schema=None, reflect_tags=None, reflect_tags_match=None, "
            "include_retain=True, include_recall=True, include_reflect=True",
        ),
        (
            create_recall_node,
            "bank_id=None, client=None, hindsight_api_url=None, api_key=None, budget='mid', max_tokens=4096, "
            "max_results=10, tags=None, tags_match='any', recall_types=None, recall_include_entities=False, "
            "bank_id_from_config='user_id', output_key=None",
        ),
        (
            create_retain_node,
            "bank_id=None, client=None, hindsight_api_url=None, api_key=None, tags=None, metadata=None, "
            "document_id=None, bank_id_from_config='user_id', retain_human=True, retain_ai=False",
        ),
        (
            memory_instructions,
            "bank_id, base_instructions='', client=None, hindsight_api_url=None, api_key=None, "
            "query='relevant context about the user', budget=None, max_results=5, max_tokens=None, "
            "prefix='\\n\\nRelevant memories:\\n', tags=None, tags_match=None",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_signatures(function: Any, signature: str) -> None:
    found = [
        name if one.default is inspect.Parameter.empty else f"{name}={one.default!r}"
        for name, one in inspect.signature(function).parameters.items()
        if name != "raise_on_error"
    ]
    assert ", ".join(found) == signature


def test_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_config() is None
    monkeypatch.setenv("HINDSIGHT_API_KEY", "from-env")
    config = configure(hindsight_api_url="http://h", tags=["t"])
    assert isinstance(config, HindsightLangGraphConfig)
    assert get_config() is config
    assert config.api_key == "from-env"
    assert configure(api_key="given").api_key == "given"
    assert "given" not in repr(get_config())
    reset_config()
    assert get_config() is None


def test_the_client_class_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from hindsight_langgraph import _client

    patched = MagicMock()
    monkeypatch.setattr(_client, "Hindsight", patched)
    create_hindsight_tools(bank_id="ada")
    (call,) = patched.call_args_list
    assert call.kwargs["base_url"] == "https://api.hindsight.vectorize.io"
    assert call.kwargs["timeout"] == 30.0
    assert call.kwargs["user_agent"].startswith("hindsight-langgraph/")
    create_recall_node(bank_id="ada", hindsight_api_url="http://h", api_key="k")
    assert patched.call_args.kwargs["base_url"] == "http://h"
    assert patched.call_args.kwargs["api_key"] == "k"


@pytest.mark.feature("C1")
async def test_tools(server: FakeHindsight, run: Runner) -> None:
    retain, recall, reflect = create_hindsight_tools(hindsight_api_url=server.url, tags=["t"])
    assert [tool.name for tool in (retain, recall, reflect)] == [
        "hindsight_retain",
        "hindsight_recall",
        "hindsight_reflect",
    ]
    assert await run(recall, {"query": "theme"}, user()) == "No relevant memories found."
    assert await run(retain, {"content": FACT}, user()) == "Memory stored successfully."
    assert await run(recall, {"query": "theme"}, user()) == f"1. {FACT}"
    assert FACT in await run(reflect, {"query": "theme"}, user())
    assert {request.bank_id for request in server.requests} == {"ada"}
    assert server.items()[0]["tags"] == ["t"]
    (only,) = create_hindsight_tools(bank_id="a", include_retain=False, include_reflect=False)
    assert only.name == "hindsight_recall"


@pytest.mark.feature("C5")
@pytest.mark.parametrize("position", [0, 1, 2])
async def test_failing_tools(server: FakeHindsight, run: Runner, position: int) -> None:
    operation = ("retain", "recall", "reflect")[position]
    prefix = f"{operation.capitalize()} failed: "
    server.fail(operation, status=400, detail="out of order", times=2)
    tool = create_hindsight_tools(hindsight_api_url=server.url)[position]
    model = ScriptedModel(calling((tool.name, message(tool, "theme")["args"])), "Sorry.")
    result = await run(create_agent(model, [tool]), {"messages": [("user", "Hello")]}, user())
    told = result["messages"][-2]
    assert isinstance(told, ToolMessage)
    assert told.status == "error"
    assert str(told.content).startswith(prefix)
    assert "out of order" in told.content
    strict = create_hindsight_tools(hindsight_api_url=server.url, raise_on_error=True)[position]
    with pytest.raises(HindsightError, match=prefix):
        await run(strict, message(tool, "theme"), user())


@pytest.mark.feature("C5")
async def test_no_bank(server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture) -> None:
    sentence = "No bank_id available for Hindsight tool. Pass bank_id or set config['configurable']['user_id']."
    tool = create_hindsight_tools(hindsight_api_url=server.url)[1]
    assert (await run(tool, message(tool, "theme"))).content == sentence
    strict = create_hindsight_tools(hindsight_api_url=server.url, raise_on_error=True)[1]
    with pytest.raises(HindsightError) as raised:
        await run(strict, message(tool, "theme"))
    assert str(raised.value) == sentence
    state = {"messages": [HumanMessage("theme")]}
    assert await run(create_recall_node(hindsight_api_url=server.url), state) == {"messages": []}
    assert await run(create_recall_node(hindsight_api_url=server.url, output_key="m"), state) == {"m": None}
    assert await run(create_retain_node(hindsight_api_url=server.url), state) == {"messages": []}
    assert "no memory bank" in caplog.text
    assert server.requests == []


@pytest.mark.feature("C3")
async def test_recall_node_awaited_as_a_function() -> None:
    client = stub("One.", "Two.", "Three.")
    node = create_recall_node(bank_id="ada", client=client, max_results=2, tags=["t"], recall_types=["world"])
    parts: Any = [{"type": "text", "text": "Which"}, {"type": "text", "text": "theme?"}]
    result = await node({"messages": [HumanMessage(parts), AIMessage("?")]}, {})
    (memory,) = result["messages"]
    assert isinstance(memory, SystemMessage)
    assert memory.content == "Relevant memories about this user:\n1. One.\n2. Two."
    assert memory.id == "hindsight_memory_context"
    asked = client.arecall.call_args.kwargs
    assert (asked["query"], asked["budget"], asked["max_tokens"]) == ("Which theme?", "mid", 4096)
    assert (asked["tags"], asked["tags_match"], asked["types"]) == (["t"], "any", ["world"])
    assert await node({"messages": [AIMessage("?")]}) == {"messages": []}
    keyed = create_recall_node(bank_id="ada", client=client, output_key="memories", max_results=1)
    assert await keyed({"messages": [HumanMessage("x")]}) == {"memories": "Relevant memories about this user:\n1. One."}
    nothing = create_recall_node(bank_id="ada", client=stub())
    assert await nothing({"messages": [HumanMessage("x")]}) == {"messages": []}
    stale = [SystemMessage("old", id="hindsight_memory_context"), HumanMessage("x")]
    (removal,) = (await nothing({"messages": stale}))["messages"]
    assert (removal.type, removal.id) == ("remove", "hindsight_memory_context")


@pytest.mark.parametrize("number", [0, -1, 2.5])
def test_a_number_of_memories_that_is_none_is_refused(number: Any) -> None:
    with pytest.raises(HindsightError, match="max_results must be a positive whole number"):
        create_recall_node(max_results=number)
    with pytest.raises(HindsightError, match="max_results must be a positive whole number"):
        memory_instructions(bank_id="ada", max_results=number)


async def test_configure_is_honoured_by_nodes_and_arguments_win() -> None:
    client = stub()
    configure(budget="high", max_tokens=7, recall_tags=["c"], recall_tags_match="all")
    await create_recall_node(bank_id="ada", client=client)({"messages": [HumanMessage("x")]})
    asked = client.arecall.call_args.kwargs
    assert (asked["budget"], asked["max_tokens"], asked["tags"], asked["tags_match"]) == ("high", 7, ["c"], "all")
    await create_recall_node(bank_id="ada", client=client, budget="mid")({"messages": [HumanMessage("x")]})
    assert client.arecall.call_args.kwargs["budget"] == "mid"


@pytest.mark.feature("C3")
async def test_retain_node(server: FakeHindsight, run: Runner) -> None:
    state = {"messages": [HumanMessage("Old."), HumanMessage("Hello."), AIMessage("Hi.")]}
    options: dict[str, Any] = {"hindsight_api_url": server.url, "tags": ["t"], "metadata": {"a": "b"}}
    for more in ({}, {"retain_ai": True, "document_id": "doc"}, {"retain_human": False}):
        assert await run(create_retain_node(**options, **more), state, user()) == {"messages": []}
    human, both = server.items()
    assert human["content"] == "Hello."
    assert (human["tags"], human["metadata"]) == (["t"], {"a": "b"})
    assert (both["content"], both["document_id"]) == ("Hello.\n\nHi.", "doc")


@pytest.mark.feature("C5")
async def test_failing_nodes(server: FakeHindsight, run: Runner) -> None:
    state = {"messages": [HumanMessage("Hello.")]}
    for strict in (False, True):
        server.fail("recall", status=400, detail="out of order")
        server.fail("retain", status=400)
        recall = create_recall_node(hindsight_api_url=server.url, raise_on_error=strict)
        retain = create_retain_node(hindsight_api_url=server.url, raise_on_error=strict)
        if strict:
            with pytest.raises(HindsightError, match="Recall node failed: "):
                await run(recall, state, user())
            with pytest.raises(HindsightError, match="Retain node failed: "):
                await run(retain, state, user())
        else:
            assert "out of order" in (await run(recall, state, user()))["messages"][0].content
            assert await run(retain, state, user()) == {"messages": []}


@pytest.mark.feature("C3")
async def test_a_whole_graph(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel("Dark.")
    graph = StateGraph(MessagesState)
    graph.add_node("recall", create_recall_node(hindsight_api_url=server.url))
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("retain", create_retain_node(hindsight_api_url=server.url))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "agent")
    graph.add_edge("agent", "retain")
    graph.add_edge("retain", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"user_id": "ada", "thread_id": "1"}}
    for _ in range(2):
        await run(compiled, {"messages": [("user", "What theme?")]}, config)
        assert FACT in model.prompt
    assert [one.type for one in model.prompts[1]] == ["system", "human", "ai", "human"]
    assert [item["content"] for item in server.items()] == ["What theme?", "What theme?"]


async def test_instructions() -> None:
    instructions = memory_instructions(bank_id="ada", base_instructions="Be brief.", client=stub("One.", "Two."))
    assert await instructions("any", thing=1) == "Be brief.\n\nRelevant memories:\n1. One.\n2. Two."
    assert await memory_instructions(bank_id="ada", base_instructions="Be brief.", client=stub())() == "Be brief."


async def test_structured_reflect(server: FakeHindsight, run: Runner) -> None:
    server.reflect_output = {"theme": "dark"}
    reflect = create_hindsight_tools(
        bank_id="ada", hindsight_api_url=server.url, reflect_response_schema={"type": "object"}
    )[2]
    assert json.loads(await run(reflect, {"query": "theme"})) == {"theme": "dark"}


PROBE = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {blocked} else found(name, package)
sys.meta_path.insert(0, Blocker())
{code}
"""


def _probe(blocked: tuple[str, ...], code: str) -> None:
    probe = PROBE.format(blocked=blocked, code=code)
    result = subprocess.run([sys.executable, "-W", "error", "-c", probe], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_without_langgraph() -> None:
    _probe(
        ("langgraph", "langchain"),
        """
import hindsight_langgraph
assert hindsight_langgraph.create_hindsight_tools(bank_id="a")
for name in ("create_recall_node", "create_retain_node"):
    try:
        getattr(hindsight_langgraph, name)
    except ImportError as error:
        wanted = f"'{name}' requires langgraph. Install with: pip install hindsight-langgraph[langgraph]"
        assert str(error) == wanted, error
    else:
        raise AssertionError(name)
""",
    )


def test_the_middleware_without_langchain() -> None:
    _probe(
        ("langgraph", "langchain"),
        """
import hindsight_langchain as h
tools = h.create_hindsight_tools(bank_id="a", hindsight_api_url="http://127.0.0.1:9")
assert "Failed to search memory" in h.HindsightRetriever(bank_id="a").invoke("x")[0].page_content
try:
    h.HindsightMiddleware
except ImportError as error:
    assert "pip install 'langchain>=1.1,<2'" in str(error)
else:
    raise AssertionError
""",
    )


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        hindsight_langgraph.nonsense  # noqa: B018
    for name in hindsight_langgraph.__all__:
        assert getattr(hindsight_langgraph, name)


def test_the_store_that_there_is_not_says_so() -> None:
    with pytest.raises(ImportError, match=r"no HindsightStore.*Moving from hindsight-langgraph"):
        from hindsight_langgraph import HindsightStore  # noqa: F401
