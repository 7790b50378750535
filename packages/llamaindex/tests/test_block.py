"""HindsightMemoryBlock in LlamaIndex's own Memory, with real agents and a scripted model."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.memory.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.sql import MessageStatus
from llama_index.core.tools import FunctionTool
from llamaindex_scripted import ScriptedLLM, calling, react
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import create_async_engine

from hindsight_adapter_core import Deadlines, DeliveryOptions
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightError, HindsightMemoryBlock, configure

pytestmark = [
    pytest.mark.feature("L8"),
    # The framework's own: see test_agents.py.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

# The framework leaves its database connections to the garbage collector, which would complain in some later test.
aiosqlite.core.Connection.__del__ = lambda self: None

FACT = "Ada prefers a dark theme in every editor."
QUESTION = "Which theme does Ada prefer?"


def block_of(server: FakeHindsight, **options: Any) -> HindsightMemoryBlock:
    return HindsightMemoryBlock(**{"bank_id": "ada", "hindsight_api_url": server.url, **options})


def memory_of(block: HindsightMemoryBlock, session: str = "monday", **options: Any) -> Memory:
    # The framework's databases have no close(); without a pool there is nothing to close.
    engine = create_async_engine(f"sqlite+aiosqlite:///{_database[-1]}", poolclass=NullPool)
    return Memory.from_defaults(
        session_id=session, memory_blocks=[block], insert_method="user", async_engine=engine, **options
    )


_database: list[Path] = []


@pytest.fixture(autouse=True)
def database(tmp_path: Path) -> None:
    _database.append(tmp_path / "chat.db")


def another_database() -> None:
    _database.append(_database[-1].with_suffix(f".{len(_database)}"))


def spoken(server: FakeHindsight, bank: str = "ada") -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for item in server.items(bank) for one in json.loads(item["content"])]


def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@pytest.mark.parametrize("kind", ["react", "function", "workflow"])
async def test_memories_reach_the_model_and_the_exchange_is_stored_once(server: FakeHindsight, kind: str) -> None:
    server.remember("ada", FACT)
    reply = "dark" if kind == "function" else react("dark")
    llm = ScriptedLLM(reply, reply)
    agent: Any = FunctionAgent(tools=[], llm=llm) if kind == "function" else ReActAgent(tools=[], llm=llm)
    if kind == "workflow":
        agent = AgentWorkflow(agents=[ReActAgent(name="a", description="answers", tools=[], llm=llm)], root_agent="a")
    memory = memory_of(block_of(server))
    await agent.run(QUESTION, memory=memory)
    whole = "\n".join(message.content or "" for message in llm.prompts[0])
    assert whole.count(FACT) == 1
    assert f"<hindsight_memories>\n- {FACT}" in whole.replace("\n\n", "\n")
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION]
    assert spoken(server) == [("user", QUESTION), ("assistant", "dark")]
    await agent.run("And which font?", memory=memory)
    assert spoken(server)[2:] == [("user", "And which font?"), ("assistant", "dark")]
    assert {item["document_id"] for item in server.items("ada")} == {"monday"}
    assert all(item["update_mode"] == "append" for item in server.items("ada"))


async def test_one_recall_a_turn_and_no_tool_noise(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM(calling("weather", "Let me look.", city="Oslo"), "Sunny.", calling("weather", city="Bonn"), "No.")
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(weather)], llm=llm)
    memory = memory_of(block_of(server))
    await agent.run(QUESTION, memory=memory)
    await agent.run(QUESTION, memory=memory)
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION, QUESTION]
    assert FACT in "".join(message.content or "" for message in llm.prompts[1])
    assert spoken(server) == [("user", QUESTION), ("assistant", "Sunny."), ("user", QUESTION), ("assistant", "No.")]


async def test_what_the_conversation_still_holds_is_not_recalled_into_it(server: FakeHindsight) -> None:
    llm = ScriptedLLM("ok", "ok")
    memory = memory_of(block_of(server))
    agent = FunctionAgent(tools=[], llm=llm)
    await agent.run("Ada prefers tea.", memory=memory)
    await agent.run("What does Ada prefer?", memory=memory)
    assert [m.content for m in llm.prompts[1]] == ["Ada prefers tea.", "ok", "What does Ada prefer?"]
    other = memory_of(block_of(server), "tuesday")
    assert "- Ada prefers tea." in str(await other.aget("What does Ada prefer?"))


async def test_turns_that_leave_the_short_term_store_are_stored_once_and_recalled(server: FakeHindsight) -> None:
    memory = memory_of(block_of(server), token_limit=60, token_flush_size=20, chat_history_token_ratio=0.5)
    said = []
    for number in range(12):
        for role, text in (("user", f"Ada owns boat number {number}."), ("assistant", f"Boat {number} noted.")):
            said.append((role, text))
            await memory.aput(ChatMessage(role=role, content=text))
        if number % 3 == 0:
            await memory.aget()
    await memory.aget()
    assert len(await memory.aget_all(status=MessageStatus.ACTIVE)) < len(said)
    assert spoken(server) == said
    assert "boat number 0." in str(await memory.aget("Who owns boat number 0?"))


async def test_another_process_goes_on_without_repeating(server: FakeHindsight) -> None:
    for number in range(3):
        agent = FunctionAgent(tools=[], llm=ScriptedLLM(f"Reply {number}."))
        await agent.run("Yes.", memory=memory_of(block_of(server)))
    expected = [one for n in range(3) for one in (("user", "Yes."), ("assistant", f"Reply {n}."))]
    assert spoken(server) == expected
    assert len({request.body["operation_id"] for request in server.requests_for("retain")}) == 6


def test_sync_methods_work_inside_and_outside_a_loop(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = memory_of(block_of(server))
    memory.put(ChatMessage(role="user", content=QUESTION))
    assert FACT in str(memory.get())
    memory.put(ChatMessage(role="assistant", content="dark"))
    assert FACT in str(memory.get())
    assert spoken(server) == [("user", QUESTION), ("assistant", "dark")]


async def test_without_short_term_memory_it_only_recalls(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    memory = memory_of(block_of(server, accept_short_term_memory=False))
    await FunctionAgent(tools=[], llm=ScriptedLLM("dark")).run(QUESTION, memory=memory)
    assert server.requests_for("recall")
    assert server.items("ada") == []


async def test_the_agent_answers_while_the_service_is_down_and_turns_are_stored_later(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture
) -> None:
    pauses = DeliveryOptions(first_pause=0.05, longest_pause=0.1)
    block = block_of(server, delivery=pauses, deadlines=Deadlines(retain=1.0, recall=0.5))
    server.fail("retain", status=500)
    server.fail("recall", status=500)
    llm = ScriptedLLM("still here")
    assert "still here" in str(await FunctionAgent(tools=[], llm=llm).run(QUESTION, memory=memory_of(block)))
    assert len(llm.prompts[0]) == 1
    assert "Failed to search memory" in caplog.text
    assert "tried again in the background" in caplog.text
    assert await block.aflush() == 0
    assert server.texts("ada") == [QUESTION, "still here"]
    assert block.flush() == 0


async def test_two_users_never_meet(server: FakeHindsight) -> None:
    for bank, theme in (("ada", "dark"), ("bob", "light")):
        another_database()
        agent = FunctionAgent(tools=[], llm=ScriptedLLM("ok"))
        await agent.run(f"My theme is {theme}.", memory=memory_of(block_of(server, bank_id=bank)))
    found = str(await memory_of(block_of(server, bank_id="bob"), "tuesday").aget("theme"))
    assert "light" in found
    assert "dark" not in found


async def test_memory_may_shorten_what_was_recalled(server: FakeHindsight) -> None:
    block = block_of(server)
    content = "- one two three\n- four five\n  six\n- seven"
    assert await block.atruncate(content, 1) == "- one two three\n- four five\n  six"
    assert await block.atruncate(content, 3) == "- one two three"
    assert await block.atruncate(content, 100) is None
    server.remember("ada", *(f"Theme {number} of Ada's long list of themes." for number in range(30)))
    memory = memory_of(block_of(server, priority=1), token_limit=120)
    (asked,) = await memory.aget("theme of Ada") or [ChatMessage(content="")]
    assert 0 < (asked.content or "").count("\n- Theme") < 30


@pytest.mark.parametrize(
    "again",
    [
        copy.deepcopy,
        copy.copy,
        lambda block: pickle.loads(pickle.dumps(block)),
        lambda block: HindsightMemoryBlock(**json.loads(block.model_dump_json())),
    ],
    ids=["deepcopy", "copy", "pickle", "json"],
)
async def test_copies_and_dumps_go_on_and_hold_no_key(server: FakeHindsight, again: Any) -> None:
    block = block_of(server, api_key="hsk_very-secret", tags=["t"], priority=2)
    await FunctionAgent(tools=[], llm=ScriptedLLM("ok")).run("Ada prefers tea.", memory=memory_of(block))
    twin = again(block)
    assert isinstance(twin, BaseMemoryBlock)
    assert (twin.tags, twin.priority, twin.model_dump()) == (["t"], 2, block.model_dump())
    another_database()
    memory = memory_of(twin)
    await memory.aput_messages(
        [ChatMessage(role="user", content="Ada prefers tea."), ChatMessage("ok", role="assistant")]
    )
    await FunctionAgent(tools=[], llm=ScriptedLLM("fine")).run("And rye bread.", memory=memory)
    assert [words for _, words in spoken(server)] == ["Ada prefers tea.", "ok", "And rye bread.", "fine"]
    assert "hsk_very-secret" not in repr(block) + block.model_dump_json() + repr(pickle.dumps(block)) + str(block)


def test_settings(server: FakeHindsight) -> None:
    configure(hindsight_api_url=server.url, budget="high", tags=["source:config"], context="my-app")
    block = HindsightMemoryBlock(bank_id="ada", budget="low")
    assert (block.budget, block.tags, block.context, block.max_tokens) == ("low", ["source:config"], "my-app", 4096)
    assert block.explain()["hindsight_api_url"] == (server.url, "configure()")
    for options, named in (({"budget": "huge"}, "budget"), ({"taggs": ["a"]}, "taggs"), ({"bank_id": None}, "bank")):
        with pytest.raises(HindsightError, match=named):
            block_of(server, **options)


def test_a_bank_may_be_a_number() -> None:
    assert HindsightMemoryBlock(bank_id=42, hindsight_api_url="http://127.0.0.1:9").bank_id == "42"
