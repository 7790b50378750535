"""Meaning scores: cosine similarity of pooled vectors, by an exact scan of each space."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import Float32Array

_GATHER_BELOW = 8  # comparing a copy of the visible vectors pays when fewer than an eighth are visible
_PRIOR_COUNT = 50  # how many facts the assumed distribution of a space weighs as much as
_PRIOR_MEAN, _PRIOR_DEVIATION = 0.1, 0.12


@dataclass(frozen=True, slots=True)
class MeaningScores:
    """Scores of every row; NaN where it has no vector in a searched space, or is hidden.

    Args:
        cosine: as is.
        scaled: in standard deviations above the mean of the row's space, comparable between spaces.
    """

    cosine: Float32Array
    scaled: Float32Array

    @classmethod
    def nothing(cls, size: int) -> MeaningScores:
        return cls(np.full(size, np.nan, np.float32), np.full(size, np.nan, np.float32))


def meaning_scores(
    scope: Scope, queries: Mapping[str, Float32Array], crossed: Collection[str] = frozenset()
) -> MeaningScores:
    """Compare the query's vectors, one a space, with the visible facts of those spaces.

    A fact with vectors in several spaces gets the mean of its scaled scores, since each model sees something else, and
    the cosine of the first.

    Args:
        crossed: spaces that the query reached from another one only; they count for facts without a vector elsewhere.
    """
    total = MeaningScores.nothing(len(scope.view))
    seen = np.zeros(len(scope.view), np.uint8)
    for space in sorted(queries, key=lambda space: space in crossed):
        if space not in scope.view.vectors:
            continue
        found = _scores_in(scope, space, queries[space])
        if found is None:
            continue
        if not seen.any():
            total, seen = found, ~np.isnan(found.scaled) * np.uint8(1)
            continue
        _join(total, seen, found, alone=space in crossed)
    return total


def _join(total: MeaningScores, seen: npt.NDArray[np.uint8], found: MeaningScores, *, alone: bool) -> None:
    """Take the scores of one more space into the means so far."""
    has = ~np.isnan(found.scaled)
    fresh = has & (seen == 0)
    total.cosine[fresh], total.scaled[fresh] = found.cosine[fresh], found.scaled[fresh]
    if not alone:
        again = has & (seen > 0)
        total.scaled[again] += (found.scaled[again] - total.scaled[again]) / (seen[again] + np.float32(1))
        seen[again] += 1
    seen[fresh] = 1


def _scores_in(scope: Scope, space: str, query: Float32Array) -> MeaningScores | None:
    """Scores in one space; None when no visible fact has a vector there."""
    size = len(scope.view)
    held = scope.view.vectors[space]
    visible = None if scope.mask is None else scope.mask[held.rows]
    count = len(held) if visible is None else int(np.count_nonzero(visible))
    if not count:
        return None
    if visible is not None and _GATHER_BELOW * count < len(held):
        places = np.flatnonzero(visible)
        rows, values = held.rows[places], held.cosines(query, places)
    else:
        rows, values = held.rows, held.cosines(query)
        if visible is not None:
            values *= visible  # what is hidden adds nothing to the mean
    standard = _standardised(values, count)
    if visible is not None and len(values) > count:
        for scores in (values, standard):
            np.copyto(scores, np.float32(np.nan), where=~visible)
    if len(values) == size:  # every row, in order
        return MeaningScores(values, standard)
    found = MeaningScores.nothing(size)
    found.cosine[rows], found.scaled[rows] = values, standard
    return found


def _standardised(values: Float32Array, count: int) -> Float32Array:
    """Mean and deviation are pulled towards those usual for sentence encoders: a space of three facts tells neither.

    Args:
        values: of all; those that don't count are 0.
        count: how many count.
    """
    share = count / (count + _PRIOR_COUNT)
    average = float(values.sum()) / count
    spread = math.sqrt(max(float(np.dot(values, values)) / count - average * average, 0.0))
    mean = share * average + (1 - share) * _PRIOR_MEAN
    deviation = share * spread + (1 - share) * _PRIOR_DEVIATION
    return (values - np.float32(mean)) / np.float32(max(deviation, 1e-6))
