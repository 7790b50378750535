"""A chat generator that plays given replies: the model of these tests."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from haystack import component, default_from_dict, default_to_dict
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall

HAYSTACK_3 = "hooks" in inspect.signature(Agent.__init__).parameters
#: For what Haystack 2 does not have: hooks, prompt templates on an agent, async tools.
needs_haystack_3 = pytest.mark.skipif(not HAYSTACK_3, reason="Haystack 3 only")

Reply = str | tuple[str, str]


@component
class ScriptedChatGenerator:
    """Answers with the next of ``replies``: a text, or ``(tool name, argument text)`` for a tool call.

    What it was sent is in ``seen``. The last reply is repeated when the script is over.
    """

    def __init__(self, replies: list[Any] | None = None) -> None:
        self.replies = [tuple(reply) if isinstance(reply, list) else reply for reply in (replies or ["Noted."])]
        self.seen: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, Any]:
        reply: Reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(messages))
        if isinstance(reply, str):
            return {"replies": [ChatMessage.from_assistant(reply)]}
        name, argument = reply
        key = "content" if name == "retain_memory" else "query"
        call = ToolCall(tool_name=name, arguments={key: argument}, id=f"call-{len(self.seen)}")
        return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, replies=self.replies)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScriptedChatGenerator:
        return default_from_dict(cls, data)

    def system_texts(self, call: int = -1) -> list[str | None]:
        """The system messages of one call."""
        return [message.text for message in self.seen[call] if message.role.value == "system"]


def trust_this_module() -> None:
    """Haystack 3 loads classes of known modules only; these tests' own model is not among them."""
    if HAYSTACK_3:
        from haystack.core.serialization import allow_deserialization_module

        allow_deserialization_module("scripted")
