"""Task memory by the hook, with real agents."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from scripted import ScriptedChatGenerator, needs_haystack_3

from hindsight_adapter_core import SettingsError
from hindsight_adapter_core.tasks import TaskOptions
from hindsight_adapter_core.testing import AgentWithTasks, FakeHindsight, Reply, TaskContract, ToolCalls, check
from hindsight_haystack import HindsightTaskHook

pytestmark = [needs_haystack_3, pytest.mark.feature("K9")]

CHECK = Tool(
    name="check",
    description="Check whether something works.",
    parameters={"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    function=check,
)


def agent_with(hook: HindsightTaskHook, *replies: Any) -> Agent:
    return Agent(
        chat_generator=ScriptedChatGenerator(list(replies)),
        tools=[CHECK],
        system_prompt="Be brief.",
        hooks={"before_run": [hook], "after_tool": [hook], "after_run": [hook]},
    )


class TestTasks(TaskContract):
    asynchronous = False

    def agent(self, replies: Sequence[Reply], **options: Any) -> AgentWithTasks:
        scripted = [
            [("check", {"key": key}) for key in one.keys] if isinstance(one, ToolCalls) else one for one in replies
        ]
        agent = agent_with(HindsightTaskHook(**options), *scripted)

        async def ask(text: str, user_id: str, task_id: str | None) -> str:
            arguments: dict[str, Any] = {
                "messages": [ChatMessage.from_user(text)],
                "hook_context": {"user_id": user_id, "task_id": task_id},
            }
            if self.asynchronous:
                result = await agent.run_async(**arguments)
            else:
                result = await asyncio.to_thread(agent.run, **arguments)
            assert not any("MEMORY_SNAPSHOT" in (message.text or "") for message in result["messages"])
            return str(result["messages"][-1].text)

        return AgentWithTasks(
            ask=ask,
            requests=lambda: [
                "\n".join(message.text or "" for message in prompt) for prompt in agent.chat_generator.seen
            ],
        )


class TestTasksAsync(TestTasks):
    asynchronous = True


def dumped(hook: HindsightTaskHook) -> HindsightTaskHook:
    """Saved in a pipeline, as users do, and loaded without any allow-list."""
    pipeline = Pipeline()
    agent = Agent(chat_generator=OpenAIChatGenerator(), hooks={"before_run": [hook], "after_run": [hook]})
    pipeline.add_component("agent", agent)
    text = pipeline.dumps()
    assert "SECRET123" not in text
    loaded: HindsightTaskHook = Pipeline.loads(text).get_component("agent").hooks["after_run"][0]
    return loaded


@pytest.mark.parametrize("again", [dumped, copy.deepcopy, lambda hook: pickle.loads(pickle.dumps(hook))])
def test_it_is_saved_without_the_key(again: Any, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    hook = HindsightTaskHook(
        bank_id="b",
        user_id="ann",
        hindsight_api_url=server.url,
        api_key="SECRET123",
        task_options=TaskOptions(timezone="Asia/Shanghai", end_phrases=("over and out",)),
    )
    assert b"SECRET123" not in pickle.dumps(hook)
    twin = again(hook)
    agent_with(twin, "Noted.").run(messages=[ChatMessage.from_user("Water the plants at noon.")])
    assert server.texts("b")[0] == "Water the plants at noon."
    assert twin._runs.options.timezone == "Asia/Shanghai"
    assert tuple(twin._runs.options.end_phrases) == ("over and out",)


def test_what_cannot_be_saved_is_named() -> None:
    hook = HindsightTaskHook(bank_id="b", task_options=TaskOptions(time_limit=timedelta(hours=1)))
    with pytest.raises(SettingsError, match="time_limit cannot be saved"):
        hook.to_dict()


def test_a_run_without_a_user_is_not_remembered(server: FakeHindsight, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_with(HindsightTaskHook(bank_id="b", hindsight_api_url=server.url), "Noted.")
    assert agent.run(messages=[ChatMessage.from_user("Water the plants.")])["messages"][-1].text == "Noted."
    assert server.requests_for("retain") == []
    assert "no user" in caplog.text
