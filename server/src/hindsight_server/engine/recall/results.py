"""From ranked rows to the answer: floors, token budget, facts, what was asked along with them, and the trace."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.arms import ArmReport, floor_of, spans
from hindsight_server.engine.recall.cache import BankMoved, ViewCache
from hindsight_server.engine.recall.features import FIRST
from hindsight_server.engine.recall.fill import fitting
from hindsight_server.engine.recall.include import Includer
from hindsight_server.engine.recall.ranking import FirstPass
from hindsight_server.engine.recall.reranking import Ranked
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.types import (
    ArmStatus,
    ArmTrace,
    RankedEntry,
    RecallOutcome,
    RecallTrace,
    ScoredFact,
    Scores,
    TimeWindow,
    TracedWindow,
)
from hindsight_server.engine.recall.view import FACT_TYPES, Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.store import Store

_TRACED = 20  # lines of each arm's list in a trace
_OBSERVATION = FACT_TYPES.index("observation")


class ResultBuilder:
    """Builds the outcomes of recalls.

    Args:
        cache: reads the facts.
        store: where chunks and entities are.
        analyzer: counts tokens.
    """

    def __init__(self, cache: ViewCache, store: Store, analyzer: TextAnalyzer) -> None:
        self._cache = cache
        self._include = Includer(store, analyzer)

    async def build(self, run: Run, first: FirstPass, ranked: Ranked) -> RecallOutcome:
        """The outcome of a ranking."""
        query, scope = run.query, run.scope
        places, facts = await self._chosen(run, ranked)
        rows = ranked.rows[places]
        chunks = entities = sources = truncated = None
        if query.chunks_max_tokens is not None:
            chunks = await self._include.chunks(run.bank_id, facts, rows, scope, query.chunks_max_tokens)
        if query.entities_max_tokens is not None:
            entities = await self._include.entities(run.bank_id, scope, rows, query.entities_max_tokens)
        if query.source_facts is not None:
            sources, truncated = await self._include.source_facts(run.bank_id, facts, scope.tags, query.source_facts)
        results = _scored(facts, places, first, ranked)
        run.lap("results")
        return RecallOutcome(
            results=results,
            trace=await self._trace(run, first, ranked, places),
            chunks=chunks,
            entities=entities,
            source_facts=sources,
            source_facts_truncated=truncated,
            result_tokens=int(scope.view.tokens[rows].sum()),
        )

    async def _chosen(self, run: Run, ranked: Ranked) -> tuple[Int32Array, list[Fact]]:
        """Places in the ranking that make the answer, with their facts."""
        query, view = run.query, run.scope.view
        allowed = np.flatnonzero(_above_floors(run, ranked))
        rows = ranked.rows[allowed]
        superseding = query.prefer_observations and bool(np.any(view.fact_type[rows] == _OBSERVATION))
        # What an observation supersedes makes room for more, so look further.
        taken = fitting(view.tokens[rows].tolist(), query.max_tokens * (2 if superseding else 1))
        seqs = view.seq[rows[taken]].tolist()
        found = await self._cache.facts(run.bank_id, run.warm, view, seqs)
        if len(found) < len(seqs) and not run.repeated:
            raise BankMoved
        facts = {place: found[seq] for place, seq in zip(allowed[taken].tolist(), seqs, strict=True) if seq in found}
        if superseding:
            covered = {source for fact in facts.values() for source in fact.source_fact_ids}
            left = [place for place, fact in facts.items() if fact.fact_id not in covered]
            fit = fitting(view.tokens[ranked.rows[left]].tolist(), query.max_tokens)
            facts = {left[at]: facts[left[at]] for at in fit}
        return np.array(list(facts), np.int32), list(facts.values())

    async def _trace(self, run: Run, first: FirstPass, ranked: Ranked, places: Int32Array) -> RecallTrace:
        reports = (*first.reports, ranked.report)
        arms = [report.trace() for report in reports]
        if run.query.trace:
            arms = await self._with_lists(run, reports, arms)
        return RecallTrace(
            query=run.question.text,
            query_truncated=run.question.truncated,
            terms=run.question.terms,
            time_windows=_windows(run),
            arms=tuple(arms),
            degraded=tuple(arm.name for arm in arms if arm.status in (ArmStatus.FAILED, ArmStatus.LATE)),
            notes=_notes(run, reports, first),
            facts_visible=run.scope.size,
            candidates=len(first.rows),
            total_seconds=time.monotonic() - run.started,
            stage_seconds=dict(run.stages),
            features=_feature_rows(first, ranked, places) if run.query.trace else (),
        )

    async def _with_lists(self, run: Run, reports: Sequence[ArmReport], arms: Sequence[ArmTrace]) -> list[ArmTrace]:
        """The arms' traces with the heads of their lists."""
        view = run.scope.view
        heads = [view.seq[report.hits.rows[:_TRACED]].tolist() for report in reports]
        wanted = list(dict.fromkeys(seq for head in heads for seq in head))
        facts = await self._cache.facts(run.bank_id, run.warm, view, wanted)
        traced = []
        for report, head, arm in zip(reports, heads, arms, strict=True):
            lines = enumerate(zip(head, report.hits.scores.tolist(), strict=False), start=1)
            entries = (RankedEntry(facts[seq].fact_id, rank, score) for rank, (seq, score) in lines if seq in facts)
            traced.append(replace(arm, ranked=tuple(entries)))
        return traced


def _above_floors(run: Run, ranked: Ranked) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    floors = run.query.min_scores
    allowed = np.ones(len(ranked.rows), np.bool_)
    if floors.final is not None:
        allowed &= ranked.final >= floor_of(floors.final)
    if floors.reranker is not None:
        # A result that was not compared can't be shown to clear the floor.
        compared = np.full(len(ranked.rows), np.nan) if ranked.reranker is None else ranked.reranker
        allowed &= compared >= floor_of(floors.reranker)
    return allowed


def _scored(facts: Sequence[Fact], places: Int32Array, first: FirstPass, ranked: Ranked) -> tuple[ScoredFact, ...]:
    rows = ranked.rows[places].tolist()
    final = ranked.final[places].tolist()
    reranker = [math.nan] * len(rows) if ranked.reranker is None else ranked.reranker[places].tolist()
    raw: dict[str, dict[int, float]] = {"semantic": {}, "keyword": {}}
    brought: dict[int, tuple[str, ...]] = {}
    for report in first.reports:
        hits = report.hits.rows.tolist()
        if report.name in raw:
            raw[report.name] = dict(zip(hits, report.hits.scores.tolist(), strict=True))
        for row in hits:
            brought[row] = (*brought.get(row, ()), report.name)
    return tuple(
        ScoredFact(
            fact,
            Scores(
                final=final[at],
                reranker=None if math.isnan(reranker[at]) else reranker[at],
                semantic=raw["semantic"].get(row),
                keyword=raw["keyword"].get(row),
            ),
            brought.get(row, ()),
        )
        for at, (fact, row) in enumerate(zip(facts, rows, strict=True))
    )


def _notes(run: Run, reports: Sequence[ArmReport], first: FirstPass) -> tuple[str, ...]:
    notes = list(run.question.notes)
    for report in reports:
        if report.status in (ArmStatus.FAILED, ArmStatus.LATE):
            notes.append(f"The {report.name} arm was left out ({report.status.value}): {report.detail}.")
    if run.query.trace and first.skipped_terms:
        notes.append(f"In more than half the bank, therefore not searched: {', '.join(first.skipped_terms)}.")
    return tuple(notes)


def _windows(run: Run) -> tuple[TracedWindow, ...]:
    asked = run.question.times
    used = spans(run.scope, asked) if asked else []
    return tuple(
        TracedWindow(
            window=TimeWindow(start=_moment(span[0]), end=_moment(span[1])),
            phrase=one.phrase,
            source=one.source,
            event_memory_id=one.event_memory_id,
        )
        for one, span in zip(asked, used, strict=True)
    )


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if math.isfinite(seconds) else None


def _feature_rows(first: FirstPass, ranked: Ranked, places: Int32Array) -> tuple[dict[str, float], ...]:
    """The first features of the first results, rounded."""
    lines = first.features[ranked.places[places[:_TRACED]]]
    return tuple(dict(zip(FIRST, np.round(line, 4).tolist(), strict=True)) for line in lines)
