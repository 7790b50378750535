"""The agent contract with a graph of one's own: a recall node, a model, a tool node, a retain node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_scripted import ScriptedModel, calling
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from hindsight_adapter_core.testing import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from hindsight_langchain import create_recall_node, create_retain_node


def assistant(model: ScriptedModel, options: dict[str, Any]) -> Any:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def after(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else "retain"

    graph = StateGraph(MessagesState)
    graph.add_node("recall", create_recall_node(**options))
    graph.add_node("agent", answer)
    graph.add_node("tools", ToolNode([tool(lookup)]))
    graph.add_node("retain", create_retain_node(**options))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "agent")
    graph.add_conditional_edges("agent", after, ["tools", "retain"])
    graph.add_edge("tools", "agent")
    graph.add_edge("retain", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.feature("C3")
class TestGraphsKeepTheContract(AgentContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        model = ScriptedModel(
            *(
                calling(*(("lookup", {"key": key}) for key in reply.keys)) if isinstance(reply, ToolCalls) else reply
                for reply in replies
            )
        )
        graph = assistant(model, options)
        thread: Any = {"configurable": {"thread_id": str(id(model))}}

        async def ask(text: str) -> str:
            result = await graph.ainvoke({"messages": [HumanMessage(text)]}, thread)
            return str(result["messages"][-1].content)

        async def stream(text: str) -> str:
            said = []
            async for one, _ in graph.astream({"messages": [HumanMessage(text)]}, thread, stream_mode="messages"):
                said.append(str(one.content) if isinstance(one, AIMessage | AIMessageChunk) else "")
            return "".join(said)

        return AgentUnderTest(
            ask=ask,
            stream=stream,
            requests=lambda: ["\n".join(str(message.content) for message in prompt) for prompt in model.prompts],
        )


class TestGraphsInSyncCode(TestGraphsKeepTheContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentUnderTest:
        model = ScriptedModel(
            *(
                calling(*(("lookup", {"key": key}) for key in reply.keys)) if isinstance(reply, ToolCalls) else reply
                for reply in replies
            )
        )
        graph = assistant(model, options)
        thread: Any = {"configurable": {"thread_id": str(id(model))}}

        async def ask(text: str) -> str:
            return str(graph.invoke({"messages": [HumanMessage(text)]}, thread)["messages"][-1].content)

        async def stream(text: str) -> str:
            parts = graph.stream({"messages": [HumanMessage(text)]}, thread, stream_mode="messages")
            return "".join(str(one.content) for one, _ in parts)

        return AgentUnderTest(
            ask=ask,
            stream=stream,
            requests=lambda: ["\n".join(str(message.content) for message in prompt) for prompt in model.prompts],
        )
