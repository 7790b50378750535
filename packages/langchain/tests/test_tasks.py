"""Task memory by the middleware, with real agents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import ToolException, tool
from langchain_scripted import HindsightMiddleware, ScriptedModel, calling, create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from hindsight_adapter_core.testing import AgentWithTasks, FakeHindsight, Reply, TaskContract, ToolCalls, check

HindsightTaskMiddleware = pytest.importorskip("hindsight_langchain.tasks").HindsightTaskMiddleware
pytestmark = pytest.mark.feature("K9")


@tool("check")
def checking(key: str) -> str:
    """Check whether something works."""
    try:
        return check(key)
    except ValueError as error:
        raise ToolException(str(error)) from error


checking.handle_tool_error = True


def said_by_the_model(reply: Reply) -> Any:
    if isinstance(reply, ToolCalls):
        return calling(*(("check", {"key": key}) for key in reply.keys))
    return reply


class TestTasks(TaskContract):
    asynchronous = False

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentWithTasks:
        model = ScriptedModel(
            *(
                calling(*(("check", {"key": k}) for k in one.keys)) if isinstance(one, ToolCalls) else one
                for one in replies
            )
        )
        saver = InMemorySaver()
        agent = create_agent(model, [checking], middleware=[HindsightTaskMiddleware(**options)], checkpointer=saver)

        async def ask(text: str, user_id: str, task_id: str | None) -> str:
            config: Any = {"configurable": {"user_id": user_id, "task_id": task_id, "thread_id": text}}
            said = {"messages": [HumanMessage(text)]}
            if self.asynchronous:
                result = await agent.ainvoke(said, config)
            else:
                result = await asyncio.to_thread(agent.invoke, said, config)
            assert "MEMORY_SNAPSHOT" not in repr(saver.storage) + repr(saver.blobs), "checkpoints hold no memory"
            return str(result["messages"][-1].content)

        return AgentWithTasks(
            ask=ask,
            requests=lambda: ["\n".join(str(message.content) for message in prompt) for prompt in model.prompts],
        )


class TestTasksAsync(TestTasks):
    asynchronous = True


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_tool_that_ends_the_run_is_stored_as_a_failure(server: FakeHindsight, face: str) -> None:
    @tool
    def explode() -> str:
        """Explode."""
        raise RuntimeError("the disk of host-7 is full")

    model = ScriptedModel(calling(("explode", {})))
    middleware = HindsightTaskMiddleware(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    agent = create_agent(model, [explode], middleware=[middleware])
    said = {"messages": [HumanMessage("Rotate the logs of host-7.")]}
    with pytest.raises(RuntimeError, match="host-7 is full"):
        await (agent.ainvoke(said) if face == "async" else asyncio.to_thread(agent.invoke, said))
    events = [(fact.metadata["event"], fact.text) for fact in server.banks["tasks"].facts]
    assert events[1] == ("tool_failure", "the disk of host-7 is full")
    found = await middleware.memory_of().arecall("host-7")
    assert [item.anchor for item in found] == ["Rotate the logs of host-7: failed, the disk of host-7 is full"]
    assert found[0].closed


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_tool_that_asks_a_person_has_not_failed(server: FakeHindsight, face: str) -> None:
    @tool
    def ask_first(key: str) -> str:
        """Ask a person first."""
        return f"{interrupt('May I?')}: {key} was restarted"

    middleware = HindsightTaskMiddleware(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    model = ScriptedModel(calling(("ask_first", {"key": "host-7"})))
    agent = create_agent(model, [ask_first], middleware=[middleware], checkpointer=InMemorySaver())
    said, config = {"messages": [HumanMessage("Restart host-7.")]}, {"configurable": {"thread_id": "1"}}
    await (agent.ainvoke(said, config) if face == "async" else asyncio.to_thread(agent.invoke, said, config))
    assert [fact.metadata["event"] for fact in server.banks["tasks"].facts] == ["start"]


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_run_whose_user_cannot_be_told_goes_on(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture, face: str
) -> None:
    middleware = HindsightTaskMiddleware(bank_id="tasks", hindsight_api_url=server.url)
    agent = create_agent(ScriptedModel("Done."), [], middleware=[middleware])
    said, config = {"messages": [HumanMessage("Rotate the logs.")]}, {"configurable": {"user_id": ["ann", "bob"]}}
    result = await (agent.ainvoke(said, config) if face == "async" else asyncio.to_thread(agent.invoke, said, config))
    assert result["messages"][-1].content == "Done."
    assert "'user_id'] must be a string" in caplog.text
    assert server.requests == []


async def test_beside_the_memory_middleware(server: FakeHindsight) -> None:
    tasks = HindsightTaskMiddleware(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    memory = HindsightMiddleware(bank_id="ann", hindsight_api_url=server.url)
    model = ScriptedModel("Flask needs port 8001.", "Port 8001.")
    agent = create_agent(model, [], middleware=[memory, tasks])
    for text in ("Which port does flask need?", "Flask, which port was it?"):
        await agent.ainvoke({"messages": [HumanMessage(text)]})
    assert "<MEMORY_SNAPSHOT>" in model.prompt
    assert "MEMORY_SNAPSHOT" not in "".join(server.texts("ann") + server.texts("tasks"))
    assert len(server.texts("ann")) == 4
