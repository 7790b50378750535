"""Fifty users of one process, twenty turns each: nobody sees another's memories, and what memory adds to a turn.

    python benchmarks/adapters/users.py [--framework haystack|llamaindex|langchain] [--users 50] [--turns 20]
        [--model-seconds 5.0] [--background]

A real server with the default embedding model, and real agents with a scripted model. Crossings: each request that a
model got must hold no other user's secret. Stored wrong: users whose document is not their own turns, each once; with
--background and no pause, a queue that stays full refuses turns, and says so in the log. Requests without the user's
own secret are counted beside it: asked the same question over and over, the question fills the ten memories that are
shown. The time that memory adds to a turn is a turn with memory less the median turn of the same users without. Three
readings of it:

* one by one: five users, one after the other.
* with a model of --model-seconds: all users at once, each answer takes that long, a fifth more or less, as with a real
  model (of answers that take the same time, users who met once meet at every turn); their first turns are spread over
  that time. 0 leaves it out.
* all at once, no pause: every user says the next thing the moment the last is answered, by a model that takes no time.
  This measures how many turns a second the machine does: users wait for one another, whatever a turn costs.

--background stores with ``retain_async=True``: an answer waits for the search only. Beside the times stands what a turn
costs in processor time: of this process (agent, adapter, client; without memory in brackets), and of the server.
Exits with 1 on a crossing, a turn stored wrong, or a 95th percentile of the added time above 60 ms in one of the first
two.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight

from hindsight_server.testing.process import ServerProcess

BAR_MILLISECONDS = 60.0
FLUSH_SECONDS = 120.0
SPREAD = 0.2  # of the model's time
PLAIN_TURNS = 5  # of each user, without memory
_THOUGHT: ContextVar[list[float]] = ContextVar("seconds that the model took in this turn")
#: ``ask(user, text)`` gives the words that the model was sent.
Ask = Callable[[str, str], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the agents are made of: without ``url`` no memory; ``background`` is ``retain_async``."""

    url: str | None = None
    background: bool = False
    model_seconds: float = 0.0


async def think(setup: Setup) -> None:
    """Take the time of a model."""
    seconds = setup.model_seconds * random.uniform(1 - SPREAD, 1 + SPREAD)
    _THOUGHT.get().append(seconds)
    await asyncio.sleep(seconds)


async def timed(ask: Ask, user: str, text: str) -> tuple[str, float]:
    """What the model was sent in a turn, and the seconds of the turn without those that the model took."""
    thought: list[float] = []
    _THOUGHT.set(thought)
    began = time.perf_counter()
    seen = await ask(user, text)
    return seen, time.perf_counter() - began - sum(thought)


@dataclass(frozen=True)
class Agents:
    """``ask`` for a turn; ``flush`` to wait until all is stored."""

    ask: Ask
    flush: Callable[[], Awaitable[int]]


async def nothing_waits() -> int:
    """The ``flush`` of agents without memory."""
    return 0


def haystack_agents(setup: Setup) -> Agents:
    """One agent with a hook, for all users."""
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    from haystack import component
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage

    from hindsight_haystack import HindsightMemoryHook

    @component
    class Echo:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None, **_: Any) -> dict[str, list[ChatMessage]]:
            seen = "\n".join(one.text or "" for one in messages)
            return {"replies": [ChatMessage.from_assistant("Noted.", meta={"seen": seen})]}

        @component.output_types(replies=list[ChatMessage])
        async def run_async(
            self, messages: list[ChatMessage], tools: Any = None, **_: Any
        ) -> dict[str, list[ChatMessage]]:
            await think(setup)
            return self.run(messages)

    hooks: dict[Any, Any] = {}
    flush = nothing_waits
    if setup.url:
        memory = HindsightMemoryHook(hindsight_api_url=setup.url, retain_async=setup.background)
        hooks = {"before_run": [memory], "after_run": [memory]}
        flush = partial(memory.flush_async, FLUSH_SECONDS)
    agent = Agent(chat_generator=Echo(), hooks=hooks)

    async def ask(user: str, text: str) -> str:
        context = {"bank_id": user, "conversation_id": f"{user}-talk"}
        result = await agent.run_async(messages=[ChatMessage.from_user(text)], hook_context=context)
        return str(result["messages"][-1].meta["seen"])

    return Agents(ask, flush)


def llamaindex_agents(setup: Setup) -> Agents:
    """One agent, and a memory for each user."""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms import MockLLM

    from hindsight_llamaindex import HindsightMemory

    class Echo(MockLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

        async def achat_with_tools(self, tools: Any, **given: Any) -> ChatResponse:
            await think(setup)
            seen = "\n".join(one.content or "" for one in given["chat_history"])
            message = ChatMessage(role="assistant", content="Noted.", additional_kwargs={"seen": seen})
            return ChatResponse(message=message)

        def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[Any]:
            return []

    agent = FunctionAgent(tools=[], llm=Echo(max_tokens=None), streaming=False)
    memories: dict[str, HindsightMemory] = {}

    async def ask(user: str, text: str) -> str:
        arguments: dict[str, Any] = {}
        if setup.url:
            if user not in memories:
                memories[user] = HindsightMemory.from_url(
                    setup.url, user, chat_history_limit=2, retain_async=setup.background
                )
            arguments["memory"] = memories[user]
        result: Any = await agent.run(text, **arguments)
        return str(result.response.additional_kwargs["seen"])

    async def flush() -> int:
        return sum([await memory.aflush(FLUSH_SECONDS) for memory in memories.values()])

    return Agents(ask, flush)


def langchain_agents(setup: Setup) -> Agents:
    """One agent with a middleware, for all users."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    from hindsight_langchain import HindsightMiddleware

    class Echo(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "echo"

        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            seen = "\n".join(str(one.content) for one in messages)
            message = AIMessage("Noted.", response_metadata={"seen": seen})
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            await think(setup)
            return self._generate(messages)

    middleware: list[Any] = []
    flush = nothing_waits
    if setup.url:
        memory = HindsightMiddleware(hindsight_api_url=setup.url, retain_async=setup.background)
        middleware.append(memory)
        flush = partial(memory.aflush, FLUSH_SECONDS)
    agent: Any = create_agent(Echo(), middleware=middleware)

    async def ask(user: str, text: str) -> str:
        config = {"configurable": {"user_id": user, "thread_id": f"{user}-talk"}}
        result = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
        return str(result["messages"][-1].response_metadata["seen"])

    return Agents(ask, flush)


FRAMEWORKS: dict[str, Callable[[Setup], Agents]] = {
    "haystack": haystack_agents,
    "llamaindex": llamaindex_agents,
    "langchain": langchain_agents,
}


@dataclass
class Talk:
    """Seconds of each turn without the model's; requests with another user's secret; how many lack their own."""

    seconds: list[float] = field(default_factory=list)
    crossings: list[str] = field(default_factory=list)
    without_own: int = 0


async def converse(ask: Ask, *, users: list[str], turns: int, at_once: bool, spread: float = 0.0) -> Talk:
    """Let the users talk, one after the other, or all at once with first turns over ``spread`` seconds."""
    talk = Talk()

    async def one(user: str) -> None:
        if at_once:
            await asyncio.sleep(spread * users.index(user) / len(users))
        for turn in range(turns):
            text = (
                f"My secret word is {user}-secret, turn {turn}." if turn == 0 else f"What is my secret word? ({turn})"
            )
            seen, seconds = await timed(ask, user, text)
            talk.seconds.append(seconds)
            found = set(re.findall(r"(\w+)-secret", seen))
            talk.without_own += user not in found
            if others := found - {user}:
                talk.crossings.append(f"{user}, turn {turn}: {sorted(others)}")

    if at_once:
        await asyncio.gather(*map(one, users))
    else:
        for user in users:
            await one(user)
    return talk


async def stored_wrong(url: str, users: list[str], turns: int) -> list[str]:
    """Users whose document does not hold each of their turns once and nothing else."""
    client = Hindsight(base_url=url)
    wrong = []
    for user in users:
        documents = (await client.documents.list_documents(user)).items
        texts = [(await client.documents.get_document(user, one.id)).original_text or "" for one in documents]
        text = "\n".join(texts)
        asked = [text.count(f"({turn})") for turn in range(1, turns)]
        if len(documents) != 1 or asked != [1] * (turns - 1) or set(re.findall(r"(\w+)-secret", text)) != {user}:
            wrong.append(f"{user}: {len(documents)} documents, {asked}")
    await client.aclose()
    return wrong


def p95(values: list[float]) -> float:
    """The 95th percentile, in milliseconds."""
    return statistics.quantiles(values, n=20)[-1] * 1000


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One process of agents on one server."""

    framework: str
    users: int
    turns: int
    server: ServerProcess

    async def all(self, setup: Setup) -> bool:
        """All readings, each printed; whether the first meets the bar and no word crossed over."""
        queue = [f"{self.framework}alone{number}" for number in range(5)]
        quick = replace(setup, model_seconds=0.0)
        way = "background" if setup.background else "waiting"
        good = await self._one(f"{way}, one by one", quick, queue, at_once=False)
        kinds = [(f"all at once, a model of {setup.model_seconds:g} s", setup)] if setup.model_seconds else []
        kinds.append(("all at once, no pause", quick))
        for number, (kind, used) in enumerate(kinds):
            crowd = [f"{self.framework}crowd{number}x{user}" for user in range(self.users)]
            good = await self._one(f"{way}, {kind}", used, crowd, at_once=True) and good
        return good

    async def _one(self, what: str, setup: Setup, users: list[str], *, at_once: bool) -> bool:
        make = FRAMEWORKS[self.framework]
        conversing = partial(converse, users=users, at_once=at_once, spread=setup.model_seconds)
        own = time.process_time()
        without = (await conversing(make(replace(setup, url=None)).ask, turns=PLAIN_TURNS)).seconds
        plain, plain_cpu = statistics.median(without), (time.process_time() - own) / len(without)
        agents = make(setup)
        own, servers = time.process_time(), cpu_seconds(self.server.pid)
        talk = await conversing(agents.ask, turns=self.turns)
        await agents.flush()
        count = len(talk.seconds)
        own, servers = time.process_time() - own, cpu_seconds(self.server.pid) - servers
        wrong = await stored_wrong(self.server.url, users, self.turns)
        added = [one - plain for one in talk.seconds]
        print(
            f"{self.framework}, {what}: {len(users)} users x {self.turns} turns, crossings {len(talk.crossings)}, "
            f"stored wrong {len(wrong)}, own secret not shown {talk.without_own}; added p50 "
            f"{statistics.median(added) * 1000:.1f} ms, p95 {p95(added):.1f} ms; CPU a turn {own / count * 1000:.1f} "
            f"({plain_cpu * 1000:.1f}) ms, server {servers / count * 1000:.1f} ms; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        for one in [*talk.crossings, *wrong][:5]:
            print(f"  {one}")
        is_capacity = at_once and not setup.model_seconds
        return not talk.crossings and not wrong and (is_capacity or p95(added) <= BAR_MILLISECONDS)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far, from /proc (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--framework", choices=list(FRAMEWORKS))
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--model-seconds", type=float, default=5.0)
    parser.add_argument("--background", action="store_true")
    asked = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "local"}
        with ServerProcess(Path(folder), environment=environment) as server:
            for framework in [asked.framework] if asked.framework else FRAMEWORKS:
                run = Measurement(framework=framework, users=asked.users, turns=asked.turns, server=server)
                setup = Setup(url=server.url, background=asked.background, model_seconds=asked.model_seconds)
                good = asyncio.run(run.all(setup)) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
