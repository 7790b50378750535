"""One turn of a Haystack agent whose turns are remembered by themselves: python haystack_agent.py "message"."""

from __future__ import annotations

import os
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from scripted import MODEL, answer, told, turn

from hindsight_haystack import HindsightMemoryWrapper


@component
class ScriptedChatGenerator:
    """Answers from the memories in the system prompt."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, list[ChatMessage]]:
        *before, question = messages
        prompt = "\n".join(message.text or "" for message in before)
        return {"replies": [ChatMessage.from_assistant(answer(question.text or "", prompt))]}


@component
class ListeningChatGenerator:
    """Passes all on to another generator, and keeps what the model was shown before the user's message at first."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator
        self.prompt: str | None = None

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, list[ChatMessage]]:
        if self.prompt is None:
            self.prompt = "\n".join(message.text or "" for message in messages[:-1])
        replies: dict[str, list[ChatMessage]] = self.generator.run(messages=messages, tools=tools, **kwargs)
        return replies


def chat_generator() -> Any:
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedChatGenerator()
    return OpenAIChatGenerator(model=MODEL, api_base_url=os.environ.get("OPENAI_BASE_URL"))


def main() -> None:
    memory = HindsightMemoryWrapper(
        bank_id=os.environ["HINDSIGHT_BANK_ID"], auto_recall=True, auto_retain=True, max_recall_results=10
    )
    generator = ListeningChatGenerator(chat_generator())
    agent = Agent(chat_generator=generator, tools=memory, system_prompt="You are a helpful assistant.")
    with turn() as spoken:
        result = memory.run(agent, messages=[ChatMessage.from_user(told())])
        spoken.said(result["messages"][-1].text or "")
        spoken.recalled_from(generator.prompt or "")


if __name__ == "__main__":
    main()
