"""Where and how the package may be used: loops, threads, processes, copies; and what never leaks."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.load import dumps
from langchain_core.messages import HumanMessage
from langchain_scripted import HindsightMiddleware, ScriptedModel, create_agent
from langgraph.graph import START, MessagesState, StateGraph

import hindsight_langgraph
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightRetriever,
    configure,
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    memory_instructions,
)

FACT = "Ada prefers a dark theme."
ASKED = {"messages": [("user", "Which theme?")]}


class Everything:
    """One object of each kind, for all runs."""

    def __init__(self, url: str) -> None:
        self.model = ScriptedModel("Ok.")
        middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=url)
        self.agent = create_agent(self.model, middleware=[middleware])
        self.retain, self.recall, self.reflect = create_hindsight_tools(bank_id="ada", hindsight_api_url=url)
        self.retriever = HindsightRetriever(bank_id="ada", hindsight_api_url=url)
        graph = StateGraph(MessagesState)
        graph.add_node("recall", create_recall_node(bank_id="ada", hindsight_api_url=url, max_results=50))
        graph.add_node("retain", create_retain_node(bank_id="ada", hindsight_api_url=url))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "retain")
        self.graph = graph.compile()

    def sync(self) -> None:
        assert self.agent.invoke(ASKED)["messages"][-1].content == "Ok."
        assert self.retain.invoke({"content": "Told."}) == "Memory stored successfully."
        assert FACT in self.recall.invoke({"query": "dark theme"})
        assert FACT in self.reflect.invoke({"query": "dark theme"})
        assert FACT in str(self.retriever.invoke("dark theme"))
        assert FACT in str(self.graph.invoke(ASKED))
        assert FACT in str(self.model.prompts)

    async def asynchronous(self) -> None:
        assert (await self.agent.ainvoke(ASKED))["messages"][-1].content == "Ok."
        assert await self.retain.ainvoke({"content": "Told."}) == "Memory stored successfully."
        assert FACT in await self.recall.ainvoke({"query": "dark theme"})
        assert FACT in await self.reflect.ainvoke({"query": "dark theme"})
        assert FACT in str(await self.retriever.ainvoke("dark theme"))
        assert FACT in str(await self.graph.ainvoke(ASKED))
        self.sync()  # inside a running loop


@pytest.fixture
def everything(server: FakeHindsight) -> Everything:
    server.remember("ada", FACT)
    return Everything(server.url)


def test_sync_code(everything: Everything) -> None:
    everything.sync()


def test_one_loop_after_another(everything: Everything) -> None:
    for _ in range(2):
        asyncio.run(everything.asynchronous())


def test_uvloop(everything: Everything) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(everything.asynchronous())


def test_eight_threads(everything: Everything) -> None:
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        everything.sync() if number % 2 else asyncio.run(everything.asynchronous())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@pytest.mark.feature("C1")
def test_a_client_of_the_caller_works_on_two_loops_and_stays_the_callers(server: FakeHindsight) -> None:
    from hindsight_client import Hindsight

    server.remember("ada", FACT)
    client = Hindsight(base_url=server.url)
    agent = create_agent(ScriptedModel("Ok."), middleware=[HindsightMiddleware(bank_id="ada", client=client)])
    recall = create_hindsight_tools(bank_id="ada", client=client)[1]

    async def use() -> None:
        assert FACT in await recall.ainvoke({"query": "theme"})
        assert FACT in recall.invoke({"query": "theme"})
        await agent.ainvoke(ASKED)

    for _ in range(2):
        asyncio.run(use())

    async def own() -> None:
        assert (await client.arecall("ada", "theme")).results
        await client.aclose()

    asyncio.run(own())


async def test_async_calls_leave_the_loop_free(server: FakeHindsight, everything: Everything) -> None:
    calls = (
        lambda: everything.recall.ainvoke({"query": "theme"}),
        lambda: everything.retain.ainvoke({"content": "x"}),
        lambda: everything.retriever.ainvoke("theme"),
        lambda: everything.agent.ainvoke(ASKED),
        lambda: everything.graph.ainvoke(ASKED),
    )
    for call in calls:
        server.delay("recall", 0.3)
        server.delay("retain", 0.3)
        task = asyncio.ensure_future(call())  # type: ignore[no-untyped-call]
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.02)
            ticks += 1
        assert ticks > 3
        await task
        server._trouble.clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_fork(server: FakeHindsight, everything: Everything) -> None:
    everything.sync()
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run on in the child.
        ok = False
        try:
            everything.sync()
            everything.retain.invoke({"content": "Said by the child."})
            ok = True
        finally:
            os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    everything.sync()
    assert "Said by the child." in server.texts("ada")


SCRIPT = """
import asyncio, sys
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from hindsight_langchain import HindsightMiddleware, create_hindsight_tools
url = sys.argv[1]
model = GenericFakeChatModel(messages=iter([AIMessage("Ok.")] * 9))
agent = create_agent(model, middleware=[HindsightMiddleware(bank_id="ada", hindsight_api_url=url)])
agent.invoke({"messages": [("user", "Hello there.")]})
asyncio.run(agent.ainvoke({"messages": [("user", "Hello again.")]}))
create_hindsight_tools(bank_id="ada", hindsight_api_url=url)[0].invoke({"content": "x"})
"""


def test_no_warning_at_exit(server: FakeHindsight) -> None:
    pytest.importorskip("langchain", reason="its program makes an agent")
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", SCRIPT, server.url]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert server.texts("ada") == ["Hello there.", "Ok.", "Hello again.", "Ok.", "x"]


def test_construction_starts_no_thread_and_sends_nothing() -> None:
    before = threading.active_count()
    Everything("http://127.0.0.1:9")
    memory_instructions(bank_id="ada", hindsight_api_url="http://127.0.0.1:9")
    assert threading.active_count() == before


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_work(server: FakeHindsight, again: Any) -> None:
    server.remember("ada", FACT)
    options: dict[str, Any] = {"bank_id": "ada", "hindsight_api_url": server.url, "budget": "low"}
    recall = again(create_hindsight_tools(**options)[1])
    assert FACT in recall.invoke({"query": "theme"})
    assert FACT in str(again(HindsightRetriever(**options)).invoke("theme"))
    assert FACT in str(again(create_recall_node(**options)).invoke({"messages": [HumanMessage("theme")]}))
    again(create_retain_node(bank_id="ada", hindsight_api_url=server.url)).invoke({"messages": [HumanMessage("New.")]})
    assert "New." in server.texts("ada")
    middleware = again(HindsightMiddleware(**options))
    model = ScriptedModel("Ok.")
    create_agent(model, middleware=[middleware]).invoke(ASKED)
    assert FACT in model.prompt


@given(
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40).map(lambda s: "hsk_" + s),
    through=st.sampled_from(["argument", "configure", "environment", "client", "url"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_dump_holds_the_key(key: str, through: str) -> None:
    from hindsight_client import Hindsight

    url = "http://127.0.0.1:9"
    options: dict[str, Any] = {"bank_id": "ada"}
    for package in (sys.modules["hindsight_langchain"], hindsight_langgraph):
        package.reset_config()
    with pytest.MonkeyPatch.context() as patch:
        if through == "argument":
            options |= {"hindsight_api_url": url, "api_key": key}
        elif through == "configure":
            for package in (sys.modules["hindsight_langchain"], hindsight_langgraph):
                package.configure(hindsight_api_url=url, api_key=key)
            assert key not in repr(configure(hindsight_api_url=url, api_key=key))
        elif through == "environment":
            patch.setenv("HINDSIGHT_API_KEY", key)
            options |= {"hindsight_api_url": url}
        elif through == "client":
            options |= {"client": Hindsight(base_url=url, api_key=key)}
        else:
            key = "".join(character for character in key if character.isalnum() or character == "_")
            options |= {"hindsight_api_url": f"http://ada:{key}@127.0.0.1:9"}
        tools = [*create_hindsight_tools(**options), *hindsight_langgraph.create_hindsight_tools(**options)]
        objects: list[Any] = [
            *tools,
            HindsightRetriever(**options),
            HindsightMiddleware(**options),
            create_recall_node(**options),
            create_retain_node(**options),
            hindsight_langgraph.create_recall_node(**options),
            hindsight_langgraph.create_retain_node(**options),
            memory_instructions(**options),
        ]
        shown = [text for one in objects for text in (repr(one), str(one), repr(vars(one)), dumps(one))]
        shown += [str(one.model_dump()) for one in (*tools, objects[6])]
        shown += [repr(pickle.dumps(one)) for one in objects]
        shown += [repr(copy.deepcopy(one)) for one in objects]
    hindsight_langgraph.reset_config()
    sys.modules["hindsight_langchain"].reset_config()
    assert not [text for text in shown if key in text or json.dumps(key)[1:-1] in text]
