"""The agent contract with Haystack's Agent and the memory hook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.tools import create_tool_from_function
from scripted import needs_haystack_3

from hindsight_adapter_core.testing import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_haystack import HindsightMemoryHook

pytestmark = needs_haystack_3


@component
class ScriptedModel:
    """Plays replies, tool calls of several keys included; streams when asked to."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.seen: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None) -> dict[str, Any]:
        reply = self._next(messages)
        if streaming_callback is not None and reply.text:
            streaming_callback(StreamingChunk(content=reply.text))
        return {"replies": [reply]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        reply = self._next(messages)
        if streaming_callback is not None and reply.text:
            await streaming_callback(StreamingChunk(content=reply.text))
        return {"replies": [reply]}

    def _next(self, messages: list[ChatMessage]) -> ChatMessage:
        reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(messages))
        if not isinstance(reply, ToolCalls):
            return ChatMessage.from_assistant(reply)
        calls = [ToolCall(tool_name="lookup", arguments={"key": key}, id=f"call-{key}") for key in reply.keys]
        return ChatMessage.from_assistant(tool_calls=calls)


@pytest.mark.feature("H3")
class TestAgentsKeepTheContract(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        model = ScriptedModel(replies)
        memory = HindsightMemoryHook(**options)
        agent = Agent(
            chat_generator=model,
            tools=[create_tool_from_function(lookup)],
            hooks={"before_run": [memory], "after_run": [memory]},
        )
        history: list[ChatMessage] = []

        async def ask(text: str, **more: Any) -> str:
            result = await agent.run_async(messages=[*history, ChatMessage.from_user(text)], **more)
            history[:] = result["messages"]
            return str(history[-1].text)

        async def stream(text: str) -> str:
            said: list[str] = []

            async def heard(chunk: StreamingChunk) -> None:
                said.append(chunk.content)

            await ask(text, streaming_callback=heard)
            return "".join(said)

        def requests() -> list[str]:
            return [
                "\n".join(
                    (message.text or "") + "".join(str(one.result) for one in message.tool_call_results)
                    for message in call
                )
                for call in model.seen
            ]

        return AgentUnderTest(ask=ask, stream=stream, requests=requests)
