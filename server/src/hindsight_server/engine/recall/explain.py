"""The trace of a recall: what each arm did, and why each of the first candidates is where it is."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.arms import ArmReport, spans
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.features import FIRST, SECOND
from hindsight_server.engine.recall.model import shortfall
from hindsight_server.engine.recall.ranking import FirstPass
from hindsight_server.engine.recall.reranking import Ranked
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.selection import Selection
from hindsight_server.engine.recall.types import (
    ArmStatus,
    ExplainedCandidate,
    RankedEntry,
    RecallTrace,
    TimeWindow,
    TracedWindow,
)

_LISTED = 20  # lines of each arm's list
_EXPLAINED = 50  # candidates
_DIGITS = 4


class Explainer:
    """Makes traces.

    Args:
        cache: reads the facts that are named.
        weights_file: name of the file that the weights are from.
    """

    def __init__(self, cache: ViewCache, weights_file: str) -> None:
        self._cache = cache
        self._weights_file = weights_file

    async def trace(self, run: Run, first: FirstPass, ranked: Ranked, selection: Selection) -> RecallTrace:
        """The trace; its lists only when the query asks for one."""
        reports = (*first.reports, ranked.report)
        arms = tuple(report.trace() for report in reports)
        left_out = {reason.value: len(places) for reason, places in selection.left_out.items() if len(places)}
        trace = RecallTrace(
            query=run.question.text,
            query_truncated=run.question.truncated,
            terms=run.question.terms,
            time_windows=_windows(run),
            arms=arms,
            degraded=tuple(arm.name for arm in arms if arm.status in (ArmStatus.FAILED, ArmStatus.LATE)),
            notes=_notes(run, reports, first),
            facts_visible=run.scope.size,
            hidden=run.scope.hidden,
            tag_meanings=run.scope.tag_meanings,
            candidates=len(first.rows),
            left_out=left_out,
            stage_seconds=dict(run.stages),
            weights_file=self._weights_file,
        )
        if run.query.trace:
            trace = await self._with_lists(trace, run, first, ranked, selection)
        return replace(trace, total_seconds=time.monotonic() - run.started)

    async def _with_lists(
        self, trace: RecallTrace, run: Run, first: FirstPass, ranked: Ranked, selection: Selection
    ) -> RecallTrace:
        reports = (*first.reports, ranked.report)
        view = run.scope.view
        heads = [view.seq[report.hits.rows[:_LISTED]].tolist() for report in reports]
        shown = view.seq[ranked.rows[:_EXPLAINED]].tolist()
        wanted = list(dict.fromkeys(seq for head in (*heads, shown) for seq in head))
        facts = await self._cache.facts(run.bank_id, run.warm, view, wanted)
        points = ranked.features @ ranked.weights
        attainable = float((points - shortfall(ranked.features, ranked.weights))[0]) if len(points) else 0.0
        return replace(
            trace,
            arms=tuple(
                replace(arm, ranked=_entries(report, head, facts))
                for report, head, arm in zip(reports, heads, trace.arms, strict=True)
            ),
            weights=_named(ranked.weights.tolist()),
            attainable=round(attainable, _DIGITS),
            explained=_explained(run, first, ranked, selection, facts),
        )


def _entries(report: ArmReport, head: Sequence[int], facts: Mapping[int, Fact]) -> tuple[RankedEntry, ...]:
    lines = enumerate(zip(head, report.hits.scores.tolist(), strict=False), start=1)
    return tuple(RankedEntry(facts[seq].fact_id, rank, score) for rank, (seq, score) in lines if seq in facts)


def _explained(
    run: Run, first: FirstPass, ranked: Ranked, selection: Selection, facts: Mapping[int, Fact]
) -> tuple[ExplainedCandidate, ...]:
    view = run.scope.view
    rows = ranked.rows[:_EXPLAINED]
    own = ranked.places[:_EXPLAINED]
    features, first_scores = ranked.features[own], first.scores[own].tolist()
    adds = features * ranked.weights
    added = {name: values[own].tolist() for name, values in ranked.boosts.items()}
    brought = _brought(first.reports, rows.tolist())
    reasons = {int(place): why for why, places in selection.left_out.items() for place in places if place < _EXPLAINED}
    lifted = set(ranked.exact.tolist())
    explained = []
    for place, (row, seq) in enumerate(zip(rows.tolist(), view.seq[rows].tolist(), strict=True)):
        if seq not in facts:
            continue
        boost = {name: round(values[place], _DIGITS) for name, values in added.items()}
        values, parts = _named(features[place].tolist()), _named(adds[place].tolist())
        explained.append(
            ExplainedCandidate(
                fact_id=facts[seq].fact_id,
                rank=place + 1,
                left_out=reasons.get(place),
                exact=row in lifted,
                first_score=round(first_scores[place], _DIGITS),
                score=round(float(adds[place].sum()) + sum(boost.values()), _DIGITS),
                final=float(ranked.final[place]),
                reranker=_reranker(ranked, place),
                arms=brought.get(row, {}),
                features={name: (value, parts.get(name, 0.0)) for name, value in values.items()},
                boosts=boost,
            )
        )
    return tuple(explained)


def _reranker(ranked: Ranked, place: int) -> float | None:
    value = math.nan if ranked.reranker is None else float(ranked.reranker[place])
    return None if math.isnan(value) else value


def _brought(reports: Sequence[ArmReport], rows: Sequence[int]) -> dict[int, dict[str, tuple[int, float]]]:
    """For each row, the rank and score in each arm that brought it."""
    wanted = set(rows)
    found: dict[int, dict[str, tuple[int, float]]] = {}
    for report in reports:
        lines = zip(report.hits.rows.tolist(), report.hits.scores.tolist(), strict=True)
        for rank, (row, score) in enumerate(lines, start=1):
            if row in wanted:
                found.setdefault(row, {})[report.name] = (rank, score)
    return found


def _named(values: Sequence[float]) -> dict[str, float]:
    """Values by the feature they belong to, those that are not 0."""
    return {name: round(value, _DIGITS) for name, value in zip(FIRST + SECOND, values, strict=False) if value}


def _notes(run: Run, reports: Sequence[ArmReport], first: FirstPass) -> tuple[str, ...]:
    notes = list(run.question.notes)
    for report in reports:
        if report.status in (ArmStatus.FAILED, ArmStatus.LATE):
            notes.append(f"The {report.name} arm was left out ({report.status.value}): {report.detail}.")
    if run.query.trace and run.question.asks_for_many and run.scope.session is not None:
        notes.append("The question asks for several things, so the first places are spread over sessions.")
    if run.query.trace and first.repeats is not None:
        notes.append(
            f"Stored questions that only repeat this one: {len(first.repeats.dropped) + len(first.repeats.kept)}. They"
            " count as one, and go beneath what may answer it."
        )
    if run.query.trace and first.skipped_terms:
        notes.append(f"In more than half the bank, therefore not searched: {', '.join(first.skipped_terms)}.")
    return tuple(notes)


def _windows(run: Run) -> tuple[TracedWindow, ...]:
    """The times of the question; when traced, as they were used (a month without a year in one that has facts)."""
    asked = run.question.times
    windows = [one.window for one in asked]
    if asked and run.query.trace:
        windows = [TimeWindow(start=_moment(first), end=_moment(last)) for first, last in spans(run.scope, asked)]
    return tuple(
        TracedWindow(window=window, phrase=one.phrase, source=one.source, event_memory_id=one.event_memory_id)
        for one, window in zip(asked, windows, strict=True)
    )


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if math.isfinite(seconds) else None
