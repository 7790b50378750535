"""Faults that people met with memory in agents, each with the smallest input that showed it."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import logging
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from hindsight_client import Hindsight
from scripted import ScriptedChatGenerator, needs_haystack_3

from haystack_integrations.components.retrievers.hindsight import HindsightMemoryRetriever
from haystack_integrations.components.writers.hindsight import HindsightMemoryWriter
from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore
from hindsight_adapter_core import Deadlines, get_bridge
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_haystack import HindsightMemoryHook, HindsightMemoryWrapper, create_hindsight_tools

user = ChatMessage.from_user
KEY = "hsk_case-secret-4711"


def wrapper_at(server: FakeHindsight, **options: Any) -> HindsightMemoryWrapper:
    both = {"auto_recall": True, "auto_retain": True}
    return HindsightMemoryWrapper(**{"bank_id": "b", "hindsight_api_url": server.url, **both, **options})


def agent_with(memory: Any, *replies: Any) -> Agent:
    return Agent(chat_generator=ScriptedChatGenerator(list(replies) or ["ok"]), tools=memory)


def everything(server: FakeHindsight, **options: Any) -> dict[str, Any]:
    """One of each piece that holds a memory."""
    given = {"bank_id": "b", "hindsight_api_url": server.url, **options}
    store = HindsightMemoryStore(**given)
    return {
        "tool": create_hindsight_tools(**given)[1],
        "wrapper": HindsightMemoryWrapper(**given),
        "hook": HindsightMemoryHook(**given),
        "store": store,
        "retriever": HindsightMemoryRetriever(memory_store=store),
        "writer": HindsightMemoryWriter(memory_store=store),
    }


def program(code: str, server: FakeHindsight, *arguments: str) -> None:
    """Run code in a process of its own; it must end well and say nothing."""
    head = f"""
import asyncio, os, sys, threading
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
sys.path.insert(0, {str(Path(__file__).parent)!r})
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from hindsight_haystack import HindsightMemoryWrapper, create_hindsight_tools
from scripted import ScriptedChatGenerator
user, url = ChatMessage.from_user, {server.url!r}
"""
    done = subprocess.run(
        [sys.executable, *arguments, "-c", head + textwrap.dedent(code)], capture_output=True, text=True, timeout=90
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.feature("H11")
def test_case_a01_tools_outlive_the_loop_they_were_first_used_on(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    client = Hindsight(base_url=server.url)
    wrapper = wrapper_at(server, client=client, auto_retain=False)
    agent = agent_with(wrapper)

    async def callers_own_use() -> None:
        await client.arecall(bank_id="b", query="mode")
        await client.aclose()

    async def ask() -> None:
        await wrapper.run_async(agent, messages=[user("which mode?")])

    asyncio.run(callers_own_use())
    for _ in range(3):
        asyncio.run(ask())
    wrapper.run(agent, messages=[user("which mode?")])
    assert all("dark mode" in (messages[0].text or "") for messages in agent.chat_generator.seen)
    assert len(agent.chat_generator.seen) == 4


def test_case_a02_closing_from_any_thread_is_silent_and_may_be_repeated(server: FakeHindsight) -> None:
    pieces = everything(server)
    pieces["tool"].invoke(query="x")
    pieces["wrapper"][0].invoke(content="x")
    pieces["retriever"].run(query="x")
    for _ in range(2):
        for piece in pieces.values():
            piece.close()
            other = threading.Thread(target=piece.close)
            other.start()
            other.join()
            asyncio.run(piece.close_async())
    assert pieces["tool"].invoke(query="x") == "1. x"
    del pieces
    gc.collect()  # an unclosed session would warn here, and warnings are errors


def test_case_a03_what_is_in_flight_at_the_end_is_stored(server: FakeHindsight) -> None:
    server.delay("retain", 0.5)
    program(
        """
        memory = HindsightMemoryWrapper(bank_id="b", hindsight_api_url=url, auto_retain=True, retain_async=True)
        agent = Agent(chat_generator=ScriptedChatGenerator(["the last answer"]), tools=memory)
        memory.run(agent, messages=[user("the last turn")])
        """,
        server,
    )
    assert server.texts("b") == ["the last turn", "the last answer"]


async def test_case_a04_sync_calls_work_inside_a_running_loop(server: FakeHindsight) -> None:
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper)
    wrapper.run(agent, messages=[user("a notebook cell")])
    await wrapper.run_async(agent, messages=[user("an async handler")])
    assert [text for text in server.texts("b") if text != "ok"] == ["a notebook cell", "an async handler"]


def test_case_a05_no_loop_is_patched_and_uvloop_works(server: FakeHindsight) -> None:
    program(
        """
        import uvloop
        before = asyncio.run, asyncio.BaseEventLoop.run_until_complete, asyncio.get_event_loop_policy
        tools = create_hindsight_tools(bank_id="b", hindsight_api_url=url)
        async def handler():
            assert tools[0].invoke(content="sync in a handler") == "Memory stored successfully."
            assert await tools[1].invoke_async(query="handler") == "1. sync in a handler"
        uvloop.run(handler())
        assert before == (asyncio.run, asyncio.BaseEventLoop.run_until_complete, asyncio.get_event_loop_policy)
        """,
        server,
    )


def test_case_a06_memory_work_in_a_thread_leaves_the_stream_alone(server: FakeHindsight) -> None:
    server.delay("retain", 0.2, times=4)
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper)

    async def stream() -> int:
        elsewhere = asyncio.to_thread(asyncio.run, wrapper.run_async(agent, messages=[user("in a thread")]))
        task, pieces = asyncio.create_task(elsewhere), 0
        while not task.done():
            await asyncio.sleep(0.01)
            pieces += 1
        await task
        await wrapper.run_async(agent, messages=[user("in the main loop")])
        return pieces

    assert asyncio.run(stream()) > 5
    assert [text for text in server.texts("b") if text != "ok"] == ["in a thread", "in the main loop"]


def test_case_a07_building_needs_no_loop_and_starts_nothing(server: FakeHindsight) -> None:
    program(
        """
        from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore
        from haystack_integrations.components.retrievers.hindsight import HindsightMemoryRetriever
        threads = threading.active_count()
        memory = HindsightMemoryWrapper(bank_id="b", hindsight_api_url=url, auto_recall=True, auto_retain=True)
        store = HindsightMemoryStore(bank_id="b", hindsight_api_url=url)
        HindsightMemoryRetriever(memory_store=store).warm_up()
        Agent(chat_generator=ScriptedChatGenerator(["ok"]), tools=memory)
        assert threading.active_count() == threads, threading.enumerate()
        """,
        server,
    )
    assert server.requests == []


async def test_case_a08_a_cancelled_run_writes_nothing_later(server: FakeHindsight) -> None:
    server.fail("retain", status=503, headers={"Retry-After": "1"}, times=20)
    wrapper = wrapper_at(server, auto_recall=False)
    task = asyncio.create_task(wrapper.run_async(agent_with(wrapper), messages=[user("never mind")]))
    while not server.requests_for("retain"):  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    sent = len(server.requests_for("retain"))
    await asyncio.sleep(1.5)
    assert len(server.requests_for("retain")) == sent


@pytest.mark.feature("K5")
@pytest.mark.parametrize("secret", [KEY, Secret.from_token(KEY), Secret.from_env_var("CASE_KEY")])
def test_case_a09_the_key_is_in_no_dump_log_or_error(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, secret: Any
) -> None:
    monkeypatch.setenv("CASE_KEY", KEY)
    pieces = everything(server, api_key=secret)
    with caplog.at_level(logging.DEBUG):
        for operation in ("recall", "retain"):
            server.fail(operation, status=500, detail=f"rejected Bearer {KEY}", times=2)
        answers = [
            pieces["tool"].invoke(query="x"),
            pieces["wrapper"][0].invoke(content="x"),
            str(pieces["retriever"].run(query="x")),
            str(pieces["writer"].run(messages=[user("x")])),
        ]
    assert {request.headers.get("Authorization") for request in server.requests} == {f"Bearer {KEY}"}
    shown = [*answers, *(json.dumps(piece.to_dict()) for piece in pieces.values()), *map(repr, pieces.values())]
    own = [record.getMessage() for record in caplog.records if record.name.startswith("hindsight")]
    assert len(own) >= 4
    assert not any(KEY in text for text in [*shown, *own])
    assert not any(KEY.encode() in pickle.dumps(pieces[name]) for name in ("tool", "wrapper", "hook", "store"))
    monkeypatch.setenv("HINDSIGHT_API_KEY", "hsk_of_the_new_host")
    monkeypatch.setenv("CASE_KEY", "hsk_of_the_new_host")
    for name in ("tool", "store"):
        loaded = type(pieces[name]).from_dict(pieces[name].to_dict())
        loaded.invoke(query="x") if name == "tool" else loaded.search_memories(query="x")
        assert server.requests[-1].headers["Authorization"] == "Bearer hsk_of_the_new_host"


def test_case_a10_everything_can_be_copied_and_pickled_after_use(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    pieces = everything(server, deadlines=Deadlines(recall=3))
    pieces["tool"].invoke(query="mode")
    pieces["retriever"].run(query="mode")
    for name, piece in pieces.items():
        twins = [copy.copy(piece), copy.deepcopy(piece)]
        if name in ("tool", "wrapper", "hook", "store"):  # Haystack's components themselves do not pickle everywhere
            twins.append(pickle.loads(pickle.dumps(piece)))
        assert all(twin.to_dict() == piece.to_dict() for twin in twins)
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper)
    wrapper.run(agent, messages=[user("mode?")])
    twin = copy.deepcopy(agent)
    wrapper.run(twin, messages=[user("which mode?")])
    assert "dark mode" in (twin.chat_generator.system_texts()[0] or "")


@needs_haystack_3
def test_case_a10_an_agent_with_hooks_can_be_copied(server: FakeHindsight) -> None:
    hook = HindsightMemoryHook(bank_id="b", hindsight_api_url=server.url)
    agent = Agent(chat_generator=ScriptedChatGenerator(["ok"]), hooks={"before_run": [hook], "after_run": [hook]})
    agent.run(messages=[user("one")])
    copy.deepcopy(agent).run(messages=[user("two")])
    assert [text for text in server.texts("b") if text != "ok"] == ["one", "two"]
    # One hook at two points is still one hook: its turns were stored once, under one document.
    assert len({item["document_id"] for item in server.items("b")[2:]}) == 1


def test_case_a11_threads_do_not_grow_with_use(server: FakeHindsight) -> None:
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper)
    wrapper.run(agent, messages=[user("warm")])
    get_bridge()
    before = threading.active_count()
    for number in range(60):
        wrapper.run(agent, messages=[user(f"turn {number}")])
        create_hindsight_tools(bank_id="b", hindsight_api_url=server.url)[0].invoke(content=f"fact {number}")
    assert threading.active_count() <= before + 1  # the client's own name look-up may hold one


@pytest.mark.parametrize("runs", ["sync", "async"])
async def test_case_a12_a_write_that_timed_out_is_stored_once(server: FakeHindsight, runs: str) -> None:
    wrapper = wrapper_at(server, deadlines=Deadlines(retain=1))
    agent = agent_with(wrapper, "One.", "Two.")
    server.delay("retain", 1.5, after_work=True)
    history: list[ChatMessage] = []
    for said in ("First.", "Second."):
        asked = [*history, user(said)]
        done = await wrapper.run_async(agent, messages=asked) if runs == "async" else wrapper.run(agent, messages=asked)
        history = done["messages"]
    assert server.texts("b") == ["First.", "One.", "Second.", "Two."]
    sent = [request.body["operation_id"] for request in server.requests_for("retain")]
    assert len(set(sent)) == 4
    assert len(sent) == 5


def test_case_a14_recalled_memories_do_not_breed(server: FakeHindsight) -> None:
    server.remember("b", "The user lives in Bergen")
    store = HindsightMemoryStore(bank_id="b", hindsight_api_url=server.url)
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper, "You live in Bergen.")
    history: list[ChatMessage] = []
    for _ in range(10):
        history = wrapper.run(agent, messages=[*history, user("Where do I live?")])["messages"]
    block = HindsightMemoryRetriever(memory_store=store).run(query="live")["prompt"]
    HindsightMemoryWriter(memory_store=store).run(messages=[ChatMessage.from_system(block), user(block)])
    # What the first answer said is a memory from then on: said again, it is no news.
    assert server.texts("b") == [
        "The user lives in Bergen",
        "Where do I live?",
        "You live in Bergen.",
        *["Where do I live?"] * 9,
    ]
    assert not any("Below are relevant memories" in text for text in server.texts("b"))


def test_case_a18_every_turn_carries_a_time_with_its_offset(server: FakeHindsight) -> None:
    wrapper = wrapper_at(server)
    said = user("Yesterday the sensors failed", meta={"timestamp": "2026-03-02T09:00:00+09:00"})
    wrapper.run(agent_with(wrapper), messages=[said])
    first, second = server.items("b")
    assert first["timestamp"].startswith("2026-03-02")
    assert json.loads(first["content"])[0]["timestamp"] == "2026-03-02T09:00:00+09:00"
    moment = time.strptime(json.loads(second["content"])[0]["timestamp"], "%Y-%m-%dT%H:%M:%S%z")
    assert moment.tm_gmtoff is not None


def test_case_a27_the_role_is_told_and_the_bank_id_is_not(server: FakeHindsight) -> None:
    bank_id = "my-agent::c4::u7"
    wrapper = wrapper_at(server, bank_id=bank_id)
    wrapper.run(agent_with(wrapper, "Congratulations!"), messages=[user("I bought a MacBook")])
    items = server.items(bank_id)
    assert [item["metadata"]["role"] for item in items] == ["user", "assistant"]
    assert [json.loads(item["content"])[0]["role"] for item in items] == ["user", "assistant"]
    assert not any(part in item["content"] for item in items for part in (bank_id, "u7"))


def test_case_a34_reasoning_is_not_stored(server: FakeHindsight) -> None:
    wrapper = wrapper_at(server)
    for reply in ("<think>secret plan</think>Hello.", "<think>never closed", ""):
        wrapper.run(agent_with(wrapper, reply), messages=[user(f"said before {len(reply)}")])
    texts = server.texts("b")
    assert "Hello." in texts
    assert not any("secret plan" in text or "never closed" in text for text in texts)
    assert len([text for text in texts if text.startswith("said before")]) == 3


def test_case_a35_prose_instead_of_a_tool_call_is_answered_from_memory(server: FakeHindsight) -> None:
    server.remember("b", "The user lives in Bergen")
    wrapper = wrapper_at(server)
    agent = agent_with(wrapper, "I would look that up.", ("recall_memory", "live"))
    result = wrapper.run(agent, messages=[user("Where does the user live?")])
    assert result["messages"][-1].text == "I would look that up."
    assert "The user lives in Bergen" in (agent.chat_generator.system_texts(0)[0] or ""), "searched without being asked"
    assert len(server.requests_for("recall")) == 1
