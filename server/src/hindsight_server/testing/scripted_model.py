"""A provider of language models whose answers are written beforehand, for tests of anything that asks a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hindsight_server.ports.llm import ChatReply, ChatRequest, ToolRequest, Usage

Reply = ChatReply | Exception | str | Mapping[str, Any]
"""An answer, an error to raise, the text of an answer, or the JSON object of one."""


class ScriptedProvider:
    """Answers with the replies of a script, in order, or with what a function makes of each request.

    Args:
        script: the replies, or a function from a request to a reply.
        seconds: how long each answer takes.

    Attributes:
        requests: what was asked, in order.

    Raises of `chat`: an exception of the script; AssertionError when the script has ended.

    Example:
        >>> provider = ScriptedProvider([{"facts": []}])
        >>> (await provider.chat(ChatRequest(messages=()))).text
        '{"facts": []}'
    """

    model = "scripted"
    provider = "scripted"

    def __init__(self, script: Iterable[Reply] | Callable[[ChatRequest], Reply], *, seconds: float = 0.0) -> None:
        self._answer = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(script)
        self._seconds = seconds
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        if self._seconds:
            await asyncio.sleep(self._seconds)
        reply = self._answer(request) if self._answer else next(self._replies, None)
        if reply is None:
            raise AssertionError(f"the script has ended before request {len(self.requests)}")
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ChatReply):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return ChatReply(text=text, usage=Usage(input_tokens=10, output_tokens=5))

    async def prepare(self) -> None:
        """Nothing is loaded."""

    async def close(self) -> None:
        """Nothing is held."""


def tool_call(name: str, /, **arguments: Any) -> ChatReply:
    """A reply that calls one tool."""
    asked = ToolRequest(request_id=f"call_{name}", name=name, arguments=arguments, raw=json.dumps(arguments))
    return ChatReply(tool_requests=(asked,), usage=Usage(input_tokens=10, output_tokens=5))
