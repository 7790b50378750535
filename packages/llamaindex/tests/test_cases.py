"""Cases met in the field, as far as they concern this package."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import json
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llamaindex_scripted import FunctionAgent, ReActAgent, ScriptedLLM

from hindsight_adapter_core import Deadlines
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightMemory, HindsightRetriever, create_hindsight_tools

HAS_WORKFLOWS = importlib.util.find_spec("llama_index.core.agent.workflow") is not None
FACT = "Ada prefers a dark theme."


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def test_case_a01_a_client_outlives_the_loop_that_used_it_first(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = HindsightMemory.from_url(server.url, "ada")
    for number in range(3):
        assert FACT in str(asyncio.run(memory.aget(f"theme {number}")))
    assert FACT in str(memory.get("dark theme"))


@pytest.mark.filterwarnings("error")
def test_case_a02_close_from_the_main_thread_twice(server: FakeHindsight) -> None:
    memory = HindsightMemory.from_url(server.url, "ada")
    asyncio.run(memory.aput(user("Hello Ada.")))
    memory.close()
    memory.close()
    assert server.texts("ada") == ["Hello Ada."]


def program(code: str, server: FakeHindsight) -> None:
    """Run a program of its own to its normal end."""
    preamble = "import asyncio, sys\nfrom hindsight_llamaindex import HindsightMemory\nurl = sys.argv[1]\n"
    preamble += "from llama_index.core.base.llms.types import ChatMessage\n"
    command = [sys.executable, "-c", preamble + code, server.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_case_a03_what_is_in_flight_at_the_end_is_stored(server: FakeHindsight) -> None:
    server.delay("retain", 0.5)
    program(
        """
memory = HindsightMemory.from_defaults("ada", hindsight_api_url=url, retain_async=True)
memory.put(ChatMessage(role="user", content="the last turn"))
""",
        server,
    )
    assert server.texts("ada") == ["the last turn"]


async def test_case_a04_sync_methods_inside_a_running_loop(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    memory.put(user("Which theme?"))
    assert FACT in str(memory.get())
    assert FACT in str(create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url)[1].call("theme"))
    assert HindsightRetriever(bank_id="ada", hindsight_api_url=server.url).retrieve("dark theme of Ada")[0].text == FACT


def test_case_a05_no_loop_is_patched_and_uvloop_works(server: FakeHindsight) -> None:
    program(
        """
import uvloop
before = asyncio.run, asyncio.BaseEventLoop.run_until_complete, asyncio.get_event_loop_policy
memory = HindsightMemory.from_url(url, "ada")
async def handler():
    memory.put(ChatMessage(role="user", content="sync in a handler"))
    await memory.aput(ChatMessage(role="user", content="and async"))
uvloop.run(handler())
assert before == (asyncio.run, asyncio.BaseEventLoop.run_until_complete, asyncio.get_event_loop_policy)
""",
        server,
    )
    assert server.texts("ada") == ["sync in a handler", "and async"]


async def test_case_a06_a_thread_with_a_loop_of_its_own_does_not_disturb_ours(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    await memory.aput(user("From the main loop."))
    await asyncio.to_thread(lambda: asyncio.run(memory.aput(user("From a thread."))))
    await memory.aput(user("From the main loop again."))
    assert len(server.texts("ada")) == 3


def test_case_a07_construction_needs_no_loop_and_starts_nothing(server: FakeHindsight) -> None:
    program(
        """
import threading
from hindsight_llamaindex import HindsightRetriever, create_hindsight_tools
threads = threading.active_count()
HindsightMemory.from_url(url, "ada")
HindsightMemory.from_defaults("ada", hindsight_api_url=url)
HindsightRetriever(bank_id="ada", hindsight_api_url=url)
create_hindsight_tools(bank_id="ada", hindsight_api_url=url)
assert threading.active_count() == threads, threading.enumerate()
""",
        server,
    )
    assert server.requests == []


@pytest.mark.feature("L9")
@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_case_a09_a10_copies_work_and_hold_no_key(server: FakeHindsight, again: Any) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", api_key="SECRET123")
    again(memory).put(user("Said by the copy."))
    assert server.texts("ada") == ["Said by the copy."]
    assert "SECRET123" not in repr(memory) + memory.to_json() + repr(pickle.dumps(memory))


async def test_case_a08_a_cancelled_run_writes_nothing_later(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.delay("recall", 5.0)
    await memory.aput(user("Which theme?"))
    asking = asyncio.create_task(memory.aget())
    while not server.requests_for("recall"):  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    server.fail("retain", status=503, headers={"Retry-After": "1"}, times=20)
    writing = asyncio.create_task(memory.aput(user("Never mind.")))
    while len(server.requests_for("retain")) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    sent = len(server.requests)
    await asyncio.sleep(1.5)
    assert len(server.requests) == sent
    assert server.texts("ada") == ["Which theme?"]


def test_case_a11_threads_do_not_grow_with_operations(server: FakeHindsight, memory: HindsightMemory) -> None:
    memory.put(user("Warm up."))
    before = set(threading.enumerate())
    for number in range(50):
        memory.put(user(f"Message {number}."))
        memory.get(f"Message {number}?")
    # Threads of earlier tests may end meanwhile, and the client's name look-up may hold one that ends by itself.
    new = set(threading.enumerate()) - before
    assert len(new) <= 1, new


def test_case_a14_a_recalled_block_is_not_stored_again(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    memory.put(user("Which theme?"))
    for _ in range(20):
        memory.put_messages([one for one in memory.get() if one.role == "system"])
    assert server.texts("ada") == [FACT, "Which theme?"]


async def test_case_a12_a_write_that_timed_out_is_stored_once(server: FakeHindsight) -> None:
    memory = HindsightMemory.from_defaults("ada", hindsight_api_url=server.url, deadlines=Deadlines(retain=0.3))
    server.delay("retain", 1.0, after_work=True)
    await memory.aput(user("Once, please."))
    assert await memory.aflush() == 0
    assert server.texts("ada") == ["Once, please."]
    sent = [request.body["operation_id"] for request in server.requests_for("retain")]
    assert len(sent) > 1
    assert len(set(sent)) == 1


async def test_case_a18_every_turn_is_dated(server: FakeHindsight, memory: HindsightMemory) -> None:
    stated = {"timestamp": "2026-03-02T09:00:00+09:00"}
    await memory.aput(ChatMessage(role="user", content="Yesterday the sensors failed.", additional_kwargs=stated))
    await memory.aput(ChatMessage(role="assistant", content="I see."))
    first, second = server.items("ada")
    assert first["timestamp"].startswith("2026-03-02")
    assert json.loads(first["content"])[0]["timestamp"] == "2026-03-02T09:00:00+09:00"
    moment = time.strptime(json.loads(second["content"])[0]["timestamp"], "%Y-%m-%dT%H:%M:%S%z")
    assert moment.tm_gmtoff is not None


async def test_case_a27_the_role_is_told_and_the_bank_id_is_not(server: FakeHindsight) -> None:
    bank_id = "my-agent::c4::u7"
    memory = HindsightMemory.from_url(server.url, bank_id)
    await memory.aput_messages([user("I bought a MacBook."), ChatMessage(role="assistant", content="Congratulations!")])
    items = server.items(bank_id)
    assert [item["metadata"]["role"] for item in items] == ["user", "assistant"]
    assert [json.loads(item["content"])[0]["role"] for item in items] == ["user", "assistant"]
    assert not any(part in item["content"] for item in items for part in (bank_id, "u7"))


async def test_case_a34_reasoning_is_not_stored(server: FakeHindsight, memory: HindsightMemory) -> None:
    for reply in ("<think>secret plan</think>Hello.", "<think>never closed", "Thought: only a thought"):
        await memory.aput_messages([user(f"Before {len(reply)}."), ChatMessage(role="assistant", content=reply)])
    said = server.texts("ada")
    assert "Hello." in said
    assert not any(word in text for text in said for word in ("secret plan", "never closed", "only a thought"))
    assert len(said) == 4


@pytest.mark.skipif(not HAS_WORKFLOWS, reason="needs agents in workflows")
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
@pytest.mark.parametrize("kind", [FunctionAgent, ReActAgent])
async def test_case_a35_prose_instead_of_a_tool_call_is_answered_from_memory(
    server: FakeHindsight, memory: HindsightMemory, kind: Any
) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM("I would look that up.")
    tools = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url)
    answer = await kind(tools=tools, llm=llm).run("Which theme?", memory=memory)
    assert "I would look that up." in str(answer)
    assert FACT in "\n".join(message.content or "" for message in llm.prompts[0]), "searched without being asked to"
    assert len(server.requests_for("recall")) == 1
