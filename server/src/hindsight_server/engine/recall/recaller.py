"""The use case: one question to one bank."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial

import numpy as np

from hindsight_server.domain.errors import BadRequest
from hindsight_server.domain.fuzzy_tags import fuzzy_tags
from hindsight_server.domain.time import find_times
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.recall.arms import ArmReport, Hits, skipped
from hindsight_server.engine.recall.bank_settings import read_settings, without_arms
from hindsight_server.engine.recall.cache import BankMoved, ViewCache
from hindsight_server.engine.recall.caused import with_causes
from hindsight_server.engine.recall.cover import over_sessions
from hindsight_server.engine.recall.crossing import Crossing
from hindsight_server.engine.recall.events import EventFinder
from hindsight_server.engine.recall.exact import held
from hindsight_server.engine.recall.features import without_nan
from hindsight_server.engine.recall.gather import Gathered, Gatherer, guarded
from hindsight_server.engine.recall.model import load_weights
from hindsight_server.engine.recall.question import parse
from hindsight_server.engine.recall.ranking import FirstPass, Inputs, first_pass
from hindsight_server.engine.recall.repeats import RepeatFinder
from hindsight_server.engine.recall.reranking import (
    Compared,
    QueryWords,
    compare,
    final_order,
    rows_to_compare,
    word_weights,
)
from hindsight_server.engine.recall.results import ResultBuilder
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.scope import scope_of
from hindsight_server.engine.recall.settings import RecallSettings
from hindsight_server.engine.recall.types import ArmStatus, RecallOutcome, RecallQuery
from hindsight_server.engine.recall.view import Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.embedder import Embedder
from hindsight_server.ports.store import Store

_UNCROSSED = "{} facts are compared less exactly: their vectors for questions in other scripts are still being made."
# Of fewer rows the scope is made, and of fewer the first pass, about as quickly as a thread is reached and left.
_INLINE_ROWS = 20_000
_RANKED_INLINE = 2000
_COMPARED_INLINE = 200  # texts
_ORDERED = 10  # candidates that are as much work to order as an item


class Recaller:
    """Answers questions from what a bank holds.

    A question is parsed once; arms search side by side and none can spoil the others'; their candidates are ranked by
    one linear model, the best compared word by word; then the token budget is filled in rank order.
    `docs/explanation/recall.md` explains it.

    Args:
        store: the banks.
        embedder: encodes questions; while it still loads, a recall waits for most of its deadline.
        analyzer: makes search terms and counts tokens.
        clock: the time of questions that bring none.
        settings: memory bounds and weights.

    Raises:
        BadWeights: the weights file of the settings is not usable.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        analyzer: TextAnalyzer,
        clock: Clock,
        settings: RecallSettings | None = None,
    ) -> None:
        settings = settings or RecallSettings()
        self._store = store
        self._analyzer = analyzer
        self._clock = clock
        self._cache = ViewCache(
            store,
            max_bytes=settings.view_bytes,
            posting_bytes=settings.posting_bytes,
            vector_bytes=settings.vector_bytes,
        )
        self._crossing = Crossing(store, embedder, self._cache)
        self._gatherer = Gatherer(store, embedder, analyzer, self._cache)
        self._events = EventFinder(self._cache, analyzer)
        self._repeats = RepeatFinder(self._cache, analyzer)
        self._weights = load_weights(settings.weights)
        weights_file = settings.weights.name if settings.weights else "weights.json"
        self._results = ResultBuilder(self._cache, store, analyzer, weights_file)

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome:
        """Facts that answer the query, best first, within its token budget.

        Raises:
            InvalidInput: the query holds no word, or names an unknown fact type.
            BadRequest: a reranker floor where no reranker runs.
            BankNotFound: no such bank.

        Example:
            ``outcome = await recaller.recall("ann", RecallQuery(query="Where does Ann live?"))``
        """
        started = time.monotonic()
        try:
            return await self._recall(bank_id, query, started, repeated=False)
        except BankMoved:
            return await self._recall(bank_id, query, started, repeated=True)

    async def close(self) -> None:
        """Finish what is done in the background; before the store is closed."""
        await self._crossing.close()
        await self._cache.close()

    async def _recall(self, bank_id: str, query: RecallQuery, started: float, *, repeated: bool) -> RecallOutcome:
        question = parse(query, self._analyzer, find_times, query.query_timestamp or self._clock.now())
        warm, view = await self._cache.get(bank_id)
        ready = time.monotonic()
        lacking = await self._crossing.needed(bank_id, view, question.sought, ready + query.deadline_seconds)
        if lacking is not None:
            warm, view = await self._cache.get(bank_id)
            question = replace(question, notes=(*question.notes, *([_UNCROSSED.format(lacking)] if lacking else ())))
        settings, query = read_settings(warm.config, query)
        scoping = partial(scope_of, view, types=query.types, tags=query.tags, time=query.time_filter)
        inline = len(view) < _INLINE_ROWS and not fuzzy_tags(query.tags)
        scope = scoping() if inline else await asyncio.to_thread(scoping)
        await asyncio.sleep(0)  # a step of the loop ends
        run = Run(
            bank_id=bank_id,
            query=query,
            settings=settings,
            question=without_arms(question, settings.off),
            warm=warm,
            scope=scope,
            started=started,
            ready=ready,
            repeated=repeated,
        )
        _check(run)
        run.question = await self._events.resolve(run)
        run.lap("view")
        gathered = await self._gatherer.gather(bank_id, warm, view, run.question, run.until, strict=not repeated)
        finding = self._repeats.find(bank_id, warm, scope, question.text, gathered.postings)
        repeats, _ = await guarded("repeats", finding, run.until)
        run.lap("gather")
        inputs = replace(self._inputs(run, gathered), repeats=repeats)
        first = first_pass(inputs) if len(view) < _RANKED_INLINE else await asyncio.to_thread(first_pass, inputs)
        first = await with_causes(self._store, run, first)
        run.lap("search")
        await asyncio.sleep(0)
        exact = await self._exact_rows(run, first)
        compared, reranker = None, skipped("reranker", run.uncompared or "no word vectors")
        words = self._query_words(run, gathered, first)
        if words is not None:
            compared, reranker = await self._compare(run, first, words)
        ordering = partial(final_order, view, first, compared, self._weights, exact, question.now.timestamp())
        ranked = await offloaded(len(first.rows) // _ORDERED, ordering)
        if question.asks_for_many and scope.session is not None:
            ranked = over_sessions(ranked, scope.session)
        await asyncio.sleep(0)
        run.lap("rerank")
        return await self._results.build(run, first, replace(ranked, report=reranker))

    def _inputs(self, run: Run, gathered: Gathered) -> Inputs:
        return Inputs(
            scope=run.scope,
            question=run.question,
            postings=gathered.postings,
            exact_terms=gathered.exact_terms,
            vectors=gathered.vectors,
            crossed=gathered.crossed,
            entities=gathered.entities,
            space=gathered.space,
            min_scores=run.query.min_scores,
            limits=run.limits_to_fill(),
            weights=self._weights,
            until=run.until,
            missing={**gathered.missing, **run.settings.off},
        )

    async def _exact_rows(self, run: Run, first: FirstPass) -> Int32Array:
        """Rows of the exact arm; quotations are looked for in the texts."""
        exact, view = first.exact, run.scope.view
        if not len(exact.unsure):
            return exact.sure
        seqs = view.seq[exact.unsure].tolist()
        facts = await self._cache.facts(run.bank_id, run.warm, view, seqs)
        by_row = {row: facts[seq] for row, seq in zip(exact.unsure.tolist(), seqs, strict=True) if seq in facts}
        return np.concatenate([exact.sure, held(exact, by_row)])

    def _query_words(self, run: Run, gathered: Gathered, first: FirstPass) -> QueryWords | None:
        encoding = gathered.encoding
        tokens = encoding.tokens if encoding else None
        if run.query.min_scores.reranker is not None and encoding is not None and tokens is None:
            raise BadRequest(
                "min_scores.reranker needs a reranker, and there is none for the script of this query;"
                " use min_scores.final.",
                field="min_scores.reranker",
            )
        if run.uncompared or encoding is None or tokens is None or not tokens.words or not len(first.rows):
            return None
        stems = [self._analyzer.stem(word) for word in tokens.words]
        return QueryWords(encoding.space, tokens.vectors, word_weights(stems, first.rarity))

    async def _compare(self, run: Run, first: FirstPass, words: QueryWords) -> tuple[Compared | None, ArmReport]:
        """Compare the best candidates word by word; without their vectors the first pass's order stands."""
        began = time.monotonic()
        view = run.scope.view
        chosen = rows_to_compare(run.scope, first, run.limits.compared)
        seqs = view.seq[chosen.needed()].tolist()
        reading = self._cache.token_vectors(run.bank_id, run.warm, words.space, seqs)
        vectors, missing = await guarded("reranker", reading, run.until)
        if vectors is None or missing is not None:
            status, detail = missing or (ArmStatus.FAILED, "no word vectors")
            return None, ArmReport("reranker", status, detail=detail)
        comparing = partial(compare, view, first, chosen, words, vectors)
        compared = comparing() if len(vectors) < _COMPARED_INLINE else await asyncio.to_thread(comparing)
        if not np.any(compared.known):
            return None, skipped("reranker", "no candidate has word vectors")
        hits = Hits(chosen.rows, without_nan(compared.similarity.own[: len(chosen.rows)]))
        return compared, ArmReport("reranker", ArmStatus.OK, hits, time.monotonic() - began)


def _check(run: Run) -> None:
    if run.uncompared and run.query.min_scores.reranker is not None:
        raise BadRequest(
            f"min_scores.reranker needs a reranker, and {run.uncompared}, or use min_scores.final.",
            field="min_scores.reranker",
        )
