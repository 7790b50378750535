"""The contract of automatic memory, with real Haystack agents: by the hook, and by the wrapper, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.tools import Tool
from scripted import ScriptedChatGenerator, needs_haystack_3

from hindsight_adapter_core.testing import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_haystack import HindsightMemoryHook, HindsightMemoryWrapper

LOOKUP = Tool(
    name="lookup",
    description="Look something up.",
    parameters={"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    function=lookup,
)


def scripted(replies: Sequence[Reply]) -> ScriptedChatGenerator:
    return ScriptedChatGenerator(
        [[("lookup", {"key": key}) for key in one.keys] if isinstance(one, ToolCalls) else one for one in replies]
    )


def words_of(messages: list[ChatMessage]) -> str:
    parts = [message.text or "" for message in messages]
    parts += [str(one.result) for message in messages for one in message.tool_call_results]
    return "\n".join(parts)


class Conversation:
    """Keeps the history between the turns, as an application does."""

    def __init__(self, agent: Agent, run: Any, run_async: Any, *, asynchronous: bool) -> None:
        self.agent = agent
        self.history: list[ChatMessage] = []
        self._run, self._run_async, self._asynchronous = run, run_async, asynchronous

    async def turn(self, text: str, **arguments: Any) -> str:
        messages = [*self.history, ChatMessage.from_user(text)]
        if self._asynchronous:
            result = await self._run_async(messages=messages, **arguments)
        else:
            result = await asyncio.to_thread(self._run, messages=messages, **arguments)
        self.history = result["messages"]
        return self.history[-1].text or ""

    async def stream(self, text: str) -> str:
        pieces: list[str] = []

        def keep(chunk: StreamingChunk) -> None:
            pieces.append(chunk.content)

        async def keep_async(chunk: StreamingChunk) -> None:
            pieces.append(chunk.content)

        await self.turn(text, streaming_callback=keep_async if self._asynchronous else keep)
        return " ".join(pieces)

    def under_test(self) -> AgentUnderTest:
        return AgentUnderTest(
            ask=self.turn,
            stream=self.stream,
            requests=lambda: [words_of(messages) for messages in self.agent.chat_generator.seen],
        )


@needs_haystack_3
@pytest.mark.feature("H6")
class TestHook(AgentContract):
    asynchronous = False

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        hook = HindsightMemoryHook(**options)
        agent = Agent(
            chat_generator=scripted(replies), tools=[LOOKUP], hooks={"before_run": [hook], "after_run": [hook]}
        )
        return Conversation(agent, agent.run, agent.run_async, asynchronous=self.asynchronous).under_test()


class TestHookAsync(TestHook):
    asynchronous = True


@pytest.mark.feature("H3")
class TestWrapper(AgentContract):
    asynchronous = False

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        wrapper = HindsightMemoryWrapper(auto_recall=True, auto_retain=True, **options)
        agent = Agent(chat_generator=scripted(replies), tools=[LOOKUP, *wrapper])
        return Conversation(
            agent,
            lambda **arguments: wrapper.run(agent, **arguments),
            lambda **arguments: wrapper.run_async(agent, **arguments),
            asynchronous=self.asynchronous,
        ).under_test()


@needs_haystack_3  # before, agents had no async streaming
class TestWrapperAsync(TestWrapper):
    asynchronous = True
