"""Several facts that say the same are one result: the best of them stands for all, the others are its sources.

Every fact keeps its row, so that forgetting one of its sources leaves the others as they are, and nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hindsight_server.engine.recall.view import Int32Array, Int64Array

MOST_COPIES = 20
"""Sources that a result lists; it counts all."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Places in a ranking after copies were folded.

    Args:
        places: without the copies.
        copies: for each place that stands for others too, their places, best first.
    """

    places: Int32Array
    copies: Mapping[int, Int32Array] = field(default_factory=dict)

    @property
    def dropped(self) -> Int32Array:
        """The places of all copies."""
        return np.sort(np.concatenate([np.empty(0, np.int32), *self.copies.values()])).astype(np.int32)


def fold(numbers: Int64Array, places: Int32Array) -> Folded:
    """Let the first place of each number stand for the others of that number.

    Args:
        numbers: for each place of the ranking the `fold` of its fact; 0 is like no other.
        places: those that may be in the answer, best first.

    Example:
        >>> folded = fold(np.array([7, 0, 7, 0]), np.arange(4, dtype=np.int32))
        >>> folded.places.tolist(), folded.dropped.tolist()
        ([0, 1, 3], [2])
    """
    held = numbers[places]
    order = np.argsort(held, kind="stable")
    ordered = held[order]
    is_copy = np.zeros(len(held), np.bool_)
    is_copy[order[1:]] = (ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)
    if not is_copy.any():
        return Folded(places)
    copied = np.unique(held[is_copy])
    copies = {}
    for number in copied.tolist():
        first, *others = places[held == number].tolist()
        copies[first] = np.array(others, np.int32)
    return Folded(places[~is_copy], copies)
