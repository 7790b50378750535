"""The contract of automatic memory with the agents of LlamaIndex before workflows (0.11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent import FunctionCallingAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llamaindex_scripted import ScriptedLLM, react

from hindsight_adapter_core.testing.agent_contract import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_llamaindex import HindsightMemory


class TestReActAgent(AgentContract):
    kind: Any = ReActAgent

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        llm = ScriptedLLM(*(said for reply in replies for said in self.said(reply)), forever=True)
        memory = HindsightMemory.from_defaults(**options)
        agent = self.kind.from_tools([FunctionTool.from_defaults(lookup)], llm=llm, memory=memory)

        async def ask(text: str) -> str:
            return str(await agent.achat(text))

        async def stream(text: str) -> str:
            if self.kind is not ReActAgent:  # it has no streaming
                return await ask(text)
            response = await agent.astream_chat(text)
            return "".join([piece async for piece in response.async_response_gen()])

        return AgentUnderTest(
            flush=memory.flush,
            ask=ask,
            stream=stream,
            requests=lambda: ["\n".join(str(message.content) for message in prompt) for prompt in llm.prompts],
        )

    def said(self, reply: Reply) -> list[str | ChatMessage]:
        if isinstance(reply, ToolCalls):
            # ReAct calls one tool at a time.
            return [f'Thought: I need it.\nAction: lookup\nAction Input: {{"key": "{key}"}}' for key in reply.keys]
        return [react(reply)]


class TestFunctionCallingAgent(TestReActAgent):
    kind = FunctionCallingAgent

    def said(self, reply: Reply) -> list[str | ChatMessage]:
        if not isinstance(reply, ToolCalls):
            return [reply]
        made = [{"id": f"call-{key}", "name": "lookup", "arguments": {"key": key}} for key in reply.keys]
        return [ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": made})]
