"""Which turn comes before a turn, and which turns make a session: the identity rules, over columns.

Previous turn: the one before it in the same document; for the first of a document, the one before it in the same
non-empty context, at most 30 minutes earlier. Session: the explicit key, else the document when it has several turns,
else the stretch of one context without a gap of more than 30 minutes. `docs/explanation/identity.md` gives the reasons.

A change touches few documents and contexts; only their rows are computed again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight_server.domain.identity import SESSION_GAP

Int32Array = npt.NDArray[np.int32]
Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

GAP_SECONDS = SESSION_GAP.total_seconds()
NONE = -1


@dataclass(frozen=True, slots=True)
class Keys:
    """What the rules look at, a value for each row; numbers are interned, -1 where there is none.

    `document` and `context` are -1 for rows that are no turns. `turn` orders the rows of a document, `time` (NaN:
    never) those of a context. `adapter` marks rows whose context names an adapter, which tells no session.
    """

    document: Int32Array
    turn: Int32Array
    context: Int32Array
    adapter: BoolArray
    explicit: Int32Array
    time: Float64Array


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Columns derived from `Keys`. The numbers are rows, -1 where there is none.

    Args:
        previous: the row before; no two rows have the same one.
        following: the inverse of `previous`.
        session: one row of the same session, the same for all of it.
    """

    previous: Int32Array
    following: Int32Array
    session: Int32Array
    _by_document: _Chain
    _by_context: _Chain

    @classmethod
    def empty(cls) -> Neighbours:
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing, nothing, _Chain.empty(), _Chain.empty())


@dataclass(frozen=True, slots=True)
class _Chain:
    """Links by one rule: the row before, and the row that stands for the group (-1 where the rule makes no session)."""

    previous: Int32Array
    session: Int32Array

    @classmethod
    def empty(cls) -> _Chain:
        nothing = np.empty(0, np.int32)
        return cls(nothing, nothing)

    def grown(self, size: int) -> _Chain:
        """A copy with room for `size` rows, to be written to."""
        return _Chain(_grown(self.previous, size), _grown(self.session, size))


def derive(before: Neighbours, keys: Keys, alive: BoolArray, changed: Int32Array) -> Neighbours:
    """The neighbours after `changed` rows came or went; equal to deriving all rows anew.

    Args:
        before: the columns before the change; left as they are.
        keys: of all rows, the new ones included.
        alive: which rows still exist.
        changed: rows that were added or removed.
    """
    size = len(alive)
    by_document = before._by_document.grown(size)
    by_context = before._by_context.grown(size)
    gone = changed[~alive[changed]]
    for chain in (by_document, by_context):
        chain.previous[gone] = NONE
        chain.session[gone] = NONE
    rows = _rows_of(keys.document, keys.document[changed], alive)
    _link_documents(by_document, keys, rows)
    touched = np.concatenate([rows, changed])
    _link_contexts(by_context, by_document, keys, _rows_of(keys.context, keys.context[touched], alive))
    previous = np.where(by_document.previous >= 0, by_document.previous, by_context.previous)
    session = np.where(by_document.session >= 0, by_document.session, by_context.session)
    explicit = np.flatnonzero((keys.explicit >= 0) & alive)
    if explicit.size:
        session[explicit] = _first_of_group(keys.explicit[explicit], explicit)
    following = np.full(size, NONE, np.int32)
    linked = np.flatnonzero(previous >= 0)
    following[previous[linked]] = linked
    return Neighbours(previous.astype(np.int32), following, session.astype(np.int32), by_document, by_context)


def _link_documents(chain: _Chain, keys: Keys, rows: Int32Array) -> None:
    """Chain the rows of each document by turn; `rows` are whole documents."""
    if not rows.size:
        return
    order = rows[np.lexsort((rows, keys.turn[rows], keys.document[rows]))]
    document = keys.document[order]
    starts = np.concatenate([[True], document[1:] != document[:-1]])
    chain.previous[order] = np.where(starts, NONE, np.concatenate([[NONE], order[:-1]]))
    first = np.flatnonzero(starts)
    last = np.concatenate([first[1:], [len(order)]]) - 1
    several = keys.turn[order[first]] != keys.turn[order[last]]
    # A turn that names another session must not stand for this one.
    unnamed = np.where(keys.explicit[order] < 0, np.arange(len(order)), len(order))
    standing = np.minimum.reduceat(unnamed, first)
    several &= standing < len(order)
    session = np.where(several, order[np.minimum(standing, len(order) - 1)], NONE)
    chain.session[order] = np.repeat(session, last - first + 1)


def _link_contexts(chain: _Chain, documents: _Chain, keys: Keys, rows: Int32Array) -> None:
    """Chain the rows of each context by time; `rows` are whole contexts."""
    chain.previous[rows] = NONE
    chain.session[rows] = NONE
    rows = rows[~np.isnan(keys.time[rows])]
    if not rows.size:
        return
    order = rows[np.lexsort((rows, keys.time[rows], keys.context[rows]))]
    same, gap = _steps(keys, order)
    followed = np.zeros(len(chain.previous), np.bool_)
    followed[documents.previous[documents.previous >= 0]] = True
    # Equal times say nothing about which came first.
    link = same & (gap > 0) & (gap <= GAP_SECONDS) & (documents.previous[order[1:]] < 0) & ~followed[order[:-1]]
    chain.previous[order[1:][link]] = order[:-1][link]
    order = order[~keys.adapter[order] & (keys.explicit[order] < 0) & (documents.session[order] < 0)]
    if order.size:
        same, gap = _steps(keys, order)
        starts = np.concatenate([[True], ~(same & (gap <= GAP_SECONDS))])
        chain.session[order] = order[starts][np.cumsum(starts) - 1]


def _steps(keys: Keys, order: Int32Array) -> tuple[BoolArray, Float64Array]:
    """From each row to the next: whether the context stays the same, and the seconds between."""
    context = keys.context[order]
    return context[1:] == context[:-1], np.diff(keys.time[order])


def _first_of_group(numbers: Int32Array, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """For each row, the first row with the same number; `rows` ascend."""
    first = np.full(int(numbers.max()) + 1, len(rows), np.intp)
    np.minimum.at(first, numbers, np.arange(len(rows)))
    return rows[first[numbers]]


def _grown(column: Int32Array, size: int) -> Int32Array:
    grown = np.full(size, NONE, np.int32)
    grown[: len(column)] = column
    return grown


def _rows_of(column: Int32Array, wanted: Int32Array, alive: BoolArray) -> Int32Array:
    """Living rows whose number in `column` is among `wanted` (-1 is no number)."""
    wanted = wanted[wanted >= 0]
    if not wanted.size:
        return np.empty(0, np.int32)
    hit = np.zeros(int(column.max()) + 2, np.bool_)
    hit[wanted] = True
    return np.flatnonzero(hit[column] & alive).astype(np.int32)  # -1 looks at the last place, which is never set
