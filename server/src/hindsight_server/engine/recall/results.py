"""From ranked rows to the answer: the selected facts with their scores, what was asked along, and the trace."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.recall.arms import ArmReport
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.explain import Explainer
from hindsight_server.engine.recall.folding import MOST_COPIES
from hindsight_server.engine.recall.include import Includer
from hindsight_server.engine.recall.ranking import FirstPass
from hindsight_server.engine.recall.reranking import Ranked
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.selection import Selection, Selector
from hindsight_server.engine.recall.types import IncludedChunk, LeftOut, RecallOutcome, ScoredFact, Scores
from hindsight_server.engine.recall.view import Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.store import Store

_NONE = np.empty(0, np.int32)
_RESULTS = 4  # are as much work to put together as an item
_LEAST_FOR_CHUNKS = 10  # of the best facts give their chunks, also when max_tokens has no room for their texts


class ResultBuilder:
    """Builds the outcomes of recalls.

    Args:
        cache: reads the facts.
        store: where chunks and entities are.
        analyzer: counts tokens.
        weights_file: name of the file that the weights are from, for the trace.
    """

    def __init__(self, cache: ViewCache, store: Store, analyzer: TextAnalyzer, weights_file: str) -> None:
        self._selector = Selector(cache)
        self._include = Includer(store, analyzer, cache)
        self._explainer = Explainer(cache, weights_file)

    async def build(self, run: Run, first: FirstPass, ranked: Ranked) -> RecallOutcome:
        """The outcome of a ranking."""
        query, scope = run.query, run.scope
        selection = await self._selector.select(run, ranked)
        await asyncio.sleep(0)  # a step of the loop ends
        rows = ranked.rows[selection.places]
        facts = await self._include.with_visible_names(run.bank_id, scope, selection.facts, rows)
        chunks = entities = sources = truncated = None
        if query.chunks_max_tokens is not None:
            chunks = await self._chunks(run, ranked, selection, query.chunks_max_tokens)
        if query.entities_max_tokens is not None:
            entities = await self._include.entities(run, rows, query.entities_max_tokens)
        if query.source_facts is not None:
            sources, truncated = await self._include.source_facts(run.bank_id, facts, scope.tags, query.source_facts)
        scored = await offloaded(len(facts) // _RESULTS, partial(_scored, facts, selection.places, first, ranked))
        results = await self._with_copies(run, ranked, selection, scored)
        run.lap("results")
        return RecallOutcome(
            results=results,
            trace=await self._explainer.trace(run, first, ranked, selection),
            chunks=chunks,
            entities=entities,
            source_facts=sources,
            source_facts_truncated=truncated,
            result_tokens=int(scope.view.tokens[rows].sum()),
            listed_tokens=selection.tokens,
            truncated=selection.truncated,
        )

    async def _with_copies(
        self, run: Run, ranked: Ranked, selection: Selection, results: tuple[ScoredFact, ...]
    ) -> tuple[ScoredFact, ...]:
        """The results, each with the facts that it stands for."""
        if not selection.copies:
            return results
        shown = {place: copies[:MOST_COPIES] for place, copies in selection.copies.items()}
        facts = await self._selector.read(run, ranked, np.concatenate(list(shown.values())))

        def with_copies() -> tuple[ScoredFact, ...]:
            return tuple(
                replace(
                    result,
                    copies=tuple(facts[copy] for copy in shown.get(place, _NONE).tolist() if copy in facts),
                    proof_count=result.fact.proof_count + len(selection.copies.get(place, _NONE)),
                )
                for place, result in zip(selection.places.tolist(), results, strict=True)
            )

        return await offloaded(len(results), with_copies)

    async def _chunks(
        self, run: Run, ranked: Ranked, selection: Selection, max_tokens: int
    ) -> tuple[IncludedChunk, ...]:
        """Chunks have a budget of their own: those of the best facts come also when their texts did not fit."""
        cut = selection.left_out[LeftOut.BUDGET][: max(0, _LEAST_FOR_CHUNKS - len(selection.places))]
        facts = dict(zip(selection.places.tolist(), selection.facts, strict=True))
        facts |= await self._selector.read(run, ranked, cut)
        places = np.array(sorted(facts), np.int32)
        ordered = [facts[place] for place in places.tolist()]
        return await self._include.chunks(run.bank_id, ordered, ranked.rows[places], run.scope, max_tokens)


def _scored(facts: Sequence[Fact], places: Int32Array, first: FirstPass, ranked: Ranked) -> tuple[ScoredFact, ...]:
    rows = ranked.rows[places].tolist()
    final = ranked.final[places].tolist()
    reranker = [math.nan] * len(rows) if ranked.reranker is None else ranked.reranker[places].tolist()
    raw = {report.name: _scores_of(report) for report in first.reports}
    return tuple(
        ScoredFact(
            fact,
            Scores(
                final=final[at],
                reranker=None if math.isnan(reranker[at]) else reranker[at],
                semantic=raw["semantic"].get(row),
                keyword=raw["keyword"].get(row),
            ),
            tuple([name for name, found in raw.items() if row in found]),
        )
        for at, (fact, row) in enumerate(zip(facts, rows, strict=True))
    )


def _scores_of(report: ArmReport) -> dict[int, float]:
    """The arm's own score of each row that it brought."""
    return dict(zip(report.hits.rows.tolist(), report.hits.scores.tolist(), strict=True))
