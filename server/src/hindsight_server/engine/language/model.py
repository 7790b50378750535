"""The three verbs: complete, structured, tool_turn."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelError, ModelTimedOut, ModelUnavailable
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.language.checking import load_library, problems, pruned
from hindsight_server.engine.language.reading import (
    has_reasoning,
    json_objects,
    readable_request,
    tool_requests_in,
    without_reasoning,
    without_reasoning_inside,
)
from hindsight_server.engine.language.types import (
    Answer,
    Attempt,
    CallAbout,
    ModelOptions,
    Recorder,
    Structured,
    ToolTurn,
    no_record,
)
from hindsight_server.engine.offload import MANY, offloaded
from hindsight_server.ports.llm import (
    BatchProvider,
    ChatProvider,
    ChatReply,
    ChatRequest,
    Message,
    Schema,
    Tool,
    Usage,
)

_LONGEST_REPEATED = 8_000
_ANSWER_CHARS = 500  # of an answer that are as much work to check as an item


class LanguageModel:
    """One model, asked with limits and retries.

    All verbs raise ModelUnavailable when the model does not answer and tries are used up, and ModelRefused when the
    provider refuses.

    Args:
        provider: what is asked.
        options: limits.
        record: told of every try, for the request log and the counters.

    Example:
        >>> model = LanguageModel(ScriptedProvider([ChatReply(text='{"city": "Oslo"}')]))
        >>> about = CallAbout(bank_id="ann", purpose="retain")
        >>> schema = Schema(name="place", schema={"type": "object"})
        >>> (await model.structured([Message(role="user", text="Where?")], schema, about=about)).value
        {'city': 'Oslo'}
    """

    def __init__(
        self, provider: ChatProvider, options: ModelOptions | None = None, record: Recorder = no_record
    ) -> None:
        self._provider = provider
        self._options = options or ModelOptions()
        self._record = record
        self._free = asyncio.Semaphore(self._options.max_concurrent)
        self._jitter = random.Random()

    @property
    def name(self) -> str:
        """The model's name, as its provider knows it."""
        return self._provider.model

    @property
    def max_concurrent(self) -> int:
        """Questions that it takes at the same time; more wait."""
        return self._options.max_concurrent

    @property
    def provider(self) -> str:
        """The name of its provider."""
        return self._provider.provider

    @property
    def batches(self) -> BatchProvider | None:
        """Where questions can be left to be answered later; None when its provider has no such thing."""
        return self._provider if isinstance(self._provider, BatchProvider) else None

    def question(self, messages: Sequence[Message], schema: Schema) -> ChatRequest:
        """What `structured` would send first."""
        return self._request(messages, None, schema)

    async def complete(self, messages: Sequence[Message], *, about: CallAbout, max_tokens: int | None = None) -> Answer:
        """Prose. `truncated` tells when the limit of tokens cut it off.

        Raises:
            BadModelAnswer: it is empty, the second time too.
            AnswerTooLong: nothing but reasoning was written before the limit of tokens.
        """
        request, used = self._request(messages, max_tokens), Usage()
        for _ in range(2):
            reply = await self._ask(request, about)
            used += reply.usage
            text = without_reasoning(reply.text)
            if text:
                return Answer(text=text, usage=used, truncated=reply.truncated)
            if reply.truncated:
                raise AnswerTooLong(f"Model '{self.name}' wrote nothing before the limit of tokens cut it off.")
        raise BadModelAnswer(f"Model '{self.name}' gave an empty answer, twice.")

    async def structured(
        self,
        messages: Sequence[Message],
        schema: Schema,
        *,
        about: CallAbout,
        max_tokens: int | None = None,
        given: ChatReply | None = None,
    ) -> Structured:
        """A JSON object that follows the schema; what does not is asked for once more, saying what is wrong.

        Properties that the schema does not allow are left out without asking.

        Args:
            given: the model's answer, when it was asked before; it is read as one of now would be.

        Raises:
            AnswerTooLong: it was cut off by the limit of tokens.
            BadModelAnswer: it does not follow the schema, the second time either.
        """
        request, used, wrong = self._request(messages, max_tokens, schema), Usage(), ""
        for repaired in (False, True):
            reply = await self._ask(request, about) if given is None else self._taken(request, about, given)
            given = None
            used += reply.usage
            size = MANY if schema.from_caller else len(reply.text) // _ANSWER_CHARS
            value, wrong = await offloaded(size, partial(_following, schema, reply, messages))
            if value is not None:
                return Structured(value=value, usage=used, repaired=repaired)
            if reply.truncated:
                raise AnswerTooLong(f"The answer of model '{self.name}' was cut off by the limit of tokens.")
            request = replace(request, messages=(*request.messages, *_repair(schema, reply, wrong)))
        raise BadModelAnswer(f"Model '{self.name}' gave no JSON object of schema '{schema.name}', twice: {wrong}.")

    async def tool_turn(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        *,
        about: CallAbout,
        choice: str = "auto",
        max_tokens: int | None = None,
    ) -> ToolTurn:
        """One turn with tools. `choice` is ``auto``, ``required`` or a tool's name; a model may ignore it.

        Requests may name tools that were not offered, and hold arguments of any kind: the caller tells the model.
        """
        request = replace(self._request(messages, max_tokens), tools=tuple(tools), tool_choice=choice)
        reply = await self._ask(request, about)
        text, asked = without_reasoning(reply.text), reply.tool_requests
        if not asked and text:
            asked = tool_requests_in(reply.text, {tool.name for tool in tools})
            text = "" if asked else text
        requests = tuple(map(readable_request, asked))
        message = Message(role="assistant", text=text, tool_requests=requests)
        return ToolTurn(text=text, requests=requests, message=message, usage=reply.usage, truncated=reply.truncated)

    async def prepare(self) -> None:
        """Load in threads what the first question and its answer need, so that they need not wait for it."""
        await self._provider.prepare()
        await asyncio.to_thread(load_library)

    async def close(self) -> None:
        await self._provider.close()

    def _request(
        self, messages: Sequence[Message], max_tokens: int | None, schema: Schema | None = None
    ) -> ChatRequest:
        options = self._options
        limits = [limit for limit in (max_tokens, options.max_tokens) if limit]
        return ChatRequest(
            messages=tuple(map(_clean, messages)),
            schema=schema,
            max_tokens=min(limits, default=None),
            temperature=options.temperature,
            timeout_seconds=options.timeout_seconds,
        )

    def _taken(self, request: ChatRequest, about: CallAbout, reply: ChatReply) -> ChatReply:
        """An answer of before, recorded as one that took no time."""
        now = time.time()
        about.spent.usage += reply.usage
        self._record(
            Attempt(
                about=about,
                provider=self.provider,
                model=self.name,
                began=now,
                ended=now,
                request=request,
                reply=reply,
            )
        )
        return reply

    async def _ask(self, request: ChatRequest, about: CallAbout) -> ChatReply:
        if about.within_seconds is None:
            return await self._tries(request, about)
        try:
            async with asyncio.timeout(about.within_seconds):
                return await self._tries(request, about)
        except TimeoutError:
            raise ModelTimedOut(f"Model '{self.name}' did not answer within {about.within_seconds:g} s.") from None

    async def _tries(self, request: ChatRequest, about: CallAbout) -> ChatReply:
        wait = self._options.backoff_seconds
        for attempt in range(self._options.max_retries + 1):
            try:
                async with self._free:
                    return await self._try(request, about)
            except ModelUnavailable as error:
                pause = error.retry_after if error.retry_after is not None else wait * (1 + self._jitter.random() / 4)
                if attempt == self._options.max_retries or pause > self._options.longest_wait_seconds:
                    raise
            await asyncio.sleep(pause)
            wait *= 2
        raise AssertionError("unreachable")

    async def _try(self, request: ChatRequest, about: CallAbout) -> ChatReply:
        """Ask once, and record it whatever becomes of it."""
        began = time.time()
        reply, error = None, "cancelled"
        try:
            async with asyncio.timeout(request.timeout_seconds):
                reply = await self._provider.chat(request)
            about.spent.usage += reply.usage
            return reply
        except TimeoutError:
            error = f"no answer within {request.timeout_seconds:g} s"
            raise ModelTimedOut(f"Model '{self.name}' gave {error}.") from None
        except ModelError as failure:
            error = str(failure)
            raise
        except Exception as failure:
            error = type(failure).__name__
            raise
        finally:
            self._record(
                Attempt(
                    about=about,
                    provider=self.provider,
                    model=self.name,
                    began=began,
                    ended=time.time(),
                    request=request,
                    reply=reply,
                    error=None if reply is not None else error,
                )
            )


def _clean(message: Message) -> Message:
    text = clean_text(message.text)
    return message if text is message.text else replace(message, text=text)


def _following(schema: Schema, reply: ChatReply, messages: Sequence[Message]) -> tuple[Mapping[str, Any] | None, str]:
    """The first object of an answer that follows the schema; else None, and what is wrong with the first one."""
    wrong = ""
    accepted = schema.schema if schema.accepted is None else schema.accepted
    for found in json_objects(reply.text):
        try:
            value = _cleaned(accepted, found, messages)
        except RecursionError:  # what reads JSON goes deeper than what looks through it
            return None, wrong or "its objects stand too deep within each other"
        complaints = problems(accepted, value, is_own=not schema.from_caller)
        if not complaints:
            return value, ""
        wrong = wrong or "; ".join(complaints)
    return None, wrong or "it holds no whole JSON object"


def _cleaned(accepted: Mapping[str, Any], found: Mapping[str, Any], messages: Sequence[Message]) -> Any:
    """An object without what the schema does not allow, and without reasoning."""
    value = pruned(accepted, found)
    # Reasoning within the values is dropped, unless the question itself is about such tags. Most values hold none, and
    # questions are long.
    thought = without_reasoning_inside(value)
    if thought != value and not any(has_reasoning(message.text) for message in messages):
        return thought
    return value


def _repair(schema: Schema, reply: ChatReply, wrong: str) -> tuple[Message, Message]:
    """The answer as it was, and the question for a better one."""
    said = without_reasoning(reply.text)[:_LONGEST_REPEATED] or "(nothing)"
    asked = (
        f"That answer can't be used: {wrong}. Answer again, with one JSON object alone that follows this schema:\n"
        f"{json.dumps(schema.schema, ensure_ascii=False)}"
    )
    return Message(role="assistant", text=said), Message(role="user", text=asked)
