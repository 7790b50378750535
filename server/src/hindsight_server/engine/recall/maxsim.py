"""Late interaction (MaxSim, Khattab and Zaharia 2020): each word of the question looks for its match in a text.

Words of the question are weighted by their rarity. Two more values let each word match in the turn before or after as
well, since an answer often leaves out what its question said, and a reply names what was meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_server.engine.recall.view import Float32Array, Int8Array

_SCALE = np.float32(1.0 / (127.0 * 127.0))  # token vectors are unit vectors times 127


@dataclass(frozen=True, slots=True)
class MaxSim:
    """Weighted mean similarities, about 0-1; NaN for a text without token vectors."""

    own: Float32Array
    pair: Float32Array
    following: Float32Array


def maxsim(
    query: Int8Array,
    weights: Float32Array,
    texts: Sequence[int],
    previous: Sequence[int],
    following: Sequence[int],
    vectors: Mapping[int, Int8Array],
) -> MaxSim:
    """Compare a question with texts.

    Args:
        query: token vectors of the question, shape (q, d).
        weights: a weight for each of its words, shape (q,).
        texts: keys of the texts in `vectors`.
        previous, following: for each text, the keys of the turns before and after it, or -1.
        vectors: token vectors, shape (n, d) each.
    """
    keys = [
        key
        for key in dict.fromkeys([*texts, *previous, *following])
        if key >= 0 and key in vectors and len(vectors[key])
    ]
    place = {key: at for at, key in enumerate(keys)}
    best = _best_matches(query, [vectors[key] for key in keys])
    share = (weights / weights.sum()).astype(np.float32)

    def matches(wanted: Sequence[int]) -> Float32Array:
        places = np.fromiter((place.get(key, -1) for key in wanted), np.int64, len(wanted))
        return best[places]  # -1 takes the last line, which is all NaN

    own = matches(texts)
    return MaxSim(own @ share, np.fmax(own, matches(previous)) @ share, np.fmax(own, matches(following)) @ share)


def _best_matches(query: Int8Array, texts: Sequence[Int8Array]) -> Float32Array:
    """For each text and word of the question the best similarity; a line of NaN at the end."""
    best = np.full((len(texts) + 1, len(query)), np.nan, np.float32)
    if texts:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        together = np.concatenate(texts).astype(np.float32)
        similar = together @ query.astype(np.float32).T
        best[:-1] = np.maximum.reduceat(similar, starts, axis=0) * _SCALE
    return best
