"""Late interaction against loops."""

from __future__ import annotations

import numpy as np
import pytest

from hindsight_server.engine.recall.maxsim import maxsim


def units(seed: int, count: int) -> np.ndarray:
    raw = np.random.default_rng(seed).normal(size=(count, 16))
    return np.rint(127 * raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.int8)


def test_each_word_takes_its_best_match_weighted_by_rarity() -> None:
    query, weights = units(0, 3), np.array([1.0, 2.0, 0.5], np.float32)
    vectors = {1: units(1, 4), 2: units(2, 7), 3: units(3, 2)}
    compared = maxsim(query, weights, [1, 2, 3], [-1, 1, 9], [2, -1, 9], vectors)

    def plain(keys: list[int]) -> float:
        held = np.concatenate([vectors[key] for key in keys]).astype(float) / 127
        best = [max(float(word @ other) for other in held) for word in query.astype(float) / 127]
        return float(np.dot(best, weights) / weights.sum())

    assert compared.own == pytest.approx([plain([1]), plain([2]), plain([3])], rel=1e-4)
    assert compared.pair == pytest.approx([plain([1]), plain([2, 1]), plain([3])], rel=1e-4)
    assert compared.following == pytest.approx([plain([1, 2]), plain([2]), plain([3])], rel=1e-4)


def test_texts_without_vectors_have_no_similarity() -> None:
    compared = maxsim(
        units(0, 2),
        np.ones(2, np.float32),
        [1, 2, 3],
        [-1, 3, 2],
        [3, 3, -1],
        {2: np.empty((0, 16), np.int8), 3: units(1, 2)},
    )
    assert np.isnan(compared.own).tolist() == [True, True, False]
    assert compared.pair[1] == pytest.approx(compared.own[2])  # the turn before has some
    assert compared.following[0] == pytest.approx(compared.own[2])
    assert compared.pair[2] == pytest.approx(compared.own[2])


def test_no_texts() -> None:
    assert maxsim(units(0, 2), np.ones(2, np.float32), [], [], [], {}).own.tolist() == []
