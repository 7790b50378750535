"""Turns by their places, their neighbours as recall derives them, and the same rules in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from hindsight_server.domain.identity import ADAPTER_CONTEXTS, SESSION_GAP, named_session
from hindsight_server.engine.recall.neighbours import Int32Array, Keys, Neighbours, derive


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlace:
    """Where a turn stands.

    Args:
        document_id, turn_index: its document, and its position there, from 0.
        context: the item's context.
        timestamp: when it was said, aware; None without any time.
        tags, metadata: the item's.
    """

    document_id: str
    turn_index: int
    context: str | None = None
    timestamp: datetime | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def derived(places: Sequence[TurnPlace]) -> Neighbours:
    """What recall makes of turns stored in this order."""
    keys = Keys(
        document=_interned([place.document_id for place in places]),
        turn=np.array([place.turn_index for place in places], np.int32),
        context=_interned([place.context for place in places]),
        adapter=np.array([(place.context or "").casefold() in ADAPTER_CONTEXTS for place in places], np.bool_),
        explicit=_interned([named_session(place.tags, place.metadata) for place in places]),
        time=np.array([place.timestamp.timestamp() if place.timestamp else np.nan for place in places]),
    )
    rows = np.arange(len(places), dtype=np.int32)
    return derive(Neighbours.empty(), keys, np.ones(len(places), np.bool_), rows)


def derived_previous(places: Sequence[TurnPlace]) -> list[int | None]:
    """For each turn the position of the turn before it, or None."""
    return [None if row < 0 else int(row) for row in derived(places).previous]


def _interned(values: Sequence[str | None]) -> Int32Array:
    numbers = {value: number for number, value in enumerate(sorted({v for v in values if v is not None}))}
    return np.array([-1 if value is None else numbers[value] for value in values], np.int32)


def previous_by_rule(places: Sequence[TurnPlace]) -> list[int | None]:
    """For each turn the position, in `places`, of the turn before it, or None.

    Only the turns given count, in any order: leave out those that made no fact. No turn is before two others.
    """
    previous: list[int | None] = [None] * len(places)
    order = sorted(range(len(places)), key=lambda at: (places[at].document_id, places[at].turn_index))
    for before, at in pairwise(order):
        if places[before].document_id == places[at].document_id:
            previous[at] = before
    followed = set(previous)
    for before, at in _pairs_of_context(places):
        said_before, said = places[before].timestamp, places[at].timestamp
        # Of turns said at the same time none is known to be the first.
        if previous[at] is None and before not in followed and said_before != said and _within_gap(said_before, said):
            previous[at] = before
    return previous


def _pairs_of_context(places: Sequence[TurnPlace]) -> Iterator[tuple[int, int]]:
    """Each turn with the one said before it in the same context."""
    last: dict[str, int] = {}
    for at in _by_time(places):
        context = places[at].context
        if places[at].timestamp is not None and context and context.strip():
            if context in last:
                yield last[context], at
            last[context] = at


def _session_key(place: TurnPlace, *, turn_count: int) -> str | None:
    """The session of a turn, or None; one that begins with ``context:`` still has to be split at its pauses."""
    if named := named_session(place.tags, place.metadata):
        return named
    if turn_count > 1:
        return f"document:{place.document_id}"
    if place.timestamp and _tells_apart(place.context):
        return f"context:{place.context}"
    return None


def sessions_by_rule(places: Sequence[TurnPlace]) -> list[str | None]:
    """The session of each turn; a context is split wherever its turns pause for more than `SESSION_GAP`."""
    turn_counts = Counter(place.document_id for place in places)
    keys = [_session_key(place, turn_count=turn_counts[place.document_id]) for place in places]
    last_said: dict[str, datetime] = {}
    started: dict[str, datetime] = {}
    for at in _by_time(places):
        key, said = keys[at], places[at].timestamp
        if key is None or said is None or not key.startswith("context:"):
            continue
        if not _within_gap(last_said.get(key), said):
            started[key] = said
        last_said[key] = said
        keys[at] = f"{key}@{started[key].isoformat()}"
    return keys


def _within_gap(earlier: datetime | None, later: datetime | None) -> bool:
    """Whether two times of a context are close enough to be one conversation."""
    return earlier is not None and later is not None and timedelta(0) <= later - earlier <= SESSION_GAP


def _tells_apart(context: str | None) -> TypeGuard[str]:
    """Whether a context says which conversation a turn belongs to."""
    return context is not None and context.strip().casefold() not in (*ADAPTER_CONTEXTS, "")


def _by_time(places: Sequence[TurnPlace]) -> list[int]:
    """Positions in the order in which the turns were said; those without time first, otherwise as given."""

    def said(at: int) -> tuple[bool, float]:
        timestamp = places[at].timestamp
        return (timestamp is not None, timestamp.timestamp() if timestamp else 0.0)

    return sorted(range(len(places)), key=said)
