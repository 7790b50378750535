"""The agent contract with create_agent and its middleware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_scripted import HindsightMiddleware, ScriptedModel, calling, create_agent
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_adapter_core.testing import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup


@pytest.mark.feature("C2")
class TestAgentsKeepTheContract(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        model = ScriptedModel(
            *(
                calling(*(("lookup", {"key": key}) for key in reply.keys)) if isinstance(reply, ToolCalls) else reply
                for reply in replies
            )
        )
        agent = create_agent(
            model, [tool(lookup)], middleware=[HindsightMiddleware(**options)], checkpointer=InMemorySaver()
        )
        thread: Any = {"configurable": {"thread_id": str(id(model))}}

        async def ask(text: str) -> str:
            result = await agent.ainvoke({"messages": [HumanMessage(text)]}, thread)
            return str(result["messages"][-1].content)

        async def stream(text: str) -> str:
            said = []
            async for chunk, _ in agent.astream({"messages": [HumanMessage(text)]}, thread, stream_mode="messages"):
                said.append(str(chunk.content))
            return "".join(said)

        def requests() -> list[str]:
            return ["\n".join(str(message.content) for message in prompt) for prompt in model.prompts]

        return AgentUnderTest(ask=ask, stream=stream, requests=requests)
