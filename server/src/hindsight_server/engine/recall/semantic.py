"""Meaning scores: cosine similarity of pooled vectors, by an exact scan of each space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import Float32Array

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


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The question in one space, and how far that space understands its script (0-1)."""

    vector: Float32Array
    trust: float = 1.0


def meaning_scores(scope: Scope, queries: Mapping[str, QueryVector]) -> MeaningScores:
    """Compare the query's vectors, one a space, with the visible facts of those spaces."""
    size = len(scope.view)
    cosine = np.full(size, np.nan, np.float32)
    scaled = np.full(size, np.nan, np.float32)
    for space, asked in queries.items():
        if space not in scope.view.vectors:
            continue
        held = scope.view.vectors[space]
        places = None if scope.mask is None else np.flatnonzero(scope.mask[held.rows])
        rows = held.rows if places is None else held.rows[places]
        values = held.cosines(asked.vector, places)
        if len(values) == size:  # every row, in order
            cosine, scaled = values, _standardised(values) * np.float32(asked.trust)
        elif len(values):
            cosine[rows] = values
            scaled[rows] = _standardised(values) * np.float32(asked.trust)
    return MeaningScores(cosine, scaled)


def _standardised(values: Float32Array) -> Float32Array:
    """Mean and deviation are pulled towards those usual for sentence encoders: a space of three facts tells neither."""
    share = len(values) / (len(values) + _PRIOR_COUNT)
    average = float(values.mean())
    spread = math.sqrt(max(float(np.dot(values, values)) / len(values) - average * average, 0.0))
    mean = share * average + (1 - share) * _PRIOR_MEAN
    deviation = share * spread + (1 - share) * _PRIOR_DEVIATION
    return (values - np.float32(mean)) / np.float32(max(deviation, 1e-6))
