"""A language model that plays given replies and keeps the prompts it saw, and what skips tests without agents."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

try:
    from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
except ImportError:

    def FunctionAgent(**_: Any) -> Any:
        """Before workflows there was no such agent: tests that make one are skipped."""
        pytest.skip("needs agents in workflows")

    ReActAgent = FunctionAgent

__all__ = ["FunctionAgent", "ReActAgent", "ScriptedLLM", "calling", "react"]


def react(answer: str) -> str:
    """A final reply as ReAct wants it."""
    return f"Thought: I can answer without using any more tools.\nAnswer: {answer}"


def calling(tool: str, said: str = "", **arguments: Any) -> ChatMessage:
    """A reply that calls a tool, as function calling models give it."""
    call = {"id": f"call-{tool}", "name": tool, "arguments": arguments}
    return ChatMessage(role="assistant", content=said, additional_kwargs={"tool_calls": [call]})


class ScriptedLLM(FunctionCallingLLM):
    """Plays ``replies`` one by one; ``prompts`` are copies of what it was asked, the newest last.

    Args:
        *replies: texts and messages.
        forever: give the last one again and again.
    """

    _replies: list[ChatMessage] = PrivateAttr()
    _prompts: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    _forever: bool = PrivateAttr()

    def __init__(self, *replies: str | ChatMessage, forever: bool = False) -> None:
        super().__init__()
        self._forever = forever
        self._replies = [
            one if isinstance(one, ChatMessage) else ChatMessage(role="assistant", content=one) for one in replies
        ]

    @property
    def prompts(self) -> list[list[ChatMessage]]:
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, model_name="scripted")

    def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self._prompts.append(copy.deepcopy(list(messages)))
        message = self._replies[0] if self._forever and len(self._replies) == 1 else self._replies.pop(0)
        return ChatResponse(message=message, delta=message.content or "")

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._next(messages)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._next(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        response = self._next(messages)

        def play() -> ChatResponseGen:
            yield response

        return play()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        response = self._next(messages)

        async def play() -> ChatResponseAsyncGen:
            yield response

        return play()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        raise NotImplementedError

    def _prepare_chat_with_tools(self, tools: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
        history = list(kwargs.get("chat_history") or [])
        if kwargs.get("user_msg") is not None:
            history.append(ChatMessage(role="user", content=str(kwargs["user_msg"])))
        return {"messages": history}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [ToolSelection(tool_id=one["id"], tool_name=one["name"], tool_kwargs=one["arguments"]) for one in calls]
