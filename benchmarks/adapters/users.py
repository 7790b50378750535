"""Fifty users of one process, twenty turns each, all at once: nobody sees another's memories, and what memory costs.

    python benchmarks/adapters/users.py [--framework haystack|llamaindex|langchain] [--users 50] [--turns 20]

A real server with the default embedding model, and real agents with a scripted model. Crossings: each request that a
model got must hold no other user's secret, and each bank its own turns, each once. Requests without the user's own
secret are counted beside it: asked the same question over and over, the question fills the ten memories that are
shown. The time that memory adds to a turn is a turn with memory less the median turn without. Users who all talk at
once, without a pause, wait for one another, so the figure for the bar comes from users who come one after the other;
that of the crowd is printed beside it. Exits with 1 on a crossing, or when the 95th percentile of the added time is
above 60 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight

from hindsight_server.testing.process import ServerProcess

BAR_MILLISECONDS = 60.0
#: ``ask(user, text)`` gives the words that the model was sent.
Ask = Callable[[str, str], Awaitable[str]]


def haystack_agents(url: str | None) -> Ask:
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

    hooks: dict[Any, Any] = {}
    if url:
        memory = HindsightMemoryHook(hindsight_api_url=url)
        hooks = {"before_run": [memory], "after_run": [memory]}
    agent = Agent(chat_generator=Echo(), hooks=hooks)

    async def ask(user: str, text: str) -> str:
        context = {"bank_id": user, "conversation_id": f"{user}-talk"}
        result = await agent.run_async(messages=[ChatMessage.from_user(text)], hook_context=context)
        return str(result["messages"][-1].meta["seen"])

    return ask


def llamaindex_agents(url: str | None) -> Ask:
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
            seen = "\n".join(one.content or "" for one in given["chat_history"])
            message = ChatMessage(role="assistant", content="Noted.", additional_kwargs={"seen": seen})
            return ChatResponse(message=message)

        def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[Any]:
            return []

    agent = FunctionAgent(tools=[], llm=Echo(max_tokens=None), streaming=False)
    memories: dict[str, HindsightMemory] = {}

    async def ask(user: str, text: str) -> str:
        arguments: dict[str, Any] = {}
        if url:
            if user not in memories:
                memories[user] = HindsightMemory.from_url(url, user, chat_history_limit=2)
            arguments["memory"] = memories[user]
        result: Any = await agent.run(text, **arguments)
        return str(result.response.additional_kwargs["seen"])

    return ask


def langchain_agents(url: str | None) -> Ask:
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

    memory: list[Any] = [HindsightMiddleware(hindsight_api_url=url)] if url else []
    agent: Any = create_agent(Echo(), middleware=memory)

    async def ask(user: str, text: str) -> str:
        config = {"configurable": {"user_id": user, "thread_id": f"{user}-talk"}}
        result = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
        return str(result["messages"][-1].response_metadata["seen"])

    return ask


FRAMEWORKS: dict[str, Callable[[str | None], Ask]] = {
    "haystack": haystack_agents,
    "llamaindex": llamaindex_agents,
    "langchain": langchain_agents,
}


@dataclass
class Talk:
    """Seconds of each turn, requests that held another user's secret, and the number of those without their own."""

    seconds: list[float] = field(default_factory=list)
    crossings: list[str] = field(default_factory=list)
    without_own: int = 0


async def converse(ask: Ask, users: list[str], turns: int, *, at_once: bool) -> Talk:
    """Let the users talk, all at once or one after the other."""
    talk = Talk()

    async def one(user: str) -> None:
        for turn in range(turns):
            text = (
                f"My secret word is {user}-secret, turn {turn}." if turn == 0 else f"What is my secret word? ({turn})"
            )
            began = time.perf_counter()
            seen = await ask(user, text)
            talk.seconds.append(time.perf_counter() - began)
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


async def measure(framework: str, users: int, turns: int, url: str) -> bool:
    make = FRAMEWORKS[framework]
    crowd = [f"{framework}{number}" for number in range(users)]
    queue = [f"{framework}alone{number}" for number in range(5)]
    bare = make(None)
    without = await plain_seconds(bare, turns)
    ask = make(url)
    crowded = await converse(ask, crowd, turns, at_once=True)
    alone = await converse(ask, queue, turns, at_once=False)
    crossings = [*crowded.crossings, *alone.crossings, *await stored_wrong(url, [*crowd, *queue], turns)]
    missed = crowded.without_own + alone.without_own
    added = p95([one - without for one in alone.seconds])
    crowd_added = p95([one - without for one in crowded.seconds])
    print(
        f"{framework}: {users} users x {turns} turns, crossings {len(crossings)}, own secret not shown {missed}; "
        f"a bare turn {without * 1000:.1f} ms; "
        f"added, p95: {added:.1f} ms one by one, {crowd_added:.0f} ms all at once "
        f"(median {statistics.median(crowded.seconds) * 1000:.0f} ms); load {os.getloadavg()[0]:.1f}"
    )
    for crossing in crossings[:5]:
        print(f"  {crossing}")
    return not crossings and added <= BAR_MILLISECONDS


async def plain_seconds(bare: Ask, turns: int) -> float:
    """The median turn without memory."""
    spent = []
    for turn in range(turns):
        began = time.perf_counter()
        await bare("nobody", f"What is my secret word? ({turn})")
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--framework", choices=list(FRAMEWORKS))
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--turns", type=int, default=20)
    asked = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "local"}
        with ServerProcess(Path(folder), environment=environment) as server:
            for framework in [asked.framework] if asked.framework else FRAMEWORKS:
                good = asyncio.run(measure(framework, asked.users, asked.turns, server.url)) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
