"""The reflect use case."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hindsight_server.domain.errors import BankNotFound, InvalidInput
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.language import check_schema
from hindsight_server.engine.reflect.extractive import ExtractiveReflector
from hindsight_server.engine.reflect.searches import Recaller
from hindsight_server.engine.reflect.types import Reasoning, ReflectOutcome, ReflectQuery
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.store import Store

if TYPE_CHECKING:
    from hindsight_server.engine.reflect.reasoned import ReasonedReflector


class Reflector:
    """Answers questions from what a bank holds: with a language model by a loop of searches, else by quotation.

    `docs/explanation/reflect.md` explains both.

    Args:
        reasoning: the language model and what it is told; None answers by quotation.

    Example:
        >>> outcome = await reflector.reflect("ann", ReflectQuery(query="Where does Ann live?"))
        >>> outcome.based_on[0].text
        'Ann: I moved to Oslo.'
    """

    def __init__(
        self,
        store: Store,
        recaller: Recaller,
        analyzer: TextAnalyzer,
        clock: Clock,
        reasoning: Reasoning | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._extractive = ExtractiveReflector(recaller, analyzer)
        self._reasoned: ReasonedReflector | None = None
        if reasoning is not None:
            from hindsight_server.engine.reflect.reasoned import ReasonedReflector

            self._reasoned = ReasonedReflector(store, recaller, analyzer, clock, reasoning)

    async def reflect(self, bank_id: str, asked: ReflectQuery) -> ReflectOutcome:
        """The answer with its evidence. An unknown bank is created, and holds no memories.

        Raises:
            InvalidInput: the question is blank, a fact type is unknown, or the response schema is none.
            ReflectFailed: the memories could not be searched, or the model gave no answer that can be used.
            ReflectTimedOut: the answer took too long.
            ModelError: the model did not answer, or its provider refuses.
        """
        question = clean_text(asked.query).strip()
        if not question:
            raise InvalidInput("query is blank; ask something.", field="query")
        if asked.response_schema is not None:
            await asyncio.to_thread(check_schema, asked.response_schema, "response_schema")
        await self._ensure(check_bank_id(bank_id))
        if self._reasoned is not None:
            return await self._reasoned.answer(bank_id, question, asked)
        return await self._extractive.answer(bank_id, question, asked)

    async def _ensure(self, bank_id: str) -> None:
        try:
            await self._store.get_bank(bank_id)
        except BankNotFound:
            await self._store.ensure_bank(bank_id, self._clock.now())
