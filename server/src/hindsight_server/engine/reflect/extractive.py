"""Reflect without a language model."""

from __future__ import annotations

import logging
import time

from hindsight_server.domain.errors import HindsightServerError, ReflectFailed
from hindsight_server.domain.model import Fact
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.recall.types import Budget, RecallOutcome, RecallQuery, ScoredFact
from hindsight_server.engine.reflect.answer import compose, opening, phrases_for
from hindsight_server.engine.reflect.searches import Recaller
from hindsight_server.engine.reflect.types import ReflectOutcome, ReflectQuery, ToolCall
from hindsight_server.ports.analyzer import TextAnalyzer

_log = logging.getLogger(__name__)

_EVIDENCE = {Budget.LOW: 6, Budget.MID: 10, Budget.HIGH: 16}  # facts cited at most
_WORTH_CITING = 0.1  # of the best fact's score; what lies further below it seldom answers the same question
_CLEAR_COSINE = 0.25  # two texts below it share no subject, in every space that is used here
_CLEAR_ARMS = {"exact", "keyword", "temporal"}  # the others bring what merely stands near
_SEARCH_TOKENS = 4096
_NEEDS_LLM = "Structured output needs a language model, and none is configured. The text holds the evidence."


class ExtractiveReflector:
    """Answers a question by quoting the memories that fit it best, each with its number and its dates.

    It never makes anything up: a failed search is an error, and "nothing found" is said only after a whole search.

    Example:
        >>> outcome = await extractive.answer("ann", "Where does Ann live?", ReflectQuery(query="Where does Ann live?"))
        >>> outcome.based_on[0].text
        'Ann: I moved to Oslo.'
    """

    def __init__(self, recaller: Recaller, analyzer: TextAnalyzer) -> None:
        self._recaller = recaller
        self._analyzer = analyzer

    async def answer(self, bank_id: str, question: str, asked: ReflectQuery) -> ReflectOutcome:
        """The answer with its evidence.

        Args:
            question: the words of the query, cleaned; its context is added here.

        Raises:
            InvalidInput: a fact type is unknown.
            ReflectFailed: the memories could not be searched.
        """
        words = with_context(question, asked)
        found, call = await self._search(bank_id, words, asked)
        degraded = found.trace.degraded
        evidence = _worth_citing(found, asked.budget)
        clear = any(_is_clear(hit) for hit in evidence)
        if not clear and degraded:
            raise ReflectFailed(
                f"Part of the search failed ({', '.join(degraded)}) and the rest found nothing that fits, so it can't "
                "be said whether there is an answer. Try again."
            )
        phrases = phrases_for(question)
        text: str = phrases.nothing
        cited: tuple[Fact, ...] = ()
        if evidence:
            facts = [hit.fact for hit in evidence]
            before = opening(phrases, clear=clear, degraded=degraded)
            text, cited = compose(before, facts, phrases, asked.max_tokens, self._analyzer.count_tokens)
        return ReflectOutcome(
            text=text,
            based_on=cited,
            tool_calls=(call,),
            structured_output_error=_NEEDS_LLM if asked.response_schema is not None else None,
        )

    async def _search(self, bank_id: str, words: str, asked: ReflectQuery) -> tuple[RecallOutcome, ToolCall]:
        query = RecallQuery(
            query=words,
            types=asked.fact_types,
            budget=asked.budget,
            max_tokens=_SEARCH_TOKENS,
            query_timestamp=asked.query_timestamp,
            tags=asked.tags,
        )
        started = time.perf_counter()
        try:
            found = await self._recaller.recall(bank_id, query)
        except HindsightServerError:
            raise
        except Exception as error:  # the boundary of a tool: its failure is told, not passed off as "nothing found"
            _log.exception("recall failed inside reflect, bank %r", bank_id)
            raise ReflectFailed(f"The memories could not be searched ({type(error).__name__}).") from error
        call = ToolCall(
            tool="recall",
            input={"query": words, "budget": asked.budget.value, "max_tokens": _SEARCH_TOKENS},
            output={"memories": [{"id": hit.fact.fact_id, "text": hit.fact.text} for hit in found.results]},
            duration_seconds=time.perf_counter() - started,
        )
        return found, call


def with_context(question: str, asked: ReflectQuery) -> str:
    """The question with the context that came with it."""
    return f"{question}\n\n{clean_text(asked.context)}".strip() if asked.context else question


def _worth_citing(found: RecallOutcome, budget: Budget) -> list[ScoredFact]:
    if not found.results:
        return []
    floor = found.results[0].scores.final * _WORTH_CITING
    return [hit for hit in found.results[: _EVIDENCE[budget]] if hit.scores.final >= floor]


def _is_clear(hit: ScoredFact) -> bool:
    """Whether a fact shares words, a time or a meaning with the question, and does not only stand near."""
    return not _CLEAR_ARMS.isdisjoint(hit.arms) or (hit.scores.semantic or 0.0) >= _CLEAR_COSINE
