"""Task memory around runs, with real agents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llamaindex_scripted import ScriptedLLM, react

from hindsight_adapter_core import SettingsError
from hindsight_adapter_core.testing import AgentWithTasks, FakeHindsight, Reply, TaskContract, ToolCalls, check
from hindsight_llamaindex import HindsightMemory, HindsightTasks

pytestmark = [
    pytest.mark.feature("K9"),
    # The framework's own: see test_agents.py.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]


def called(calls: ToolCalls) -> ChatMessage:
    made = [{"id": f"call-{key}", "name": "check", "arguments": {"key": key}} for key in calls.keys]
    return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": made})


def test_it_takes_the_options_of_memory_and_says_them() -> None:
    tasks = HindsightTasks(bank_id="tasks", hindsight_api_url="http://127.0.0.1:9", budget="low", mission="Track tasks")
    assert tasks.explain()["budget"] == ("low", "argument")
    assert tasks.explain()["mission"] == ("Track tasks", "argument")
    with pytest.raises(SettingsError, match="HindsightTasks knows no buget"):
        HindsightTasks(bank_id="tasks", buget="low")


class TestFunctionAgent(TaskContract):
    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentWithTasks:
        llm = ScriptedLLM(*(self.reply(one) for one in replies))
        agent = self.made(llm)
        tasks = HindsightTasks(**options)

        async def ask(text: str, user_id: str, task_id: str | None) -> str:
            return str(await tasks.run(agent, text, user_id=user_id, task_id=task_id))

        return AgentWithTasks(
            ask=ask,
            requests=lambda: ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts],
        )

    def made(self, llm: ScriptedLLM) -> Any:
        return FunctionAgent(tools=[FunctionTool.from_defaults(check)], llm=llm)

    def reply(self, one: Reply) -> Any:
        return called(one) if isinstance(one, ToolCalls) else one


class TestReActAgent(TestFunctionAgent):
    def made(self, llm: ScriptedLLM) -> Any:
        return ReActAgent(tools=[FunctionTool.from_defaults(check)], llm=llm)

    def reply(self, one: Reply) -> Any:
        if isinstance(one, ToolCalls):
            return f'Thought: I need it.\nAction: check\nAction Input: {{"key": "{one.keys[0]}"}}'
        return react(one)


class TestAgentWorkflow(TestFunctionAgent):
    def made(self, llm: ScriptedLLM) -> Any:
        return AgentWorkflow(agents=[super().made(llm)])


async def test_beside_a_memory_the_snapshot_is_not_stored(server: FakeHindsight) -> None:
    tasks = HindsightTasks(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    agent = FunctionAgent(tools=[], llm=ScriptedLLM("Flask needs port 8001.", "8001."))
    await tasks.run(agent, "Which port does flask need?")
    memory = HindsightMemory.from_url(server.url, "ann")
    seen: list[Any] = []
    await tasks.run(agent, "And flask, which port was it?", memory=memory, on_event=seen.append)
    assert "<MEMORY_SNAPSHOT>" in agent.llm.prompts[1][-1].content
    assert server.texts("ann") == ["And flask, which port was it?", "8001."]
    assert seen


async def test_a_run_that_raises_closes_its_task_as_failed(server: FakeHindsight) -> None:
    tasks = HindsightTasks(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    agent = FunctionAgent(tools=[], llm=ScriptedLLM())
    with pytest.raises(Exception, match="pop from empty list"):
        await tasks.run(agent, "Deploy flask v2.3, please.")
    events = [fact.metadata["event"] for fact in server.banks["tasks"].facts]
    assert events == ["start", "tool_failure", "summary"]
    assert "the run failed" in server.texts("tasks")[1]
    assert not tasks.memory_of().open_tasks


@pytest.mark.parametrize("end", ["cancelled", "on_event"])
async def test_an_agent_does_not_work_on_when_its_caller_is_gone(server: FakeHindsight, end: str) -> None:
    began, finished = asyncio.Event(), asyncio.Event()

    async def wipe() -> str:
        """Wipe the disk."""
        began.set()
        await asyncio.sleep(0.3)
        finished.set()
        return "wiped"

    def on_event(event: Any) -> None:
        if end == "on_event" and began.is_set():
            raise RuntimeError("the browser is closed")

    call = {"id": "call-wipe", "name": "wipe", "arguments": {}}
    llm = ScriptedLLM(ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]}), "Done.")
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(async_fn=wipe, name="wipe")], llm=llm)
    tasks = HindsightTasks(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    run = asyncio.ensure_future(tasks.run(agent, "Wipe the disk of host-7.", on_event=on_event))
    await asyncio.wait_for(began.wait(), 10)
    if end == "cancelled":
        run.cancel()
    with pytest.raises((asyncio.CancelledError, RuntimeError)):
        await run
    asked = len(llm.prompts)
    await asyncio.sleep(0.6)
    assert len(llm.prompts) == asked
    assert not finished.is_set()


async def test_only_text_can_name_a_task(server: FakeHindsight) -> None:
    tasks = HindsightTasks(bank_id="tasks", user_id="ann", hindsight_api_url=server.url)
    with pytest.raises(SettingsError, match="user_msg must be text"):
        await tasks.run(FunctionAgent(tools=[], llm=ScriptedLLM("Ok.")), ChatMessage("Hello"))  # type: ignore[arg-type]
