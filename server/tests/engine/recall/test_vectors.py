"""Vectors as bytes compare as the vectors they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hindsight_server.engine.recall.vectors import VectorBuffers, Vectors, quantised


def unit_vectors(count: int, dimension: int = 384, seed: int = 3) -> np.ndarray:
    """Vectors in clusters, as those of texts are."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((50, dimension))
    made = centres[random.integers(0, 50, count)] + 0.8 * random.standard_normal((count, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def held(matrix: np.ndarray) -> Vectors:
    buffers = VectorBuffers(matrix.shape[1])
    for start in range(0, len(matrix), 700):
        piece = matrix[start : start + 700]
        buffers.extend(np.arange(start, start + len(piece)), piece)
    return buffers.view()


def test_the_best_by_bytes_are_the_best_by_cosine() -> None:
    matrix = unit_vectors(6000)
    vectors = held(matrix)
    shares = []
    for query in unit_vectors(40, seed=4):
        true = matrix @ query
        cosines = vectors.cosines(query)
        assert np.abs(cosines - true).max() < 0.004
        shares.append(len(np.intersect1d(np.argsort(-true)[:100], np.argsort(-cosines)[:100])) / 100)
    assert np.mean(shares) >= 0.97


@pytest.mark.parametrize("step", [1, 2, 7, 100, 5999])
def test_some_vectors_compare_as_they_do_among_all(step: int) -> None:
    vectors = held(unit_vectors(6000))
    query = unit_vectors(1, seed=9)[0]
    places = np.arange(0, 6000, step)
    np.testing.assert_array_equal(vectors.cosines(query, places), vectors.cosines(query)[places])


def test_a_vector_is_most_like_itself() -> None:
    matrix = unit_vectors(500)
    cosines = held(matrix).cosines(matrix[17])
    assert int(np.argmax(cosines)) == 17
    assert cosines[17] == pytest.approx(1.0, abs=1e-6)


def test_nothing_to_compare() -> None:
    vectors = held(unit_vectors(10))
    assert len(vectors.cosines(np.ones(384, np.float32), np.empty(0, np.intp))) == 0
    assert len(held(np.empty((0, 384), np.float32)).cosines(np.ones(384, np.float32))) == 0
    assert vectors.cosines(np.zeros(384, np.float32)).tolist() == [0.0] * 10


@settings(max_examples=100, deadline=None)
@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_any_finite_vector_can_be_kept(matrix: np.ndarray) -> None:
    codes, inverse = quantised(matrix)
    assert np.isfinite(inverse).all()
    assert ((codes == 0).all(axis=1) == (inverse == 0)).all()
