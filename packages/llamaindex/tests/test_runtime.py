"""Where and how the package may be used: loops, threads, processes, copies; and what never leaks."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage

from hindsight_adapter_core import Deadlines, SerializationError, SettingsError
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import (
    HindsightMemory,
    HindsightRetriever,
    HindsightTasks,
    HindsightToolSpec,
    configure,
    reset_config,
)

FACT = "Ada prefers a dark theme."


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


async def everything(server: FakeHindsight) -> None:
    """All faces of memory and tools, sync ones inside this running loop."""
    memory = HindsightMemory.from_url(server.url, "ada")
    tools = HindsightToolSpec(bank_id="ada", hindsight_api_url=server.url).to_tool_list()
    memory.put(user("Said in sync code."))
    await memory.aput(user("Said in async code."))
    assert FACT in str(memory.get("dark theme"))
    assert FACT in str(await memory.aget("a theme that is dark"))
    assert FACT in tools[1].call("dark theme").content
    assert FACT in (await tools[1].acall("dark theme")).content
    memory.close()
    await memory.aclose()
    assert FACT in str(await memory.aget("theme after closing, dark")), "a closed session opens again"


@pytest.mark.parametrize("runs", [1, 3])
def test_one_loop_after_another(server: FakeHindsight, runs: int) -> None:
    server.remember("ada", FACT)
    for _ in range(runs):
        asyncio.run(everything(server))


def test_uvloop(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(everything(server))


def test_one_memory_on_two_loops_and_in_threads(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = HindsightMemory.from_url(server.url, "ada")

    def work(number: int) -> str:
        memory.put(user(f"Message {number}."))
        return str(asyncio.run(memory.aget(f"theme {number}")))

    with ThreadPoolExecutor(8) as pool:
        assert all(FACT in found for found in pool.map(work, range(16)))
    assert len(server.items("ada")) == 16
    assert len(memory.get_all()) == 16


def test_a_client_in_use_elsewhere_is_left_alone(server: FakeHindsight) -> None:
    from hindsight_client import Hindsight

    server.remember("ada", FACT)

    async def main() -> None:
        client = Hindsight(base_url=server.url)
        await client.arecall("ada", "theme")
        memory = HindsightMemory.from_client(client, "ada")
        assert FACT in str(await memory.aget("theme"))
        assert FACT in str(memory.get("dark"))
        memory.close()
        assert (await client.arecall("ada", "theme")).results
        await client.aclose()

    asyncio.run(main())


async def test_async_methods_leave_the_loop_free(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = HindsightMemory.from_url(server.url, "ada")
    for method, argument in ((memory.aput, user("theme")), (memory.aget, "dark")):
        server.delay("retain", 0.3)
        server.delay("recall", 0.3)
        task = asyncio.ensure_future(method(argument))  # type: ignore[operator]
        await asyncio.sleep(0.05)
        assert not task.done(), "other coroutines run while the memory waits"
        await task


async def test_cancelling_a_recall_leaves_the_memory_usable(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = HindsightMemory.from_url(server.url, "ada")
    server.delay("recall", 5.0)
    task = asyncio.create_task(memory.aget("theme"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert FACT in str(await memory.aget("theme"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_fork(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = HindsightMemory.from_url(server.url, "ada")
    assert FACT in str(memory.get("theme"))
    child = os.fork()
    if child == 0:
        # Nothing of pytest may run on in the child.
        ok = False
        try:
            memory.put(user("Said by the child."))
            ok = FACT in str(memory.get("dark theme"))
        finally:
            os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert FACT in str(memory.get("dark"))
    assert "Said by the child." in server.texts("ada")


def test_import_and_construction_start_no_thread() -> None:
    before = threading.active_count()
    HindsightMemory.from_url("http://127.0.0.1:9", "ada")
    HindsightToolSpec(bank_id="ada", hindsight_api_url="http://127.0.0.1:9").to_tool_list()
    assert threading.active_count() == before


# -- copies and dumps ------------------------------------------------------------------------------------------


def _json_round_trip(memory: HindsightMemory) -> HindsightMemory:
    return HindsightMemory.from_dict(json.loads(json.dumps(memory.to_dict())))


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, copy.copy, lambda memory: pickle.loads(pickle.dumps(memory)), _json_round_trip],
    ids=["deepcopy", "copy", "pickle", "dict"],
)
def test_a_copy_goes_on_where_the_memory_was(server: FakeHindsight, again: Any) -> None:
    memory = HindsightMemory.from_url(
        server.url, "ada", tags=["t"], budget="low", context="notes", chat_history_limit=7, mission="m"
    )
    memory.put(user("One."))
    twin = again(memory)
    assert twin.get_all() == memory.get_all()
    assert twin.to_dict() == memory.to_dict()
    twin.put(user("Two."))
    assert [m.content for m in memory.get_all()] == ["One."], "the copy has a buffer of its own"
    assert server.texts("ada") == ["One.", "Two."]
    assert len({item["document_id"] for item in server.items("ada")}) == 1
    assert [item["tags"] for item in server.items("ada")] == [["t"], ["t"]]


def test_a_memory_without_an_address_refuses_to_be_pickled() -> None:
    class Stub:
        def retain(self, **arguments: Any) -> None: ...

    with pytest.raises(SerializationError, match="client"):
        pickle.dumps(HindsightMemory.from_client(Stub(), "ada"))


@given(
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40).map(lambda s: "hsk_" + s),
    through=st.sampled_from(["argument", "configure", "client", "url"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_dump_holds_the_key(key: str, through: str) -> None:
    from hindsight_client import Hindsight

    url = "http://127.0.0.1:9"
    reset_config()
    if through == "argument":
        memory = HindsightMemory.from_url(url, "ada", api_key=key)
        spec = HindsightToolSpec(bank_id="ada", hindsight_api_url=url, api_key=key)
    elif through == "configure":
        config = configure(hindsight_api_url=url, api_key=key)
        assert key not in repr(config)
        memory, spec = HindsightMemory.from_defaults("ada"), HindsightToolSpec(bank_id="ada")
    elif through == "client":
        client = Hindsight(base_url=url, api_key=key)
        memory, spec = HindsightMemory.from_client(client, "ada"), HindsightToolSpec(bank_id="ada", client=client)
    else:
        key = "".join(character for character in key if character.isalnum() or character == "_")
        address = f"http://ada:{key}@127.0.0.1:9"
        memory = HindsightMemory.from_url(address, "ada")
        spec = HindsightToolSpec(bank_id="ada", hindsight_api_url=address)
    shown = [
        repr(memory),
        str(memory),
        json.dumps(memory.to_dict()),
        memory.model_dump_json(),
        repr(memory.explain()),
        repr(copy.deepcopy(memory)),
        repr(pickle.dumps(memory)),
        repr(spec),
        repr(spec.explain()),
        *(f"{tool!r}{tool.metadata}" for tool in spec.to_tool_list()),
    ]
    assert not [text for text in shown if key in text or json.dumps(key)[1:-1] in text]


# -- what a dump does not hold -----------------------------------------------------------------------------------


def test_a_dump_finds_the_key_while_a_copy_lives(server: FakeHindsight) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", api_key="hsk_in-code")
    saved = memory.to_dict()
    twin = _json_round_trip(memory)
    del memory
    third = HindsightMemory.from_dict(dict(saved))
    assert [one.explain()["api_key"] for one in (twin, third)] == [("set", "argument")] * 2
    elsewhere = HindsightMemory.from_dict({**saved, "hindsight_api_url": "http://127.0.0.1:9"})
    assert elsewhere.explain()["api_key"] == ("not set", "default"), "a key goes to no other server"
    other = HindsightMemory.from_dict(dict(saved), api_key="hsk_other")
    other.put(user("Sent with the key that was given last."))
    assert server.requests[-1].headers["Authorization"] == "Bearer hsk_other"
    del twin, third
    assert HindsightMemory.from_dict(dict(saved)).explain()["api_key"] == ("not set", "default")


def test_a_key_of_the_environment_is_read_again(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = HindsightMemory.from_url(server.url, "ada")
    monkeypatch.setenv("HINDSIGHT_API_KEY", "hsk_set-later")
    twin = _json_round_trip(memory)
    assert twin.explain()["api_key"] == ("set", "environment")
    assert twin.to_dict()["family"] != memory.to_dict()["family"]


def test_a_client_of_the_callers_serves_the_copies(server: FakeHindsight) -> None:
    from hindsight_client import Hindsight

    client = Hindsight(base_url=server.url, api_key="hsk_of-the-client")
    memory = HindsightMemory.from_client(client, "ada")
    _json_round_trip(memory).put(user("Said by the copy."))
    assert server.requests[-1].headers["Authorization"] == "Bearer hsk_of-the-client"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_dump_restored_after_fork_sends_for_itself(server: FakeHindsight) -> None:
    memory = HindsightMemory.from_url(server.url, "ada", api_key="hsk_in-code", deadlines=Deadlines(retain=1))
    server.fail("retain", status=503, times=1000)
    memory.put(user("Said while it was down."))
    saved = memory.to_dict()
    server._trouble["retain"].clear()
    child = os.fork()
    if child == 0:
        left = 1
        try:
            left = HindsightMemory.from_dict(saved).flush()
        finally:
            os._exit(left)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.flush() == 0
    assert server.texts("ada") == ["Said while it was down."]
    assert {request.headers["Authorization"] for request in server.requests} == {"Bearer hsk_in-code"}


@pytest.mark.parametrize("number", [42, uuid.UUID(int=42)], ids=["int", "uuid"])
async def test_users_that_are_numbered(server: FakeHindsight, number: Any) -> None:
    where = {"bank_id": number, "hindsight_api_url": server.url}
    memory = HindsightMemory.from_defaults(**where)
    memory.put(user("I prefer tea."))
    assert memory.bank_id == str(number)
    assert server.texts(str(number)) == ["I prefer tea."]
    assert memory.model_copy(update={"bank_id": 43}).bank_id == "43"
    assert [node.text for node in HindsightRetriever(**where).retrieve("prefer")] == ["I prefer tea."]
    assert "I prefer tea." in await HindsightToolSpec(**where).arecall_memory("prefer")
    assert str(number) in repr(HindsightTasks(**where))
    with pytest.raises(SettingsError, match="bank_id"):
        HindsightMemory.from_defaults(True, hindsight_api_url=server.url)
