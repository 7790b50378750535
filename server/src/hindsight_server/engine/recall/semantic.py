"""Meaning scores: cosine similarity of pooled vectors, by an exact scan of each space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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


def meaning_scores(scope: Scope, queries: Mapping[str, Float32Array]) -> MeaningScores:
    """Compare the query's vectors, one a space, with the visible facts of those spaces."""
    size = len(scope.view)
    cosine = np.full(size, np.nan, np.float32)
    scaled = np.full(size, np.nan, np.float32)
    for space, query in queries.items():
        if space not in scope.view.vectors:
            continue
        held = scope.view.vectors[space]
        visible = None if scope.mask is None else scope.mask[held.rows]
        count = len(held) if visible is None else int(np.count_nonzero(visible))
        if not count:
            continue
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
            cosine, scaled = values, standard
        else:
            cosine[rows], scaled[rows] = values, standard
    return MeaningScores(cosine, scaled)


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
