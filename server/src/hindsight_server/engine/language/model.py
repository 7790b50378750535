"""The three verbs: complete, structured, tool_turn."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelUnavailable
from hindsight_server.engine.language.reading import json_object, without_reasoning
from hindsight_server.engine.language.types import Answer, CallAbout, ModelOptions, Structured, ToolTurn
from hindsight_server.ports.llm import ChatProvider, ChatReply, ChatRequest, Message, Schema, Tool, Usage

_REPAIR = "That is no JSON object of the wanted schema. Answer again with the JSON object alone."


class LanguageModel:
    """One model, asked with limits and retries.

    All verbs raise ModelUnavailable when the model does not answer and tries are used up, and ModelRefused when the
    provider refuses.

    Example:
        >>> model = LanguageModel(ScriptedProvider([ChatReply(text='{"city": "Oslo"}')]))
        >>> about = CallAbout(bank_id="ann", purpose="retain")
        >>> schema = Schema(name="place", schema={"type": "object"})
        >>> (await model.structured([Message(role="user", text="Where?")], schema, about=about)).value
        {'city': 'Oslo'}
    """

    def __init__(self, provider: ChatProvider, options: ModelOptions | None = None) -> None:
        self._provider = provider
        self._options = options or ModelOptions()
        self._free = asyncio.Semaphore(self._options.max_concurrent)
        self._jitter = random.Random()

    @property
    def name(self) -> str:
        """The model's name, as its provider knows it."""
        return self._provider.model

    @property
    def provider(self) -> str:
        """The name of its provider."""
        return self._provider.provider

    async def complete(self, messages: Sequence[Message], *, about: CallAbout, max_tokens: int | None = None) -> Answer:
        """Prose. `truncated` tells when the limit of tokens cut it off."""
        reply = await self._ask(self._request(messages, max_tokens), about)
        return Answer(text=without_reasoning(reply.text), usage=reply.usage, truncated=reply.truncated)

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, about: CallAbout, max_tokens: int | None = None
    ) -> Structured:
        """A JSON object; what does not follow the schema is asked for once more.

        Raises:
            AnswerTooLong: it was cut off by the limit of tokens.
            BadModelAnswer: it can't be read, the second time too.
        """
        request = replace(self._request(messages, max_tokens), schema=schema)
        used = Usage()
        for repaired in (False, True):
            reply = await self._ask(request, about)
            used += reply.usage
            value = json_object(reply.text)
            if value is not None:
                return Structured(value=value, usage=used, repaired=repaired)
            if reply.truncated:
                raise AnswerTooLong(f"The answer of model '{self.name}' was cut off by the limit of tokens.")
            said = Message(role="assistant", text=without_reasoning(reply.text))
            request = replace(request, messages=(*request.messages, said, Message(role="user", text=_REPAIR)))
        raise BadModelAnswer(f"Model '{self.name}' gave no JSON object of schema '{schema.name}', twice.")

    async def tool_turn(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        about: CallAbout,
        choice: str = "auto",
        max_tokens: int | None = None,
    ) -> ToolTurn:
        """One turn with tools. `choice` is ``auto``, ``required`` or a tool's name; a model may ignore it."""
        request = replace(self._request(messages, max_tokens), tools=tuple(tools), tool_choice=choice)
        reply = await self._ask(request, about)
        text = without_reasoning(reply.text)
        message = Message(role="assistant", text=text, tool_requests=reply.tool_requests)
        return ToolTurn(
            text=text, requests=reply.tool_requests, message=message, usage=reply.usage, truncated=reply.truncated
        )

    async def close(self) -> None:
        await self._provider.close()

    def _request(self, messages: Sequence[Message], max_tokens: int | None) -> ChatRequest:
        options = self._options
        return ChatRequest(
            messages=tuple(messages),
            max_tokens=max_tokens or options.max_tokens,
            temperature=options.temperature,
            timeout_seconds=options.timeout_seconds,
        )

    async def _ask(self, request: ChatRequest, about: CallAbout) -> ChatReply:
        wait = self._options.backoff_seconds
        for attempt in range(self._options.max_retries + 1):
            try:
                async with self._free:
                    return await self._provider.chat(request)
            except ModelUnavailable as error:
                pause = error.retry_after if error.retry_after is not None else wait * (1 + self._jitter.random() / 4)
                if attempt == self._options.max_retries or pause > self._options.longest_wait_seconds:
                    raise
            await asyncio.sleep(pause)
            wait *= 2
        raise AssertionError("unreachable")
