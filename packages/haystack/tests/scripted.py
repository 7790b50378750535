"""A chat generator that plays given replies: the model of these tests."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from haystack import component, default_from_dict, default_to_dict
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall

HAYSTACK_3 = "hooks" in inspect.signature(Agent.__init__).parameters
#: For what Haystack 2 does not have: hooks, prompt templates on an agent, async tools.
needs_haystack_3 = pytest.mark.skipif(not HAYSTACK_3, reason="Haystack 3 only")

Call = tuple[str, Any]
Reply = str | Call | list[Call]


def _arguments(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    return {"content" if name == "retain_memory" else "query": given}


def _chunks(answer: dict[str, Any]) -> list[StreamingChunk]:
    return [StreamingChunk(content=word) for word in (answer["replies"][0].text or "").split()]


@component
class ScriptedChatGenerator:
    """Answers with the next of ``replies``: a text, ``(tool name, argument)`` for a tool call, or a list of such pairs.

    An argument is a text, or all arguments as a dict.

    What it was sent is in ``seen``. The last reply is repeated when the script is over.
    """

    def __init__(self, replies: list[Any] | None = None) -> None:
        # A dump has made lists of the pairs.
        self.replies = [
            tuple(reply) if isinstance(reply, list) and isinstance(reply[0], str) else reply
            for reply in (replies or ["Noted."])
        ]
        self.seen: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        answer = self._answer(messages)
        for chunk in _chunks(answer) if streaming_callback else ():
            streaming_callback(chunk)
        return answer

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        answer = self._answer(messages)
        for chunk in _chunks(answer) if streaming_callback else ():
            await streaming_callback(chunk)
        return answer

    def _answer(self, messages: list[ChatMessage]) -> dict[str, Any]:
        reply: Reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(messages))
        if isinstance(reply, str):
            return {"replies": [ChatMessage.from_assistant(reply)]}
        pairs = [reply] if isinstance(reply, tuple) else reply
        calls = [
            ToolCall(tool_name=name, arguments=_arguments(name, given), id=f"call-{len(self.seen)}-{number}")
            for number, (name, given) in enumerate(pairs)
        ]
        return {"replies": [ChatMessage.from_assistant(tool_calls=calls)]}

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


@component
class ReadingChatGenerator:
    """Stands in for a paid model: it answers from the memories in its prompt, and calls tools as it is told to.

    "Remember ..." becomes a call of ``retain_memory``, a question one of ``recall_memory`` when there is such a tool
    and no memory in the prompt.
    """

    def __init__(self, model: str = "gpt-4o-mini", **others: Any) -> None:
        self.model = model
        self.others = others

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"replies": [self._reply(messages, {tool.name for tool in tools or ()})]}

    def _reply(self, messages: list[ChatMessage], tools: set[str]) -> ChatMessage:
        results = [str(one.result) for message in messages for one in message.tool_call_results]
        prompt = "\n".join([*(message.text or "" for message in messages[:-1]), *results])
        memories = re.findall(r"^\d+\. (.+)$", prompt, flags=re.MULTILINE)
        said = next(message.text or "" for message in reversed(messages) if message.is_from("user"))
        if results or memories or not tools:
            return ChatMessage.from_assistant("From memory: " + " / ".join(memories) if memories else "Noted.")
        wanted = "retain_memory" if said.startswith("Remember") else "recall_memory" if said.endswith("?") else ""
        if wanted not in tools:
            return ChatMessage.from_assistant("Noted.")
        call = ToolCall(tool_name=wanted, arguments=_arguments(wanted, said), id="call")
        return ChatMessage.from_assistant(tool_calls=[call])

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, model=self.model, **self.others)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ReadingChatGenerator:
        return default_from_dict(cls, data)
