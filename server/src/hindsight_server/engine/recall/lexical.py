"""Keyword scores: BM25 over turns, over pairs of turns, and over sessions, all from the postings of turns.

BM25: Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75, with 1 added inside the logarithm of the rarity, so that no term
counts against a text that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.scope import Level, Scope
from hindsight_server.engine.recall.view import Float32Array, Int32Array

K1 = 1.2
B = 0.75
_BIG_BANK = 5000  # facts; below this, common words cost nothing worth saving


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScores:
    """Scores of every row (0 where hidden).

    Args:
        turn: of the fact itself.
        pair: of the fact with the turn before it.
        session: of the fact's whole session.
        rarity: the terms that were searched, with their inverse document frequency.
        skipped: terms in more than half the bank, left out because rarer ones were there.
    """

    turn: Float32Array
    pair: Float32Array
    session: Float32Array
    rarity: Mapping[str, float]
    skipped: tuple[str, ...] = ()


def rarity(count: int, holding: int) -> float:
    """Inverse document frequency of a term that `holding` of `count` texts hold; above 0."""
    return math.log(1.0 + (count - holding + 0.5) / (holding + 0.5))


def word_scores(scope: Scope, postings: Mapping[str, Postings]) -> WordScores:
    """BM25 of the terms at all three levels."""
    visible = {term: _visible(scope, entry) for term, entry in postings.items()}
    held = {term: lists for term, lists in visible.items() if len(lists[0])}
    kept = held
    if scope.size > _BIG_BANK:
        rare = {term: lists for term, lists in held.items() if 2 * len(lists[0]) <= scope.size}
        kept = rare or held
    rarities = {term: rarity(scope.size, len(lists[0])) for term, lists in visible.items()}
    turn = _turn_scores(scope, kept, rarities)
    return WordScores(
        turn=turn,
        pair=turn if scope.previous is None else _pair_scores(scope, kept),
        session=turn if scope.session is None else _session_scores(scope, kept),
        rarity=rarities,
        skipped=tuple(term for term in held if term not in kept),
    )


_Lists = Mapping[str, tuple[Int32Array, Float32Array]]


def _visible(scope: Scope, entry: Postings) -> tuple[Int32Array, Float32Array]:
    if scope.mask is None or not len(entry.rows):
        return entry.rows, entry.counts
    keep = scope.mask.take(entry.rows)
    return entry.rows[keep], entry.counts[keep]


def _saturated(counts: Float32Array, lengths: Float32Array, level: Level) -> Float32Array:
    scale = np.float32(K1 * B / level.mean_length)
    return (counts * np.float32(K1 + 1) / (counts + np.float32(K1 * (1 - B)) + scale * lengths)).astype(np.float32)


def _turn_scores(scope: Scope, lists: _Lists, rarities: Mapping[str, float]) -> Float32Array:
    scores = np.zeros(len(scope.view), np.float32)
    for term, (rows, counts) in lists.items():
        weight = np.float32(rarities[term])
        scores[rows] += weight * _saturated(counts, scope.turns.lengths.take(rows), scope.turns)
    return scores


def _pair_scores(scope: Scope, lists: _Lists) -> Float32Array:
    """A pair holds the words of both its turns; it is named by the later one."""
    assert scope.following is not None
    scores = np.zeros(len(scope.view), np.float32)
    sums = np.zeros(len(scope.view), np.float32)
    for rows, counts in lists.values():
        sums[rows] = counts
        after = scope.following.take(rows)
        linked = after >= 0
        after = after[linked]
        touched = np.concatenate([rows, after[sums[after] == 0]])
        sums[after] += counts[linked]
        weight = np.float32(rarity(scope.pairs.count, len(touched)))
        scores[touched] += weight * _saturated(sums.take(touched), scope.pairs.lengths.take(touched), scope.pairs)
        sums[touched] = 0
    return scores


def _session_scores(scope: Scope, lists: _Lists) -> Float32Array:
    assert scope.session is not None
    size = len(scope.view)
    scores = np.zeros(size, np.float32)
    sums = np.zeros(size, np.float32)
    holds = np.zeros(size, np.bool_)
    for rows, counts in lists.values():
        # A session comes as often as it holds the term; each time the same score comes out.
        touched = scope.session.take(rows)
        np.add.at(sums, touched, counts)
        holds[touched] = True
        weight = np.float32(rarity(scope.sessions.count, int(np.count_nonzero(holds))))
        scores[touched] += weight * _saturated(sums.take(touched), scope.sessions.lengths.take(touched), scope.sessions)
        sums[touched] = 0
        holds[touched] = False
    spread = scores.take(scope.session)
    return spread if scope.mask is None else np.where(scope.mask, spread, np.float32(0))
