"""The agent contract with LlamaIndex's agents and HindsightMemory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llamaindex_scripted import ScriptedLLM

from hindsight_adapter_core.testing import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_llamaindex import HindsightMemory

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


def played(reply: Reply) -> str | ChatMessage:
    if not isinstance(reply, ToolCalls):
        return reply
    calls = [{"id": f"call-{key}", "name": "lookup", "arguments": {"key": key}} for key in reply.keys]
    return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})


@pytest.mark.feature("L2")
class TestAgentsKeepTheContract(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        given = [played(reply) for reply in replies]
        llm = ScriptedLLM(*given, *([given[-1]] * 50))
        url, bank_id = options.pop("hindsight_api_url"), options.pop("bank_id")
        memory = HindsightMemory.from_url(url, bank_id, **options)
        agent = FunctionAgent(tools=[FunctionTool.from_defaults(lookup)], llm=llm)

        async def ask(text: str) -> str:
            return str(await agent.run(text, memory=memory))

        async def stream(text: str) -> str:
            handler = agent.run(text, memory=memory)
            said = [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream)]
            await handler
            return "".join(said)

        def requests() -> list[str]:
            return ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts]

        return AgentUnderTest(ask=ask, stream=stream, requests=requests)
