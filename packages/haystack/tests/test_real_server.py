"""Plain agent runs against a real memory server: what the model was sent, and what the server holds."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import ClientSession, web
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, StreamingChunk
from scripted import ScriptedChatGenerator, needs_haystack_3

from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore
from hindsight_adapter_core import Deadlines, DeliveryOptions
from hindsight_haystack import HindsightMemoryHook, HindsightMemoryWrapper

user = ChatMessage.from_user
Run = Callable[..., dict[str, Any]]


def stored(url: str, bank_id: str) -> list[str]:
    """The texts of all facts of a bank, each as often as it is there."""
    with urllib.request.urlopen(f"{url}/v1/default/banks/{bank_id}/memories/list?limit=1000") as answer:
        return sorted(one["text"] for one in json.load(answer)["items"])


def words(texts: list[str]) -> list[str]:
    """Without who said it, which the server may put in front."""
    return sorted(re.sub(r"^(?:user|assistant|\w+): ", "", text) for text in texts)


async def _swallow(chunk: StreamingChunk) -> None:
    assert chunk.content


def ways() -> list[Any]:
    """Every way to run an agent that remembers."""

    def hook(kind: str) -> Run:
        def run(agent: Agent, memory: Any, text: str) -> dict[str, Any]:
            arguments: dict[str, Any] = {"messages": [user(text)]}
            if kind == "run":
                return agent.run(**arguments)
            if kind == "stream":
                chunks: list[StreamingChunk] = []
                result = agent.run(streaming_callback=chunks.append, **arguments)
                assert "".join(chunk.content for chunk in chunks)
                return result
            if kind == "stream_async":
                arguments["streaming_callback"] = _swallow
            return asyncio.run(agent.run_async(**arguments))

        return run

    def wrapped(kind: str) -> Run:
        def run(agent: Agent, memory: HindsightMemoryWrapper, text: str) -> dict[str, Any]:
            arguments: dict[str, Any] = {"messages": [user(text)]}
            if kind == "stream":
                chunks: list[StreamingChunk] = []
                result = memory.run(agent, streaming_callback=chunks.append, **arguments)
                assert chunks
                return result
            if kind == "run_async":
                return asyncio.run(memory.run_async(agent, **arguments))
            return memory.run(agent, **arguments)

        return run

    plain = [
        pytest.param("hook", hook(kind), id=f"agent.{kind}", marks=needs_haystack_3)
        for kind in ("run", "run_async", "stream", "stream_async")
    ]
    return plain + [
        pytest.param("wrapper", wrapped(kind), id=f"wrapper.{kind}") for kind in ("run", "run_async", "stream")
    ]


def remembering(
    kind: str, url: str, bank_id: str, *, reply: str = "Understood, noted.", **options: Any
) -> tuple[Agent, Any]:
    model = ScriptedChatGenerator([reply])
    if kind == "hook":
        memory: Any = HindsightMemoryHook(bank_id=bank_id, hindsight_api_url=url, **options)
        return Agent(chat_generator=model, hooks={"before_run": [memory], "after_run": [memory]}), memory
    memory = HindsightMemoryWrapper(
        bank_id=bank_id, hindsight_api_url=url, auto_recall=True, auto_retain=True, **options
    )
    return Agent(chat_generator=model, tools=memory), memory


@pytest.fixture
def bank_id() -> str:
    return f"user-{uuid4().hex[:8]}"


@pytest.mark.feature("H6")
@pytest.mark.parametrize(("kind", "run"), ways())
def test_two_sessions_of_one_user(memory_server: str, bank_id: str, kind: str, run: Run) -> None:
    said = "My train to Porto leaves at 9:40 from platform 6."
    first, second = "Your departure is in my notes now.", "It leaves from platform 6, as you told me."
    agent, memory = remembering(kind, memory_server, bank_id, reply=first)
    assert run(agent, memory, said)["messages"][-1].text == first
    # Another process would begin like this: nothing but the bank is shared.
    agent, memory = remembering(kind, memory_server, bank_id, reply=second)
    result = run(agent, memory, "From which platform does my train leave?")
    (prompt,) = agent.chat_generator.system_texts()
    assert "1. " in (prompt or "")
    assert said in (prompt or "")
    assert not any("Below are relevant" in (message.text or "") for message in result["messages"])
    facts = Counter(words(stored(memory_server, bank_id)))
    assert {text: facts[text] for text in (said, first, second)} == {said: 1, first: 1, second: 1}
    assert not any("Below are relevant" in text for text in facts)


class Meter:
    """A loopback proxy that counts the bytes of the bodies it passes on."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.sizes: list[int] = []
        self.url = ""

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._pass)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self.session = ClientSession()
        return runner

    async def _pass(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.path.endswith("/memories"):
            self.sizes.append(len(body))
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        address = self.target + request.path_qs
        async with self.session.request(request.method, address, data=body, headers=headers) as answer:
            content = await answer.read()
            return web.Response(status=answer.status, body=content, content_type=answer.content_type)


@pytest.mark.parametrize("kind", [pytest.param("hook", marks=needs_haystack_3), "wrapper"])
async def test_a_hundred_turns_send_each_text_once(memory_server: str, bank_id: str, kind: str) -> None:
    meter = Meter(memory_server)
    runner = await meter.start()
    agent, memory = remembering(kind, meter.url, bank_id)
    history: list[ChatMessage] = []
    for number in range(100):
        said = [*history, user(f"Entry {number:03} of my notebook: shelf {number * 7:03} holds box {number * 3:03}.")]
        if kind == "hook":
            result = await agent.run_async(messages=said)
        else:
            result = await memory.run_async(agent, messages=said)
        history = result["messages"]
    await asyncio.to_thread(memory.close)
    await meter.session.close()
    await runner.cleanup()
    assert len(meter.sizes) == 200
    # Linear: the last turns cost what the first cost, whatever the history has grown to.
    assert sum(meter.sizes[-20:]) <= 1.05 * sum(meter.sizes[:20])
    texts = Counter(words(await asyncio.to_thread(stored, memory_server, bank_id)))
    notes = {text: count for text, count in texts.items() if text.startswith("Entry")}
    assert len(notes) == 100
    assert set(notes.values()) == {1}


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Any]:
    process = pytest.importorskip("hindsight_server.testing.process", reason="needs the memory server's package")
    with process.ServerProcess(tmp_path / "server") as running:
        yield running


QUICK = {"deadlines": Deadlines(recall=2, retain=2)}


@pytest.mark.parametrize("kind", [pytest.param("hook", marks=needs_haystack_3), "wrapper"])
@pytest.mark.parametrize("background", [False, True], ids=["waiting", "background"])
def test_the_server_dies_and_comes_back_in_the_middle(
    own_server: Any, bank_id: str, kind: str, background: bool
) -> None:
    options: dict[str, Any] = dict(QUICK)
    if background:
        options.update(retain_async=True, delivery=DeliveryOptions(first_pause=0.05, longest_pause=0.2))
    agent, memory = remembering(kind, own_server.url, bank_id, **options)
    history: list[ChatMessage] = []

    def say(number: int) -> None:
        nonlocal history
        said = [*history, user(f"Fact {number} is that door {number} is green.")]
        result = agent.run(messages=said) if kind == "hook" else memory.run(agent, messages=said)
        assert result["messages"][-1].text == "Understood, noted."
        history = result["messages"]

    def facts() -> dict[str, int]:
        return {text: n for text, n in Counter(words(stored(own_server.url, bank_id))).items() if "Fact" in text}

    for number in range(3):
        say(number)
    if background:
        assert memory.flush() == 0
    acknowledged = facts()
    assert len(acknowledged) == 3
    own_server.kill()
    for number in range(3, 6):
        say(number)
    own_server.start()
    assert acknowledged.items() <= facts().items()
    say(6)
    if background:
        assert memory.flush(30) == 0
    assert facts() == {f"Fact {number} is that door {number} is green.": 1 for number in range(7)}


@pytest.mark.feature("H7")
def test_filters_of_the_store_hold_on_the_server(memory_server: str, bank_id: str) -> None:
    store = HindsightMemoryStore(bank_id=bank_id, hindsight_api_url=memory_server)
    for tag, text in (("red", "The red door leads to the garden."), ("blue", "The blue door leads to the cellar.")):
        store.add_memories(messages=[user(text)], tags=[tag])
    store.add_memories(messages=[user("The old door leads to the attic.")])

    def found(filters: dict[str, Any] | None) -> set[str]:
        messages = store.search_memories(query="Where does the door lead?", filters=filters, top_k=10)
        return {re.search(r"(garden|cellar|attic)", message.text or "")[0] for message in messages}  # type: ignore[index]

    assert found(None) == {"garden", "cellar", "attic"}
    assert found({"field": "tags", "operator": "==", "value": "red"}) == {"garden"}
    assert found({"field": "tags", "operator": "in", "value": ["red", "blue"]}) == {"garden", "cellar"}
    assert found({"field": "tags", "operator": "!=", "value": "red"}) == {"cellar", "attic"}
    assert found({"field": "type", "operator": "==", "value": "observation"}) == set()
    (first, *_) = store.search_memories(query="red door garden", top_k=1)
    assert first.meta["role"] == "user"
    assert first.meta["retrieved_memory_metadata"]["tags"] == ["red"]
    assert "mentioned_at" in first.meta["retrieved_memory_metadata"]
