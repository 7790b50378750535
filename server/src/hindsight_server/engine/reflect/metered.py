"""One reflect's questions to the language model: counted, timed, and asked once more when one fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from hindsight_server.domain.errors import BadModelAnswer, ModelError, ModelUnavailable
from hindsight_server.engine.language import Answer, CallAbout, LanguageModel, Structured, ToolTurn
from hindsight_server.engine.reflect.types import ModelCall
from hindsight_server.ports.llm import Message, Schema, Tool, Usage

_log = logging.getLogger(__name__)

T = TypeVar("T", Answer, Structured, ToolTurn)


class MeteredModel:
    """Asks a model for one reflect.

    A question that the model did not answer is asked once more, besides the tries that `LanguageModel` makes. One that
    the provider refuses is not; prose and objects that can't be read are asked for twice by `LanguageModel` itself.
    """

    def __init__(self, model: LanguageModel, about: CallAbout) -> None:
        self._model = model
        self._about = about
        self.usage = Usage()
        self.calls: list[ModelCall] = []

    @property
    def name(self) -> str:
        return self._model.name

    async def turn(self, scope: str, messages: Sequence[Message], tools: Sequence[Tool], choice: str) -> ToolTurn:
        """One turn with tools."""
        ask = partial(self._model.tool_turn, messages, tools, about=self._about, choice=choice)
        return await self._twice(scope, ask, (ModelUnavailable, BadModelAnswer))

    async def complete(self, scope: str, messages: Sequence[Message]) -> Answer:
        """Prose."""
        return await self._twice(scope, lambda: self._model.complete(messages, about=self._about))

    async def structured(self, scope: str, messages: Sequence[Message], schema: Schema) -> Structured:
        """A JSON object."""
        return await self._twice(scope, lambda: self._model.structured(messages, schema, about=self._about))

    async def _twice(
        self, scope: str, ask: Callable[[], Awaitable[T]], again: tuple[type[ModelError], ...] = (ModelUnavailable,)
    ) -> T:
        try:
            return await self._once(scope, ask)
        except again as problem:
            _log.warning("reflect asks model %r once more (%s)", self._model.name, type(problem).__name__)
            return await self._once(scope, ask)

    async def _once(self, scope: str, ask: Callable[[], Awaitable[T]]) -> T:
        started = time.perf_counter()
        try:
            said = await ask()
        finally:
            self.calls.append(ModelCall(scope=scope, duration_seconds=time.perf_counter() - started))
        self.usage += said.usage
        return said
