"""The Haystack guide, as a reader would type it, against a real server.

Only two things differ from the guide: a scripted model stands in for the paid one, and the address is the test
server's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from hindsight_client import Hindsight

from hindsight_haystack import HindsightMemoryWrapper, configure, create_hindsight_tools, reset_config


@component
class ScriptedChatGenerator:
    """Stands in for ``OpenAIChatGenerator(model="gpt-4o-mini")``: plays given replies, keeps what it was sent."""

    def __init__(self, *replies: ChatMessage) -> None:
        self.replies = list(replies)
        self.seen: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, Any]:
        self.seen.append(list(messages))
        return {"replies": [self.replies.pop(0)]}


def says(text: str) -> ChatMessage:
    return ChatMessage.from_assistant(text)


def calls(tool: str, **arguments: str) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall(tool_name=tool, arguments=arguments, id=uuid4().hex)])


def tool_answers(result: dict[str, Any]) -> list[str]:
    return [message.tool_call_results[0].result for message in result["messages"] if message.tool_call_results]


@pytest.fixture(autouse=True)
def _clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID"):
        monkeypatch.delenv(name, raising=False)
    yield
    reset_config()


@pytest.fixture
def user_id() -> str:
    return f"user-{uuid4().hex[:8]}"


@pytest.mark.feature("H1")
def test_mode_one_the_agent_decides(server_url: str, user_id: str) -> None:
    client = Hindsight(base_url=server_url)
    tools = create_hindsight_tools(
        client=client,
        bank_id=user_id,
        mission="Track user preferences",
    )
    agent = Agent(
        chat_generator=ScriptedChatGenerator(
            calls("retain_memory", content="The user prefers dark mode"),
            says("I will remember that."),
            calls("recall_memory", query="Which display mode does the user prefer?"),
            says("You prefer dark mode."),
            calls("reflect_on_memory", query="Which mode does the user prefer?"),
            says("Dark."),
        ),
        tools=tools,
        system_prompt=(
            "You are a helpful assistant with long-term memory. Use retain_memory to store important facts. "
            "Use recall_memory to search memory before answering."
        ),
    )
    result = agent.run(messages=[ChatMessage.from_user("Remember that I prefer dark mode")])
    assert tool_answers(result) == ["Memory stored successfully."]
    assert result["messages"][-1].text == "I will remember that."

    result = agent.run(messages=[ChatMessage.from_user("Which mode do I prefer?")])
    assert "1. " in tool_answers(result)[0]
    assert "dark mode" in tool_answers(result)[0]

    result = agent.run(messages=[ChatMessage.from_user("What do you know about my taste?")])
    assert "dark mode" in tool_answers(result)[0]
    client.close()


@pytest.mark.feature("H3")
def test_mode_two_automatic_memory(server_url: str, user_id: str) -> None:
    client = Hindsight(base_url=server_url)
    toolset = HindsightMemoryWrapper(
        client=client,
        bank_id=user_id,
        mission="Track user preferences",
        auto_recall=True,
        auto_retain=True,
    )
    model = ScriptedChatGenerator(says("Noted."), says("You prefer dark mode."))
    agent = Agent(
        chat_generator=model,
        tools=toolset,
        system_prompt="You are a helpful assistant with long-term memory.",
    )
    toolset.run(agent, messages=[ChatMessage.from_user("I prefer dark mode")])
    toolset.run(agent, messages=[ChatMessage.from_user("Which mode do I prefer?")])
    first, second = (call[0].text or "" for call in model.seen)
    assert first == "You are a helpful assistant with long-term memory."
    assert second.startswith(first + "\n\nBelow are relevant memories from previous conversations:\n1. ")
    assert "I prefer dark mode" in second
    assert second.endswith("Use these memories to provide more personalized and contextual responses.")
    client.close()


@pytest.mark.feature("H2")
def test_tools_can_be_left_out(server_url: str, user_id: str) -> None:
    client = Hindsight(base_url=server_url)
    tools = create_hindsight_tools(
        client=client,
        bank_id=user_id,
        include_reflect=False,
    )
    assert [tool.name for tool in tools] == ["retain_memory", "recall_memory"]
    assert tools[1].invoke(query="anything") == "No relevant memories found."


@pytest.mark.feature("K1")
def test_global_configuration(server_url: str, user_id: str) -> None:
    configure(
        hindsight_api_url=server_url,
        api_key="your-api-key",
        budget="mid",
        tags=["source:haystack"],
        context="my-app",
        mission="Track user preferences",
    )
    tools = create_hindsight_tools(bank_id=user_id)
    retain, recall, _ = tools
    assert retain.invoke(content="The user lives in Berlin") == "Memory stored successfully."
    assert "Berlin" in recall.invoke(query="Where does the user live?")
    with Hindsight(base_url=server_url) as client:
        found = client.recall(bank_id=user_id, query="Where does the user live?")
    assert found.results[0].tags == ["source:haystack"]
    assert found.results[0].context == "my-app"


@pytest.mark.feature("H5")
def test_a_conversation_is_one_document_with_roles(server_url: str, user_id: str) -> None:
    toolset = HindsightMemoryWrapper(bank_id=user_id, hindsight_api_url=server_url, auto_recall=True, auto_retain=True)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(says("Berlin is lovely."), says("Noted."), says("In Berlin.")),
        tools=toolset,
    )
    history: list[ChatMessage] = []
    for text in ("I moved to Berlin", "My cat is called Minka", "Where do I live?"):
        history = toolset.run(agent, messages=[*history, ChatMessage.from_user(text)])["messages"]
    with Hindsight(base_url=server_url) as client:
        found = client.list_memories(bank_id=user_id, limit=50)
        recalled = client.recall(bank_id=user_id, query="Where do I live? Berlin")
    texts = [str(item) for item in found.items]
    assert sum("I moved to Berlin" in text for text in texts) == 1
    assert not any("Below are relevant memories" in text for text in texts)
    moved = next(result for result in recalled.results if "I moved to Berlin" in result.text)
    assert moved.metadata is not None
    assert (moved.metadata["role"], moved.metadata["source"]) == ("user", "haystack")
    assert len({result.document_id for result in recalled.results}) == 1


@pytest.mark.feature("K6")
def test_a_repeated_write_is_stored_once(server_url: str, user_id: str) -> None:
    toolset = HindsightMemoryWrapper(bank_id=user_id, hindsight_api_url=server_url)
    outcome = toolset.memory.retain("The code is 4711", append=True, document_id="d")
    toolset.memory.retain("The code is 4711", append=True, document_id="d", operation_id=outcome.operation_id)
    with Hindsight(base_url=server_url) as client:
        found = client.recall(bank_id=user_id, query="code 4711")
    assert len([result for result in found.results if "4711" in result.text]) == 1


def test_two_users_never_see_each_others_memories(server_url: str, user_id: str) -> None:
    mine = create_hindsight_tools(bank_id=user_id, hindsight_api_url=server_url)
    theirs = create_hindsight_tools(bank_id=f"{user_id}-other", hindsight_api_url=server_url)
    mine[0].invoke(content="My secret colour is red")
    assert "red" in mine[1].invoke(query="secret colour")
    assert theirs[1].invoke(query="secret colour") == "No relevant memories found."
