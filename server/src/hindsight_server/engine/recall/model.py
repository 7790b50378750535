"""The linear model that joins the features, and how its scores become 0-1.

Its weights are data (`weights.json`, with where they come from); another file of the same shape may be given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_server.engine.recall.features import FIRST, OCCASIONAL, SECOND
from hindsight_server.engine.recall.view import Float32Array


class BadWeights(ValueError):
    """A weights file lacks something, or holds something that is no number."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """Turns a score into a probability: ``1 / (1 + exp(-(slope * score + offset)))``."""

    slope: float
    offset: float

    def __call__(self, scores: Float32Array) -> Float32Array:
        z = np.clip(self.slope * scores.astype(np.float64) + self.offset, -30, 30)
        return (1.0 / (1.0 + np.exp(-z))).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of a ranking.

    Args:
        scan: of turn, pair, session and meaning, to choose candidates out of the whole bank.
        first: of the features `FIRST`, when no words are compared.
        second: of `FIRST` and `SECOND` together.
        first_probability, second_probability: from the `shortfall` of those scores to 0-1.
        reranker: from the raw word-by-word similarity to 0-1.
    """

    scan: Float32Array
    first: Float32Array
    second: Float32Array
    first_probability: Logistic
    second_probability: Logistic
    reranker: Logistic


def shortfall(features: Float32Array, weights: Float32Array) -> Float32Array:
    """Scores, less the best that could be had: 0 when every feature that counts here is at its best.

    An occasional feature that no candidate has (the question names no speaker, no time) does not count, so that the
    result means the same whatever kind of bank and question it is.
    """
    if not len(features):
        return np.zeros(0, np.float32)
    names = (FIRST + SECOND)[: features.shape[1]]
    counts = (features.max(axis=0) > 0) | np.array([name not in OCCASIONAL for name in names])
    attainable = np.float32(np.maximum(weights, 0)[counts].sum())
    return (features @ weights - attainable).astype(np.float32)


SCAN = ("turn", "pair", "session", "meaning")


def load_weights(path: Path | None = None) -> Weights:
    """Weights from a file, the bundled ones by default. Raises BadWeights, or OSError when it can't be read."""
    source = path if path is not None else files(__package__) / "weights.json"
    try:
        return _weights(json.loads(source.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as problem:
        raise BadWeights(f"{path or 'weights.json'} is no weights file: {problem!r}") from problem


def _weights(data: Mapping[str, Any]) -> Weights:
    return Weights(
        scan=_column(data["scan"], SCAN),
        first=_column(data["first"], FIRST),
        second=_column(data["second"], FIRST + SECOND),
        first_probability=_logistic(data["probability"]["first"]),
        second_probability=_logistic(data["probability"]["second"]),
        reranker=_logistic(data["probability"]["reranker"]),
    )


def _column(data: Mapping[str, float], names: tuple[str, ...]) -> Float32Array:
    unknown = set(data) - set(names)
    if unknown:
        raise BadWeights(f"unknown feature {sorted(unknown)[0]!r}")
    column = np.asarray([float(data.get(name, 0.0)) for name in names], np.float32)
    if not np.isfinite(column).all():
        raise BadWeights("a weight is not finite")
    return column


def _logistic(data: Mapping[str, float]) -> Logistic:
    slope, offset = float(data["slope"]), float(data["offset"])
    if not (math.isfinite(slope) and math.isfinite(offset) and slope > 0):
        raise BadWeights("a probability needs a finite offset and a slope above 0")
    return Logistic(slope, offset)
