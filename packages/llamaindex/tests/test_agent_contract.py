"""The contract of automatic memory, kept by every agent of the framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llamaindex_scripted import ScriptedLLM, react

from hindsight_adapter_core.testing.agent_contract import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_llamaindex import HindsightMemory

pytestmark = [
    # The framework's own: see test_agents.py.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


class TestFunctionAgent(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        llm = _script([_called(one) if isinstance(one, ToolCalls) else [one] for one in replies])
        return _under_test(FunctionAgent(tools=[FunctionTool.from_defaults(lookup)], llm=llm), llm, options)


class TestReActAgent(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        llm = _script([_acted(one) if isinstance(one, ToolCalls) else [react(one)] for one in replies])
        return _under_test(ReActAgent(tools=[FunctionTool.from_defaults(lookup)], llm=llm), llm, options)


class TestAgentWorkflow(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        llm = _script([_called(one) if isinstance(one, ToolCalls) else [one] for one in replies])
        inner = FunctionAgent(name="a", description="answers", tools=[FunctionTool.from_defaults(lookup)], llm=llm)
        return _under_test(AgentWorkflow(agents=[inner], root_agent="a"), llm, options)


def _script(replies: list[list[Any]]) -> ScriptedLLM:
    flat = [one for some in replies for one in some]
    return ScriptedLLM(*flat, *[flat[-1]] * 20)


def _called(calls: ToolCalls) -> list[ChatMessage]:
    made = [{"id": f"call-{key}", "name": "lookup", "arguments": {"key": key}} for key in calls.keys]
    return [ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": made})]


def _acted(calls: ToolCalls) -> list[str]:
    # ReAct calls one tool at a time.
    return [f'Thought: I need it.\nAction: lookup\nAction Input: {{"key": "{key}"}}' for key in calls.keys]


def _under_test(agent: Any, llm: ScriptedLLM, options: dict[str, Any]) -> AgentUnderTest:
    memory = HindsightMemory.from_defaults(**options)

    async def ask(text: str) -> str:
        return str(await agent.run(text, memory=memory))

    async def stream(text: str) -> str:
        handler = agent.run(text, memory=memory)
        pieces = [getattr(event, "delta", "") async for event in handler.stream_events()]
        await handler
        return "".join(pieces)

    return AgentUnderTest(
        flush=memory.flush,
        ask=ask,
        stream=stream,
        requests=lambda: ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts],
    )
