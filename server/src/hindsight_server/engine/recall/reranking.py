"""The second pass: word-by-word comparison of the best candidates, then the final score of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_server.engine.recall.arms import ArmReport, skipped
from hindsight_server.engine.recall.features import FIRST, middle, second_features, without_nan
from hindsight_server.engine.recall.maxsim import MaxSim, maxsim
from hindsight_server.engine.recall.model import Weights, shortfall
from hindsight_server.engine.recall.ranking import FirstPass
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import BankView, BoolArray, Float32Array, Int8Array, Int32Array

# Small against the weights of the model: they decide between facts that answer about equally well.
RECENCY_WEIGHT = 0.5
PROOF_WEIGHT = 0.5
RECENCY_HALF_LIFE_DAYS = 90.0
EXACT_FROM = 0.9  # exact facts lie above this, all others below


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The question's words with their vectors in one space, shape (q, d), and a weight for each."""

    space: str
    vectors: Int8Array
    weights: Float32Array


@dataclass(frozen=True, slots=True)
class Compared:
    """Word-by-word similarities of the candidates (NaN where there are none), and which candidates were looked at."""

    similarity: MaxSim
    looked_at: BoolArray

    @property
    def known(self) -> BoolArray:
        """Which candidates have a similarity."""
        return ~np.isnan(self.similarity.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Candidates in their final order.

    Args:
        rows: best first.
        places: for each, its place in the first pass.
        final: 0-1, descending.
        reranker: 0-1, NaN where no words were compared; None when none were at all.
        features: of the candidates in the order of the first pass; as many columns as there are weights.
        weights: of these features.
        exact: rows that go before all others.
        boosts: what was added to the score of each candidate, in the order of the first pass.
        report: how the comparison went.
    """

    rows: Int32Array
    places: Int32Array
    final: Float32Array
    reranker: Float32Array | None
    features: Float32Array
    weights: Float32Array
    exact: Int32Array
    boosts: Mapping[str, Float32Array] = field(default_factory=dict)
    report: ArmReport = field(default_factory=lambda: skipped("reranker", "not wanted"))


def word_weights(stems: Sequence[str], rarity: Mapping[str, float]) -> Float32Array:
    """Weights of a question's words: how rare each is in the bank, in the middle for those that were not searched."""
    usual = float(middle(np.array(list(rarity.values())))) if rarity else 1.0
    return np.array([max(rarity.get(stem, usual), 1e-3) for stem in stems], np.float32)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The candidates to compare, and the rows before and after each (-1 for none)."""

    rows: Int32Array
    previous: Int32Array
    following: Int32Array

    def needed(self) -> Int32Array:
        """All rows whose words are looked at, without repeats."""
        rows = np.unique(np.concatenate([self.rows, self.previous, self.following]))
        return rows[rows >= 0]


def rows_to_compare(scope: Scope, first: FirstPass, count: int) -> Chosen:
    """The best candidates of the first pass with their neighbours."""
    rows = first.rows[:count]
    if scope.previous is None or scope.following is None:
        nothing = np.full(len(rows), -1, np.int32)
        return Chosen(rows, nothing, nothing)
    return Chosen(rows, scope.previous[rows], scope.following[rows])


def compare(
    view: BankView,
    first: FirstPass,
    chosen: Chosen,
    query: QueryWords,
    vectors: Mapping[int, Int8Array],
) -> Compared:
    """Compare the chosen rows; `vectors` are by `seq`."""
    before, after = (np.where(rows >= 0, view.seq[rows], -1).tolist() for rows in (chosen.previous, chosen.following))
    found = maxsim(query.vectors, query.weights, view.seq[chosen.rows].tolist(), before, after, vectors)
    rest = np.full(len(first.rows) - len(chosen.rows), np.nan, np.float32)
    looked_at = np.zeros(len(first.rows), np.bool_)
    looked_at[: len(chosen.rows)] = True
    own, pair, following = (np.concatenate([part, rest]) for part in (found.own, found.pair, found.following))
    return Compared(MaxSim(own, pair, following), looked_at)


def with_second(first: FirstPass, compared: Compared) -> Float32Array:
    """The features of both passes, shape (rows, len(FIRST) + len(SECOND))."""
    said = first.features[:, FIRST.index("speaker")]
    return np.concatenate([first.features, second_features(compared.similarity, compared.looked_at, said)], axis=1)


def final_order(
    view: BankView, first: FirstPass, compared: Compared | None, weights: Weights, exact: Int32Array, now: float
) -> Ranked:
    """Score all candidates and order them.

    Args:
        compared: None when no words were compared; then the first pass's own weights count.
        exact: rows that go before all others.
        now: the moment of the question, seconds since 1970.
    """
    reranker = None
    added = boosts(view, first.rows, now)
    features, used, probable = first.features, weights.first, weights.first_probability
    if compared is not None:
        features, used, probable = with_second(first, compared), weights.second, weights.second_probability
        own = compared.similarity.own
        reranker = np.where(np.isnan(own), np.float32(np.nan), weights.reranker(without_nan(own)))
    points = shortfall(features, used) + (added["recency"] + added["proof"])
    if first.repeats is not None:
        added["repeated"] = first.repeats.demotions(first.rows, points, view.fold[first.rows])
        points += added["repeated"]
    probability = probable(points)
    final = (EXACT_FROM * probability).astype(np.float32)
    if len(exact):
        lifted = EXACT_FROM + (1 - EXACT_FROM) * probability
        final = np.where(np.isin(first.rows, exact), lifted, final).astype(np.float32)
    order = np.lexsort((-first.rows, -final)).astype(np.int32)
    return Ranked(
        rows=first.rows[order],
        places=order,
        final=final[order],
        reranker=None if reranker is None else reranker[order],
        features=features,
        weights=used,
        exact=exact,
        boosts=added,
    )


def boosts(view: BankView, rows: Int32Array, now: float) -> dict[str, Float32Array]:
    """What is added to the scores: newer facts, and observations with more proof, count slightly more."""
    age_days = np.maximum(now - view.mentioned[rows], 0.0) / 86400.0
    recency = without_nan(np.exp2(-age_days / RECENCY_HALF_LIFE_DAYS), 0.5)
    proof = np.clip(0.5 + np.log(np.maximum(view.proof[rows], 1)) / 10.0, 0.0, 1.0)
    return {
        "recency": (RECENCY_WEIGHT * (recency - 0.5)).astype(np.float32),
        "proof": (PROOF_WEIGHT * (proof - 0.5)).astype(np.float32),
    }
