"""A chat model that plays given replies and keeps the prompts it saw, and what skips a test without langchain."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

try:
    from langchain.agents import create_agent

    from hindsight_langchain import HindsightMiddleware
except ImportError:

    def create_agent(*_: Any, **__: Any) -> Any:
        """langchain-core alone has no agents: tests that make one are skipped."""
        pytest.skip("needs langchain")

    HindsightMiddleware = create_agent  # type: ignore[assignment,misc]

__all__ = ["HindsightMiddleware", "ScriptedModel", "calling", "create_agent"]

Reply = str | AIMessage | Callable[[list[BaseMessage]], AIMessage]


def calling(*calls: tuple[str, dict[str, Any]], said: str = "") -> AIMessage:
    """A reply that calls tools: ``calling(("recall_memory", {"query": "theme"}))``."""
    return AIMessage(
        content=said,
        tool_calls=[
            {"name": name, "args": arguments, "id": f"call-{number}", "type": "tool_call"}
            for number, (name, arguments) in enumerate(calls)
        ],
    )


class ScriptedModel(BaseChatModel):
    """Plays ``replies`` one by one; the last one goes on for ever. ``prompts`` are copies of what it was asked."""

    _replies: list[Reply] = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *replies: Reply) -> None:
        super().__init__()
        self._replies = list(replies)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        return self._prompts

    @property
    def prompt(self) -> str:
        """All words of the newest prompt."""
        return "\n".join(str(message.content) for message in self._prompts[-1])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        with self._lock:
            self._prompts.append(copy.deepcopy(messages))
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if callable(reply):
            reply = reply(messages)
        message = AIMessage(content=reply) if isinstance(reply, str) else reply.model_copy()
        return ChatResult(generations=[ChatGeneration(message=message)])
