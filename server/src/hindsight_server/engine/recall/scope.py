"""Which facts a recall may see.

Filters come before ranking: what is hidden influences no score, not even how rare a word is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.fuzzy_tags import Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.types import TimeField, TimeFilter
from hindsight_server.engine.recall.view import FACT_TYPES, BankView, BoolArray, Float32Array, Int32Array, Int64Array

_RETIRED_TYPES = frozenset({"opinion"})


@dataclass(frozen=True, slots=True)
class Level:
    """One way of cutting the bank into texts for BM25: turns, pairs of turns, or sessions.

    Args:
        count: number of texts.
        lengths: length of each text in terms; for sessions, at the row that stands for it.
        mean_length: of the visible texts.
    """

    count: int
    lengths: Float32Array
    mean_length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The visible rows of a view, and the neighbours among them.

    Args:
        mask: which rows are visible; None when all are.
        size: number of visible rows.
        previous, following: neighbours, -1 where there is none or it is hidden; None when no row has any.
        session: for each row, a row that stands for its session (itself when it has none); None when no row has any.
        entity_uses: for each entity number, how many visible facts name it.
        tag_mask: which rows the tag filter alone lets through; None when it lets all through.
        tags: the tag filter, without fuzzy leaves.
        tag_meanings: for each fuzzy tag, those of the bank that it was taken for.
        hidden: for each filter given (``types``, ``tags``, ``time_filter``), how many facts it leaves out by itself.
    """

    view: BankView
    mask: BoolArray | None
    size: int
    previous: Int32Array | None
    following: Int32Array | None
    session: Int32Array | None
    turns: Level
    pairs: Level
    sessions: Level
    entity_uses: Int64Array
    tag_mask: BoolArray | None = None
    tags: TagFilter | None = None
    tag_meanings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hidden: Mapping[str, int] = field(default_factory=dict)

    def visible(self, rows: Int32Array) -> Int32Array:
        """Those of the rows that are visible."""
        return rows if self.mask is None else rows[self.mask[rows]]

    def rows(self) -> Int32Array:
        """All visible rows."""
        if self.mask is None:
            return np.arange(len(self.view), dtype=np.int32)
        return np.flatnonzero(self.mask).astype(np.int32)


def scope_of(
    view: BankView,
    *,
    types: tuple[str, ...] | None = None,
    tags: TagFilter | None = None,
    time: TimeFilter | None = None,
) -> Scope:
    """The scope of a query. Raises InvalidInput for an unknown fact type, or fuzzy tags beyond their limits."""
    meanings: Mapping[str, tuple[str, ...]] = {}
    if tags is not None and fuzzy_tags(tags):
        resolved = resolve(tags, _vocabulary(view))
        tags, meanings = resolved.tags, dict(resolved.meanings)
    masks = {"types": _type_mask(view, types), "tags": _tag_mask(view, tags), "time_filter": _time_mask(view, time)}
    given = {name: mask for name, mask in masks.items() if mask is not None}
    if not given:
        whole = view.memo.get("scope")
        if not isinstance(whole, Scope):
            whole = view.memo["scope"] = _scope(view, None if view.all_alive else view.alive)
        return whole
    return replace(
        _scope(view, np.logical_and.reduce([view.alive, *given.values()])),
        tag_mask=masks["tags"],
        tags=tags,
        tag_meanings=meanings,
        hidden={name: int(np.count_nonzero(view.alive & ~mask)) for name, mask in given.items()},
    )


def _scope(view: BankView, mask: BoolArray | None) -> Scope:
    if mask is not None and mask.all():
        mask = None
    size = len(view) if mask is None else int(np.count_nonzero(mask))
    lengths = view.length if mask is None else np.where(mask, view.length, np.float32(0))
    turns = Level(size, lengths, _mean(lengths, size))
    previous, following, pairs = _pairs(view, mask, turns)
    session, sessions = _sessions(view, turns)
    return Scope(
        view=view,
        mask=mask,
        size=size,
        previous=previous,
        following=following,
        session=session,
        turns=turns,
        pairs=pairs,
        sessions=sessions,
        entity_uses=_entity_uses(view, mask),
    )


def _pairs(view: BankView, mask: BoolArray | None, turns: Level) -> tuple[Int32Array | None, Int32Array | None, Level]:
    previous, following = _hide(view.neighbours.previous, mask), _hide(view.neighbours.following, mask)
    linked = np.flatnonzero(previous >= 0)
    if not linked.size:
        return None, None, turns
    lengths = turns.lengths.copy()
    lengths[linked] += turns.lengths[previous[linked]]
    if mask is not None:
        lengths[~mask] = 0
    return previous, following, Level(turns.count, lengths, _mean(lengths, turns.count))


def _sessions(view: BankView, turns: Level) -> tuple[Int32Array | None, Level]:
    session = view.neighbours.session
    alone = session < 0
    if not len(view) or alone.all():
        return None, turns
    session = np.where(alone, np.arange(len(view), dtype=np.int32), session)
    lengths = np.bincount(session, turns.lengths, minlength=len(view)).astype(np.float32)
    count = int(np.count_nonzero(lengths))
    return session, Level(count, lengths, _mean(lengths, count))


def _hide(neighbour: Int32Array, mask: BoolArray | None) -> Int32Array:
    """Links from visible rows to visible rows."""
    if mask is None or not len(neighbour):
        return neighbour
    return np.where((neighbour >= 0) & mask & mask[neighbour], neighbour, np.int32(-1))


def _entity_uses(view: BankView, mask: BoolArray | None) -> Int64Array:
    if mask is None:
        return np.bincount(view.entity_numbers)
    # All numbers keep their place, those of hidden facts with 0 uses.
    return np.bincount(view.entity_numbers, mask[view.entity_owners]).astype(np.int64)


def _mean(lengths: Float32Array, count: int) -> float:
    return max(float(lengths.sum()) / count, 1.0) if count else 1.0


def _type_mask(view: BankView, types: tuple[str, ...] | None) -> BoolArray | None:
    if not types:
        return None
    unknown = [name for name in types if name not in FACT_TYPES and name not in _RETIRED_TYPES]
    if unknown:
        allowed = ", ".join(FACT_TYPES)
        raise InvalidInput(f"types: {unknown[0][:40]!r} is no fact type; use {allowed}.", field="types")
    wanted = [name in types for name in FACT_TYPES]
    return None if all(wanted) else np.asarray(wanted)[view.fact_type]


def _tag_mask(view: BankView, tags: TagFilter | None) -> BoolArray | None:
    if tags is None:
        return None
    return view.buffers.passing_tagsets(tags)[view.tagset]


def _vocabulary(view: BankView) -> Vocabulary:
    known = view.memo.get("vocabulary")
    if not isinstance(known, Vocabulary):
        sets = view.buffers.tagsets.values
        used = np.unique(view.tagset[view.alive]).tolist()
        known = view.memo["vocabulary"] = Vocabulary({tag for number in used for tag in sets[number]})
    return known


def _time_mask(view: BankView, time: TimeFilter | None) -> BoolArray | None:
    if time is None or (time.window.start is None and time.window.end is None):
        return None
    start = time.window.start.timestamp() if time.window.start else -math.inf
    end = time.window.end.timestamp() if time.window.end else math.inf
    first = last = view.mentioned
    if time.on is TimeField.OCCURRED:
        first = np.where(np.isnan(view.start), view.mentioned, view.start)
        last = np.where(np.isnan(view.end), first, view.end)
    return (first <= end) & (last >= start)  # NaN compares false
