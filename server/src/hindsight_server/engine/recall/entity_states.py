"""What else is known of the entities that results name: the newest visible memories of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_server.engine.recall.groups import entity_of_names
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import FACT_TYPES, Float64Array, Int32Array

_EACH = 3  # memories of an entity
_AGES = 1e12  # seconds; more than any two times lie apart
_OBSERVATION = FACT_TYPES.index("observation")


def newest_rows(scope: Scope, entities: Sequence[int], shown: Int32Array, max_tokens: int) -> dict[int, list[int]]:
    """For each entity, by number, rows that name it: observations first, then the most recently mentioned.

    One for each entity in turn, as long as their texts fit the budget; a row that several share stands with the first.

    Args:
        shown: rows that the answer holds already.
    """
    found: dict[int, list[int]] = {number: [] for number in entities}
    if not entities or max_tokens <= 0:
        return found
    which, rows, newest = _mentions(scope, entities, shown)
    tokens, taken = scope.view.tokens, set()
    left, least = max_tokens, int(tokens[rows].min(initial=max_tokens + 1))
    rows_of: dict[int, list[int]] = {number: [] for number in entities}
    for turn in range(_EACH):
        if left < least:
            break
        for _ in range((1, _EACH - 1, 0)[turn]):  # most budgets are used up by one of each
            for at, best in _last_of_each(which, newest, rows, len(entities)):
                if best not in rows_of[entities[at]]:  # two names of one entity in a fact
                    rows_of[entities[at]].append(best)
        for number in entities:
            row = rows_of[number][turn] if turn < len(rows_of[number]) else None
            if row is not None and row not in taken and tokens[row] <= left:
                found[number].append(row)
                taken.add(row)
                left -= int(tokens[row])
    return found


def _mentions(scope: Scope, entities: Sequence[int], shown: Int32Array) -> tuple[Int32Array, Int32Array, Float64Array]:
    """The visible mentions of entities: whose each is, by its place in `entities`; its row; how wanted it is."""
    view = scope.view
    size = max(int(view.entity_numbers.max(initial=0)), *entities) + 1
    place = np.full(size, -1, np.int32)
    place[list(entities)] = np.arange(len(entities), dtype=np.int32)
    entity_of = entity_of_names(view, size)
    names = view.entity_numbers
    which = place.take(names if entity_of is None else entity_of.take(names))
    seen = np.ones(len(view), np.bool_) if scope.mask is None else scope.mask.copy()
    seen[shown] = False
    hit = np.flatnonzero(which >= 0)
    hit = hit[seen[view.entity_owners[hit]]]
    rows, which = view.entity_owners[hit], which[hit]
    wanted = np.where(np.isnan(view.mentioned[rows]), -_AGES, view.mentioned[rows])
    wanted[view.fact_type[rows] == _OBSERVATION] += _AGES
    return which, rows, wanted


def _last_of_each(which: Int32Array, newest: Float64Array, rows: Int32Array, count: int) -> list[tuple[int, int]]:
    """The newest row of each group that has one; it is taken out of `newest`."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, which, newest)
    candidates = np.flatnonzero((newest == best[which]) & np.isfinite(newest))
    chosen = np.full(count, -1, np.int64)
    chosen[which[candidates]] = candidates  # of equals the latest
    groups = np.flatnonzero(chosen >= 0)
    newest[chosen[groups]] = -np.inf
    return list(zip(groups.tolist(), rows[chosen[groups]].tolist(), strict=True))
