"""Several answers to a question that asks for several: the first places go to more than one session.

Asked which books somebody read, the facts of one evening's talk about books all score alike, and the book mentioned in
passing another time comes after them. Each further fact of a session therefore counts a little less. Of all questions
only those that ask for several things gain by it (`docs/explanation/recall.md` has the figures).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hindsight_server.engine.recall.reranking import EXACT_FROM, Ranked
from hindsight_server.engine.recall.view import Float64Array, Int32Array

_FURTHER_FACT = 0.5  # in log odds, which are about points of the model; from 0.4 to 1.0 the outcome is much the same
_PLACES = 10  # from there on the order stays
_LOOKED_AT = 60  # what is below can't come up so far


def covering(scores: Float64Array, sessions: Int32Array) -> Int32Array:
    """An order of facts, given their scores, best first, and the session of each.

    A fact is set back by `_FURTHER_FACT` times the logarithm of one more than the facts of its session before it.

    Example:
        >>> covering(np.array([3.0, 2.9, 2.8]), np.array([1, 1, 2])).tolist()
        [0, 2, 1]
    """
    count = min(len(scores), _LOOKED_AT)
    left, before = scores[:count].copy(), np.zeros(count)
    taken: list[int] = []
    for _ in range(min(count, _PLACES)):
        place = int(np.argmax(left - _FURTHER_FACT * np.log1p(before)))
        taken.append(place)
        left[place] = -np.inf
        before += sessions[:count] == sessions[place]
    rest = np.setdiff1d(np.arange(len(scores)), taken, assume_unique=True)
    return np.concatenate([np.array(taken, np.int32), rest.astype(np.int32)])


def over_sessions(ranked: Ranked, session: Int32Array) -> Ranked:
    """The ranking with its first places spread over sessions; exact facts stay where they are.

    `final` never rises from one result to the next: what another was put before has at most the other's.

    Args:
        session: of every row of the view.
    """
    exact = int(np.isin(ranked.rows, ranked.exact).sum())
    probability = np.clip(ranked.final[exact:].astype(np.float64) / EXACT_FROM, 1e-12, 1 - 1e-7)
    moved = exact + covering(np.log(probability / (1 - probability)), session[ranked.rows[exact:]])
    order = np.concatenate([np.arange(exact, dtype=np.int32), moved.astype(np.int32)])
    return replace(
        ranked,
        rows=ranked.rows[order],
        places=ranked.places[order],
        final=np.minimum.accumulate(ranked.final[order]),
        reranker=None if ranked.reranker is None else ranked.reranker[order],
    )
