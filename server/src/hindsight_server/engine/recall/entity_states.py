"""What else is known of the entities that results name: the newest visible memories of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_server.engine.recall.groups import entity_of_names
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import FACT_TYPES, Int32Array

_EACH = 3  # memories of an entity
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
    rows_of = _best_rows(scope, entities, shown)
    tokens, taken = scope.view.tokens, set()
    left = max_tokens
    for turn in range(_EACH):
        for number in entities:
            row = rows_of[number][turn] if turn < len(rows_of[number]) else None
            if row is not None and row not in taken and tokens[row] <= left:
                found[number].append(row)
                taken.add(row)
                left -= int(tokens[row])
    return found


def _best_rows(scope: Scope, entities: Sequence[int], shown: Int32Array) -> dict[int, list[int]]:
    view = scope.view
    size = max(int(view.entity_numbers.max(initial=0)), *entities) + 1
    place = np.full(size, -1, np.int32)
    place[list(entities)] = np.arange(len(entities), dtype=np.int32)
    entity_of = entity_of_names(view, size)
    names = view.entity_numbers
    which = place[names if entity_of is None else entity_of[names]]
    hit = np.flatnonzero(which >= 0)
    rows, which = view.entity_owners[hit], which[hit]
    keep = ~np.isin(rows, shown) if scope.mask is None else scope.mask[rows] & ~np.isin(rows, shown)
    rows, which = rows[keep], which[keep]
    raw = view.fact_type[rows] != _OBSERVATION
    said = np.nan_to_num(view.mentioned[rows], nan=-np.inf)
    order = np.lexsort((-rows, -said, raw, which))
    rows, which = rows[order], which[order]
    starts = np.searchsorted(which, np.arange(len(entities) + 1))
    # Two names of one entity in a fact give its row twice.
    return {
        number: list(dict.fromkeys(rows[start : min(start + 2 * _EACH, end)].tolist()))[:_EACH]
        for number, start, end in zip(entities, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }
