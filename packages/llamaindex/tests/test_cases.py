"""Cases met in the field, as far as they concern this package."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightMemory, HindsightRetriever, create_hindsight_tools

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


async def test_case_a04_sync_methods_inside_a_running_loop(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    memory.put(user("Which theme?"))
    assert FACT in str(memory.get())
    assert FACT in str(create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url)[1].call("theme"))
    assert HindsightRetriever(bank_id="ada", hindsight_api_url=server.url).retrieve("dark theme of Ada")[0].text == FACT


async def test_case_a06_a_thread_with_a_loop_of_its_own_does_not_disturb_ours(
    server: FakeHindsight, memory: HindsightMemory
) -> None:
    await memory.aput(user("From the main loop."))
    await asyncio.to_thread(lambda: asyncio.run(memory.aput(user("From a thread."))))
    await memory.aput(user("From the main loop again."))
    assert len(server.texts("ada")) == 3


def test_case_a07_construction_needs_no_loop() -> None:
    HindsightMemory.from_url("http://127.0.0.1:9", "ada")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_case_a09_a10_copies_work_and_hold_no_key(server: FakeHindsight, again: Any) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", api_key="SECRET123")
    again(memory).put(user("Said by the copy."))
    assert server.texts("ada") == ["Said by the copy."]
    assert "SECRET123" not in repr(memory) + memory.to_json() + repr(pickle.dumps(memory))


def test_case_a11_threads_do_not_grow_with_operations(server: FakeHindsight, memory: HindsightMemory) -> None:
    memory.put(user("Warm up."))
    before = threading.active_count()
    for number in range(50):
        memory.put(user(f"Message {number}."))
    assert threading.active_count() <= before


def test_case_a14_a_recalled_block_is_not_stored_again(server: FakeHindsight, memory: HindsightMemory) -> None:
    server.remember("ada", FACT)
    memory.put(user("Which theme?"))
    for _ in range(20):
        memory.put_messages([one for one in memory.get() if one.role == "system"])
    assert server.texts("ada") == [FACT, "Which theme?"]
