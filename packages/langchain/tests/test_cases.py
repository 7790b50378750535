"""Failures met in the field with memory adapters, each with the behaviour that is right."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hindsight_client import Hindsight
from langchain_core.messages import AIMessage, HumanMessage
from langchain_scripted import HindsightMiddleware, ScriptedModel, calling, create_agent
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import HindsightRetriever, create_hindsight_tools
from hindsight_server.testing.process import ServerProcess

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."


def agent_of(url: str, *replies: Any, **options: Any) -> Any:
    middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=url, **options)
    return create_agent(ScriptedModel(*replies or ("Ok.",)), middleware=[middleware], checkpointer=InMemorySaver())


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


THREAD: Any = {"configurable": {"thread_id": "t"}}


# The session that the caller left open on its own loop is for the caller to close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_case_a01_the_loop_of_a_cached_session_ends_and_the_next_call_works(server: FakeHindsight) -> None:
    client = Hindsight(base_url=server.url)
    retain, recall, _ = create_hindsight_tools(bank_id="ada", client=client)
    # Its session was opened on a loop that is gone.
    asyncio.run(client.aretain("ada", FACT))
    assert FACT in recall.invoke({"query": "theme"})
    asyncio.run(retain.ainvoke({"content": "Bob likes light."}))
    assert server.texts("ada") == [FACT, "Bob likes light."]
    client.close()
    del client, retain, recall
    gc.collect()


CLOSING = """
import sys
from hindsight_client import Hindsight
from hindsight_langchain import HindsightRetriever, create_hindsight_tools
with Hindsight(base_url=sys.argv[1]) as client:
    create_hindsight_tools(bank_id="ada", client=client)[0].invoke({"content": "Said."})
    HindsightRetriever(bank_id="ada", client=client).invoke("Said?")
client.close()
"""
LEAVING = """
import sys
from hindsight_langchain import create_hindsight_tools
create_hindsight_tools(bank_id="ada", hindsight_api_url=sys.argv[1], retain_async=True)[0].invoke({"content": "Last."})
"""


def run_script(script: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


def test_case_a02_a_client_closed_from_the_main_thread_leaks_nothing(server: FakeHindsight) -> None:
    run_script(CLOSING, server.url)
    assert server.texts("ada") == ["Said."]


def test_case_a03_a_write_in_flight_at_the_end_of_the_program_arrives(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        run_script(LEAVING, server.url)
        server.stop()
        server.start()
        found = HindsightRetriever(bank_id="ada", hindsight_api_url=server.url).invoke("Last.")
        assert [one.page_content for one in found] == ["Last."]


async def test_case_a04_sync_calls_work_inside_a_running_loop(server: FakeHindsight) -> None:
    agent = agent_of(server.url)
    assert agent.invoke(say("Hello."), THREAD)["messages"][-1].content == "Ok."
    assert (await agent.ainvoke(say("Hello."), THREAD))["messages"][-1].content == "Ok."
    assert server.texts("ada") == ["Hello.", "Ok."] * 2


def test_case_a05_sync_calls_work_under_uvloop(server: FakeHindsight) -> None:
    async def handler() -> str:
        return str(agent_of(server.url).invoke(say("Hello."), THREAD)["messages"][-1].content)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(handler()) == "Ok."
    assert server.texts("ada") == ["Hello.", "Ok."]


async def test_case_a06_memory_in_a_thread_of_its_own_loop_leaves_the_stream_alone(server: FakeHindsight) -> None:
    client = Hindsight(base_url=server.url)
    agent = create_agent(ScriptedModel("Ok."), middleware=[HindsightMiddleware(bank_id="ada", client=client)])
    retain = create_hindsight_tools(bank_id="ada", client=client)[0]
    worker = threading.Thread(target=lambda: asyncio.run(retain.ainvoke({"content": FACT})))
    streamed = ""
    async for chunk, _ in agent.astream(say("Theme?"), THREAD, stream_mode="messages"):
        if worker.ident is None:
            worker.start()
            worker.join()
        streamed += str(chunk.content)
    await agent.ainvoke(say("Once more."), THREAD)
    assert streamed == "Ok."
    assert FACT in server.texts("ada")
    await client.aclose()


def test_case_a07_a_constructor_needs_no_loop_and_starts_nothing() -> None:
    before = threading.active_count()
    agent_of("http://127.0.0.1:9")
    create_hindsight_tools(bank_id="ada")
    assert threading.active_count() == before


async def test_case_a08_a_cancelled_run_stores_nothing_more(server: FakeHindsight) -> None:
    agent = agent_of(server.url)
    server.delay("recall", 0.5)
    await cancelled(agent, lambda: server.requests_for("recall"))
    await asyncio.sleep(1.0)  # a run that went on would have stored by now
    assert server.requests_for("retain") == []
    server.fail("retain", status=503, headers={"Retry-After": "1"}, times=20)
    await cancelled(agent, lambda: server.requests_for("retain"))
    sent = len(server.requests_for("retain"))
    await asyncio.sleep(1.5)
    assert len(server.requests_for("retain")) == sent


async def cancelled(agent: Any, began: Callable[[], list[Any]]) -> None:
    """Cancel a run as soon as something of it has begun."""
    task = asyncio.ensure_future(agent.ainvoke(say("Hello."), THREAD))
    while not began():  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_case_a09_no_dump_holds_the_key(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    retain = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, api_key="hsk_SECRET-123")[0]
    saved = pickle.dumps(retain)
    server.fail("retain", status=401, detail="wrong key hsk_SECRET-123")
    told = retain.invoke({"type": "tool_call", "id": "1", "name": retain.name, "args": {"content": FACT}})
    assert "SECRET" not in f"{saved!r}{retain!r}{told}"
    monkeypatch.setenv("HINDSIGHT_API_KEY", "hsk_of-the-environment")
    pickle.loads(saved).invoke({"content": FACT})
    assert server.requests[-1].headers["Authorization"] == "Bearer hsk_of-the-environment"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_case_a10_used_objects_can_be_copied(server: FakeHindsight, again: Any) -> None:
    server.remember("ada", FACT)
    retriever = HindsightRetriever(bank_id="ada", hindsight_api_url=server.url)
    middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url)
    retriever.invoke("theme")
    create_agent(ScriptedModel("Ok."), middleware=[middleware]).invoke(say("theme?"))
    assert again(retriever).invoke("theme")[0].page_content
    model = ScriptedModel("Ok.")
    create_agent(model, middleware=[again(middleware)]).invoke(say("Which theme?"))
    assert FACT in model.prompt


def test_case_a11_the_number_of_threads_stays_the_same(server: FakeHindsight) -> None:
    agent = agent_of(server.url)
    agent.invoke(say("Hello 0."), THREAD)
    before = threading.active_count()
    for number in range(1, 50):
        agent.invoke(say(f"Hello {number}."), THREAD)
    assert threading.active_count() <= before
    assert len(server.texts("ada")) == 100


async def test_case_a12_a_write_that_timed_out_is_stored_once(server: FakeHindsight, run: Runner) -> None:
    agent = agent_of(server.url, "One.", "Two.")
    server.drop("retain", after_work=True)
    await run(agent, say("First."), THREAD)
    await run(agent, say("Second."), THREAD)
    assert server.texts("ada") == ["First.", "One.", "Second.", "Two."]


async def test_case_a14_recalled_memories_are_not_stored_again(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    # A model that repeats its prompt's memory block, and a user who pastes it.
    agent = agent_of(server.url, lambda messages: AIMessage(f"{messages[0].content}\n\nDark."))
    for _ in range(10):
        await run(agent, say("Which theme?"), THREAD)
    assert server.texts("ada").count("Which theme?") == 10
    assert server.texts("ada").count(FACT) == 1
    assert not [text for text in server.texts("ada") if text != FACT and FACT in text]


async def test_case_a18_every_turn_is_dated(server: FakeHindsight, run: Runner) -> None:
    message = HumanMessage(
        "Yesterday the sensors failed.", additional_kwargs={"timestamp": "2026-03-02T09:00:00+01:00"}
    )
    await run(agent_of(server.url), {"messages": [message]}, THREAD)
    first, second = server.items("ada")
    assert first["timestamp"] == json.loads(first["content"])[0]["timestamp"] == "2026-03-02T09:00:00+01:00"
    assert second["timestamp"]


async def test_case_a27_roles_are_kept_and_ids_are_no_words(real_url: str, run: Runner) -> None:
    bank = f"my-agent::c4::u7-{run.face}"  # type: ignore[attr-defined]
    middleware = HindsightMiddleware(bank_id=bank, hindsight_api_url=real_url)
    agent = create_agent(ScriptedModel("I recommend a sleeve."), middleware=[middleware])
    await run(agent, {"messages": [HumanMessage("I bought a MacBook.", id="msg-4711")]}, THREAD)
    found = await run(HindsightRetriever(bank_id=bank, hindsight_api_url=real_url), "Who bought a MacBook?")
    roles = {one.page_content: one.metadata["metadata"]["role"] for one in found}
    (bought,) = [text for text in roles if "MacBook" in text]
    assert roles[bought] == "user"
    assert not [text for text in roles if "4711" in text or "agent::" in text]


@pytest.mark.parametrize("thought", ["<think>Hm, peanuts.</think>", "<thinking>\npeanuts\n</thinking>\n"])
async def test_case_a34_reasoning_is_not_stored(server: FakeHindsight, run: Runner, thought: str) -> None:
    reply = AIMessage([{"type": "reasoning", "reasoning": "peanuts"}, {"type": "text", "text": f"{thought}Done."}])
    await run(agent_of(server.url, reply), say("Do it."), THREAD)
    assert server.texts("ada") == ["Do it.", "Done."]


async def test_case_a35_prose_instead_of_a_tool_call_is_answered_from_memory(
    server: FakeHindsight, run: Runner
) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel("I would look that up.", calling(("recall_memory", {"query": "theme"})))
    middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url, include_recall=True)
    result = await run(create_agent(model, middleware=[middleware]), say("Which theme?"), THREAD)
    assert result["messages"][-1].content == "I would look that up."
    assert FACT in model.prompts[0][0].content, "the search was made without being asked for"
