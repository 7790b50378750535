"""No memory crosses: two banks, two tags, two users, in each framework, through tools and through automatic memory."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Protocol

import pytest

SECRETS = {"ann": "The blue suitcase is in locker 17.", "ben": "The green suitcase is in locker 93."}
QUESTION = "Where is the suitcase?"


class Framework(Protocol):
    """One framework's two ways to a memory, reduced to storing a text and to what a question brings up."""

    def tool_retain(self, url: str, bank: str, text: str, tags: Sequence[str] = ()) -> None: ...

    def tool_recall(self, url: str, bank: str, query: str, tags: Sequence[str] = ()) -> str: ...

    def told(self, url: str, bank: str, text: str) -> None: ...

    def shown(self, url: str, bank: str, query: str) -> str: ...


def _tags(tags: Sequence[str]) -> dict[str, Any]:
    return {"tags": list(tags), "recall_tags": list(tags), "recall_tags_match": "any_strict"} if tags else {}


class Haystack:
    def _tools(self, url: str, bank: str, tags: Sequence[str]) -> list[Any]:
        from hindsight_haystack import create_hindsight_tools

        return create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **_tags(tags))

    def tool_retain(self, url: str, bank: str, text: str, tags: Sequence[str] = ()) -> None:
        assert self._tools(url, bank, tags)[0].invoke(content=text) == "Memory stored successfully."

    def tool_recall(self, url: str, bank: str, query: str, tags: Sequence[str] = ()) -> str:
        return str(self._tools(url, bank, tags)[1].invoke(query=query))

    def _run(self, url: str, bank: str, text: str) -> str:
        from haystack import component
        from haystack.components.agents import Agent
        from haystack.dataclasses import ChatMessage

        from hindsight_haystack import HindsightMemoryWrapper

        prompts: list[str] = []

        @component
        class Script:
            @component.output_types(replies=list[ChatMessage])
            def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, list[ChatMessage]]:
                prompts.append("\n".join(message.text or "" for message in messages))
                return {"replies": [ChatMessage.from_assistant("ok")]}

        memory = HindsightMemoryWrapper(bank_id=bank, hindsight_api_url=url, auto_recall=True, auto_retain=True)
        memory.run(Agent(chat_generator=Script(), tools=memory), messages=[ChatMessage.from_user(text)])
        return prompts[-1]

    def told(self, url: str, bank: str, text: str) -> None:
        self._run(url, bank, text)

    def shown(self, url: str, bank: str, query: str) -> str:
        return self._run(url, bank, query)


class LlamaIndex:
    def _tools(self, url: str, bank: str, tags: Sequence[str]) -> list[Any]:
        from hindsight_llamaindex import create_hindsight_tools

        return create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **_tags(tags))

    def tool_retain(self, url: str, bank: str, text: str, tags: Sequence[str] = ()) -> None:
        assert "Memory stored successfully." in str(self._tools(url, bank, tags)[0].call(content=text))

    def tool_recall(self, url: str, bank: str, query: str, tags: Sequence[str] = ()) -> str:
        return str(self._tools(url, bank, tags)[1].call(query=query))

    def told(self, url: str, bank: str, text: str) -> None:
        from llama_index.core.llms import ChatMessage

        from hindsight_llamaindex import HindsightMemory

        HindsightMemory.from_url(url, bank).put(ChatMessage(role="user", content=text))

    def shown(self, url: str, bank: str, query: str) -> str:
        from hindsight_llamaindex import HindsightMemory

        return "\n".join(str(message.content) for message in HindsightMemory.from_url(url, bank).get(query))


class LangChain:
    def _tools(self, url: str, bank: str, tags: Sequence[str]) -> list[Any]:
        from hindsight_langchain import create_hindsight_tools

        return create_hindsight_tools(bank_id=bank, hindsight_api_url=url, **_tags(tags))

    def tool_retain(self, url: str, bank: str, text: str, tags: Sequence[str] = ()) -> None:
        assert self._tools(url, bank, tags)[0].invoke({"content": text}) == "Memory stored successfully."

    def tool_recall(self, url: str, bank: str, query: str, tags: Sequence[str] = ()) -> str:
        return str(self._tools(url, bank, tags)[1].invoke({"query": query}))

    def _run(self, url: str, user: str, text: str) -> str:
        from langchain.agents import create_agent
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
        from langchain_core.outputs import ChatGeneration, ChatResult

        from hindsight_langchain import HindsightMiddleware

        prompts: list[str] = []

        class Script(BaseChatModel):
            @property
            def _llm_type(self) -> str:
                return "script"

            def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
                prompts.append("\n".join(str(message.text) for message in messages))
                return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])

        # One agent for all users: the bank is the user of each run.
        agent = create_agent(Script(), middleware=[HindsightMiddleware(hindsight_api_url=url)])
        agent.invoke({"messages": [HumanMessage(text)]}, config={"configurable": {"user_id": user}})
        return prompts[-1]

    def told(self, url: str, bank: str, text: str) -> None:
        self._run(url, bank, text)

    def shown(self, url: str, bank: str, query: str) -> str:
        return self._run(url, bank, query)


FRAMEWORKS = [
    pytest.param(Haystack(), id="haystack"),
    pytest.param(LlamaIndex(), id="llamaindex"),
    pytest.param(LangChain(), id="langchain"),
]


def _only(own: str, text: str) -> None:
    for owner, secret in SECRETS.items():
        assert (secret in text) == (owner == own), f"asked as {own}, saw: {text}"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_banks(server_url: str, framework: Framework) -> None:
    banks = {name: f"{name}-{uuid.uuid4()}" for name in SECRETS}
    for name, secret in SECRETS.items():
        framework.tool_retain(server_url, banks[name], secret)
    for name, bank in banks.items():
        _only(name, framework.tool_recall(server_url, bank, QUESTION))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_tags_of_one_bank(server_url: str, framework: Framework) -> None:
    bank = f"tags-{uuid.uuid4()}"
    for name, secret in SECRETS.items():
        framework.tool_retain(server_url, bank, secret, tags=[f"user:{name}"])
    for name in SECRETS:
        _only(name, framework.tool_recall(server_url, bank, QUESTION, tags=[f"user:{name}"]))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_users_of_automatic_memory(server_url: str, framework: Framework) -> None:
    users = {name: f"{name}-{uuid.uuid4()}" for name in SECRETS}
    for name, secret in SECRETS.items():
        framework.told(server_url, users[name], secret)
    for name, user in users.items():
        _only(name, framework.shown(server_url, user, QUESTION))
