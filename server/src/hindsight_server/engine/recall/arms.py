"""The arms of a search: each brings its own ranked list, and none can spoil the others'."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from hindsight_server.engine.recall.groups import entity_of_names
from hindsight_server.engine.recall.question import AskedTime
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.types import ArmStatus, ArmTrace, TimeWindow
from hindsight_server.engine.recall.view import BankView, Float32Array, Float64Array, Int32Array

_log = logging.getLogger(__name__)

_ALWAYS_CONNECTS = 200  # facts; an entity of more than these, and of more than half the bank, connects nothing
SEEDS = 10
_YEARS_BACK = 10
_SAMPLE = 2048
_TOLD_LATER = 0.5
_CLOSE_SECONDS = 7 * 86400.0  # a fact is often told some days after it happened


@dataclass(frozen=True, slots=True)
class Hits:
    """Rows, best first, with the arm's own scores."""

    rows: Int32Array
    scores: Float32Array

    @classmethod
    def none(cls) -> Hits:
        return cls(np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(slots=True)
class ArmReport:
    """One arm's outcome: hits when it ran, else why not."""

    name: str
    status: ArmStatus
    hits: Hits = field(default_factory=Hits.none)
    seconds: float = 0.0
    detail: str | None = None

    def trace(self) -> ArmTrace:
        return ArmTrace(
            name=self.name,
            status=self.status,
            candidates=len(self.hits.rows),
            seconds=self.seconds,
            detail=self.detail,
        )


def run_arm(name: str, search: Callable[[], Hits], *, until: float) -> ArmReport:
    """Run one arm. Whatever goes wrong in it is logged and reported, never raised.

    Args:
        until: reading of `time.monotonic` after which it is not begun any more.
    """
    started = time.monotonic()
    if started > until:
        return ArmReport(name, ArmStatus.LATE, detail="no time was left")
    try:
        hits = search()
    except Exception as problem:  # whatever trips one arm, the others answer: any of them may hold what is asked
        _log.exception("Recall goes on without its %s arm", name)
        return ArmReport(name, ArmStatus.FAILED, detail=type(problem).__name__, seconds=time.monotonic() - started)
    return ArmReport(name, ArmStatus.OK, hits, time.monotonic() - started)


def skipped(name: str, reason: str) -> ArmReport:
    """An arm that has nothing to do for this question."""
    return ArmReport(name, ArmStatus.SKIPPED, detail=reason)


def floor_of(value: float) -> np.float32:
    """A floor to compare scores with; one beyond their range is infinite, so that nothing clears it."""
    with np.errstate(over="ignore"):
        return np.float32(value)


def best(scores: npt.NDArray[np.floating], count: int, floor: float | None = None) -> Hits:
    """The best rows of a score column, later facts first among equals. NaN is no hit, nor is 0 without a floor."""
    good = _likely(scores, count, floor)
    if good is None:
        good = np.flatnonzero(scores > 0 if floor is None else scores >= floor_of(floor))
    values = scores[good]
    if len(good) > count:
        top = values >= np.partition(values, len(values) - count)[len(values) - count]
        good, values = good[top], values[top]
    order = np.lexsort((-good, -values))[:count]
    return Hits(good[order].astype(np.int32), values[order].astype(np.float32))


def _likely(scores: npt.NDArray[np.floating], count: int, floor: float | None) -> npt.NDArray[np.intp] | None:
    """Rows among which the `count` best are, few of many; None when they can't be told so.

    A sample tells about where the cut lies; partitioning all scores would cost ten times as much.
    """
    if len(scores) <= _SAMPLE * 4 or not count:
        return None
    sample = scores[:: len(scores) // _SAMPLE]
    rank = min(len(sample), 2 * count * len(sample) // len(scores) + 8)
    cut = np.partition(-sample, rank - 1)[rank - 1] * -1  # NaN goes last
    if not (cut > 0 if floor is None else cut >= floor_of(floor)):
        return None
    likely = np.flatnonzero(scores >= cut)
    return likely if len(likely) >= count else None


def by_entities(scope: Scope, named: Int32Array, seeds: Int32Array, count: int) -> Hits:
    """Facts that share entities with the question and with the best facts so far.

    Each entity weighs by its rarity, fully when the question names it and half when only a seed does; weights are
    summed and squashed by tanh, as shared entities add ever less. An entity is the same under all its names.
    """
    view, uses = scope.view, scope.entity_uses
    of_seeds, entity_of = _of_seeds(view, seeds), entity_of_names(view, len(uses))
    if entity_of is not None:
        of_seeds, uses = entity_of[of_seeds], np.bincount(entity_of, uses)
    weights = np.zeros(len(uses), np.float32)
    weights[of_seeds] = 0.5
    weights[named[named < len(uses)]] = 1.0
    weights[uses > max(_ALWAYS_CONNECTS, scope.size // 2)] = 0.0
    chosen = np.flatnonzero(weights)
    rarest = np.log1p(max(scope.size, 1))
    weights[chosen] *= np.log1p(scope.size / np.maximum(uses[chosen], 1)) / rarest
    if entity_of is not None:
        weights = weights[entity_of]
    hit = np.flatnonzero((weights > 0).take(view.entity_numbers))
    owners = view.entity_owners[hit]
    if entity_of is not None:  # a fact that names an entity twice, by two names, shares it once
        pairs = owners.astype(np.int64) * (int(entity_of.max(initial=0)) + 1) + entity_of[view.entity_numbers[hit]]
        once = np.unique(pairs, return_index=True)[1]
        hit, owners = hit[once], owners[once]
    if scope.mask is not None:
        keep = scope.mask.take(owners)
        hit, owners = hit[keep], owners[keep]
    if not hit.size:
        return Hits.none()
    # The entities of a row stand together.
    starts = np.concatenate([[0], np.flatnonzero(owners[1:] != owners[:-1]) + 1])
    sums = np.add.reduceat(weights[view.entity_numbers[hit]], starts, dtype=np.float64)
    found = best(sums.astype(np.float32), count)
    return Hits(owners[starts[found.rows]], np.tanh(found.scores))


def _of_seeds(view: BankView, seeds: Int32Array) -> Int32Array:
    if not len(seeds):
        return np.empty(0, np.int32)
    return np.unique(np.concatenate([view.entities_of(int(row)) for row in seeds[:SEEDS]]))


Span = tuple[float, float]
"""Seconds since 1970, both ends included, open ones infinite."""


def spans(scope: Scope, times: Sequence[AskedTime]) -> list[Span]:
    """The times of a question as spans.

    A day or month without a year means the latest one that has facts, at most `_YEARS_BACK` years before the one that
    the words mean by themselves: "in May" is asked in November of a diary that ended two years ago.
    """
    view, found = scope.view, []
    mentioned = view.mentioned if scope.mask is None else view.mentioned[scope.mask]
    for time_asked in times:
        window = time_asked.window
        span = _span(window)
        if time_asked.yearless and window.start and window.end:
            years = range(_YEARS_BACK + 1)
            moved = (_span(TimeWindow(start=_back(window.start, y), end=_back(window.end, y))) for y in years)
            held = (one for one in moved if np.any((mentioned >= one[0]) & (mentioned <= one[1] + _CLOSE_SECONDS)))
            span = next(held, span)
        found.append(span)
    return found


def _span(window: TimeWindow) -> Span:
    return (
        window.start.timestamp() if window.start else -math.inf,
        window.end.timestamp() if window.end else math.inf,
    )


def _back(moment: datetime, years: int) -> datetime:
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=max(moment.year - years, 1), day=day)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How the times of rows lie to the times of a question, each 0-1.

    Args:
        told: 1 when the fact was mentioned inside a window. When in the week after it, and the fact has no time of its
            own elsewhere, 0.5, fading over the two weeks beyond; after an open window ("before 2020") 0.
        happened: the share of the fact's own time that lies inside a window; 0 for facts without one.
    """

    told: Float32Array
    happened: Float32Array

    @property
    def best(self) -> Float32Array:
        nearest: Float32Array = np.maximum(self.told * np.float32(0.9), self.happened)
        return nearest


def closeness(view: BankView, rows: Int32Array, windows: Sequence[Span]) -> Closeness:
    """Compare rows with windows, given in seconds since 1970."""
    told = np.zeros(len(rows), np.float32)
    happened = np.zeros(len(rows), np.float32)
    mentioned = view.mentioned[rows]
    start = view.start[rows]
    end = np.where(np.isnan(view.end[rows]), start, view.end[rows])
    for first, last in windows:
        overlap = np.minimum(end, last) - np.maximum(start, first)
        told = np.maximum(told, _told(mentioned, overlap, (first, last)))
        share = np.where(overlap >= 0, (overlap + 1.0) / (np.maximum(end - start, 0.0) + 1.0), 0.0)
        happened = np.maximum(happened, np.nan_to_num(share, nan=0.0).clip(0, 1).astype(np.float32))
    return Closeness(told, happened)


def _told(mentioned: Float64Array, overlap: Float64Array, window: Span) -> Float32Array:
    """How near to a window facts were told; `overlap` of their own time with it is negative when that lies outside."""
    first, last = window
    inside = (mentioned >= first) & (mentioned <= last)
    if math.isinf(first):
        return inside.astype(np.float32)
    late = np.maximum(mentioned - last - _CLOSE_SECONDS, 0.0)
    fading = np.maximum(1.0 - late / (2 * _CLOSE_SECONDS), 0.0) * ((mentioned > last) & ~(overlap < 0)) * _TOLD_LATER
    return np.where(inside, 1.0, np.nan_to_num(fading, nan=0.0)).astype(np.float32)


def by_time(scope: Scope, windows: Sequence[Span], relevance: Float32Array, count: int) -> Hits:
    """Facts told or happened in the windows; among equally close ones the more relevant first."""
    rows = scope.rows()
    near = closeness(scope.view, rows, windows).best
    hit = np.flatnonzero(near > 0)
    order = hit[np.lexsort((-rows[hit], -relevance[rows[hit]], -near[hit]))][:count]
    return Hits(rows[order], near[order])
