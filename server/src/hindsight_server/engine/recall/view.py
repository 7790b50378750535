"""A bank as columns in memory: what ranking reads instead of the store.

A `BankView` never changes. `advanced` makes the next one out of a `Snapshot`, sharing the buffers, so that a recall
which still reads the older view is not disturbed and a write costs the next recall only what it added.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_server.domain.identity import ADAPTER_CONTEXTS
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.columns import Column, Interner, Ragged
from hindsight_server.engine.recall.neighbours import Keys, Neighbours, derive
from hindsight_server.engine.recall.speakers import SpeakerNames
from hindsight_server.engine.recall.vectors import VectorBuffers, Vectors, merged_vectors
from hindsight_server.ports.records import FactRow, Snapshot

BoolArray = npt.NDArray[np.bool_]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
Int8Array = npt.NDArray[np.int8]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

FACT_TYPES = ("world", "experience", "observation")
_OBSERVATION = FACT_TYPES.index("observation")
_KEPT_FILTERS = 64
_NO_TAGSETS = np.empty(0, np.bool_)
_COMPACT_FROM = 1000  # dead rows below this are not worth a rebuild

COLUMNS: Mapping[str, npt.DTypeLike] = {
    "seq": np.int64,
    "fact_type": np.int8,
    "document": np.int32,
    "turn": np.int32,
    "context": np.int32,
    "explicit": np.int32,
    "speaker": np.int32,
    "mentioned": np.float64,
    "start": np.float64,
    "end": np.float64,
    "length": np.float32,
    "tokens": np.int32,
    "flags": np.int16,
    "proof": np.int32,
    "tagset": np.int32,
    "fold": np.int64,
}


@dataclass(slots=True)
class Buffers:
    """What the successive views of one bank share; only a builder that began with the newest writes to it."""

    columns: dict[str, Column] = field(default_factory=lambda: {name: Column(dtype) for name, dtype in COLUMNS.items()})
    entities: Ragged = field(default_factory=Ragged)
    vectors: dict[str, VectorBuffers] = field(default_factory=dict)
    documents: Interner[str] = field(default_factory=Interner)
    contexts: Interner[str] = field(default_factory=Interner)
    sessions: Interner[str] = field(default_factory=Interner)
    speakers: Interner[str] = field(default_factory=Interner)
    tagsets: Interner[frozenset[str]] = field(default_factory=Interner)
    speaker_names: SpeakerNames = field(default_factory=SpeakerNames)
    passing: OrderedDict[TagFilter, BoolArray] = field(default_factory=OrderedDict)

    def passing_tagsets(self, tags: TagFilter) -> BoolArray:
        """For each tag set, whether the filter lets it through; worked out once for the filters used last."""
        known = self.passing.get(tags, _NO_TAGSETS)
        fresh = self.tagsets.values[len(known) :]
        if fresh:
            known = np.concatenate([known, np.fromiter(map(tags.matches, fresh), np.bool_, len(fresh))])
        self.passing[tags] = known
        self.passing.move_to_end(tags)
        while len(self.passing) > _KEPT_FILTERS:
            self.passing.popitem(last=False)
        return known

    @property
    def nbytes(self) -> int:
        vectors = sum(held.nbytes for held in self.vectors.values())
        interned = 120 * (len(self.documents) + len(self.contexts) + len(self.sessions) + len(self.tagsets))
        return sum(column.nbytes for column in self.columns.values()) + self.entities.nbytes + vectors + interned


@dataclass(frozen=True, slots=True, kw_only=True)
class BankView:
    """The recallable facts of a bank at one version; row i of every column is the same fact.

    Rows are in the order of `seq` and keep their number as long as `buffers` is the same object; facts that are gone
    keep their row with `alive` False. Times are seconds since 1970, NaN for none. Numbers of documents, contexts,
    sessions and speakers are interned, -1 for none.

    Args:
        vectors: for each vector space, the vectors and the rows they belong to.
        all_alive: true when no row is dead, so that masks can be left out.
        memo: what was worked out from this view and is worth keeping as long as it.
    """

    version: int
    seq: Int64Array
    fact_type: Int8Array
    document: Int32Array
    turn: Int32Array
    context: Int32Array
    explicit: Int32Array
    speaker: Int32Array
    mentioned: Float64Array
    start: Float64Array
    end: Float64Array
    length: Float32Array
    tokens: Int32Array
    flags: npt.NDArray[np.int16]
    proof: Int32Array
    tagset: Int32Array
    fold: Int64Array
    alive: BoolArray
    neighbours: Neighbours
    entity_numbers: Int32Array
    entity_owners: Int32Array
    entity_offsets: Int64Array
    vectors: Mapping[str, Vectors]
    buffers: Buffers
    all_alive: bool
    memo: dict[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def last_seq(self) -> int:
        """The mark for the next snapshot."""
        return int(self.seq[-1]) if len(self.seq) else 0

    @property
    def nbytes(self) -> int:
        """Bytes held, approximately."""
        derived = len(self) * (1 + 4 * 7)
        return self.buffers.nbytes + derived

    @property
    def wasteful(self) -> bool:
        """Whether so many rows are dead that a rebuild pays."""
        dead = len(self) - int(np.count_nonzero(self.alive))
        return dead > _COMPACT_FROM and 4 * dead > len(self)

    def rows_of(self, seqs: Int64Array) -> Int32Array:
        """Rows of the given `seq`s, in their order; those that the view does not hold are left out."""
        return _rows_of(self.seq, seqs)

    def entities_of(self, row: int) -> Int32Array:
        """Entity numbers of one row."""
        return self.entity_numbers[self.entity_offsets[row] : self.entity_offsets[row + 1]]

    def with_vectors(self, space: str, seqs: Int64Array, matrix: Float32Array) -> BankView:
        """The same facts with further vectors, of the given `seqs` (ascending). For the newest view of its buffers.

        Facts that the view does not hold, or that have a vector in this space, are passed over.
        """
        held = np.isin(seqs, self.seq)
        known = self.vectors.get(space)
        if known is not None:
            held &= ~np.isin(seqs, self.seq[known.rows])
        merged = merged_vectors(known, self.rows_of(seqs[held]), matrix[held])
        self.buffers.vectors[space] = merged
        return replace(self, vectors={**self.vectors, space: merged.view()}, memo={})

    @classmethod
    def built(cls, snapshot: Snapshot) -> BankView:
        """A view of everything, from a snapshot taken with mark (0, 0)."""
        builder = ViewBuilder()
        builder.add(snapshot)
        return builder.finish()

    def advanced(self, snapshot: Snapshot) -> BankView:
        """The next view, from a snapshot taken with this view's mark. Only for the newest view of its buffers."""
        if snapshot.rebuild:
            return BankView.built(snapshot)
        builder = ViewBuilder(self)
        builder.add(snapshot)
        return builder.finish()


class ViewBuilder:
    """Makes the next view of a bank from snapshots, each taken with the mark that the one before left.

    Args:
        before: the newest view of its buffers, or None to begin with nothing.
    """

    def __init__(self, before: BankView | None = None) -> None:
        self._buffers = Buffers() if before is None else before.buffers
        self._alive = np.empty(0, np.bool_) if before is None else before.alive
        self._neighbours = Neighbours.empty() if before is None else before.neighbours
        self._removed: list[Int32Array] = []
        self._version = 0 if before is None else before.version

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], buffers: Buffers, version: int) -> ViewBuilder:
        """Begin with rows that are all alive.

        Args:
            columns: a value of each of `COLUMNS` for each row.
            buffers: without rows, but with all that the columns' numbers refer to, entities and vectors.
            version: as of which the rows are.
        """
        builder = cls()
        for name, column in buffers.columns.items():
            column.reserve(len(columns[name]))
            column.extend(columns[name])
        buffers.speaker_names.learn(buffers.speakers.values)
        builder._buffers, builder._version = buffers, version
        return builder

    @property
    def mark(self) -> tuple[int, int]:
        """Where the next snapshot begins: the last `seq`, and the version."""
        seq = self._buffers.columns["seq"].view()
        return (int(seq[-1]) if len(seq) else 0), self._version

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot in."""
        buffers = self._buffers
        self._removed.append(_rows_of(buffers.columns["seq"].view(), snapshot.removed))
        _append(buffers, snapshot.rows)
        _append_vectors(buffers, buffers.columns["seq"].view(), snapshot.vectors)
        self._version = snapshot.version

    def finish(self) -> BankView:
        """The view; the builder is used up."""
        buffers, size = self._buffers, len(self._alive)
        columns: dict[str, Any] = {name: column.view() for name, column in buffers.columns.items()}
        removed = np.concatenate([np.empty(0, np.int32), *self._removed])
        alive = np.concatenate([self._alive, np.ones(len(columns["seq"]) - size, np.bool_)])
        alive[removed] = False
        changed = np.concatenate([removed[removed < size], np.arange(size, len(alive), dtype=np.int32)])
        neighbours = self._neighbours
        if changed.size:
            neighbours = derive(neighbours, _keys(buffers, columns), alive, changed)
        return BankView(
            version=self._version,
            alive=alive,
            all_alive=bool(alive.all()),
            neighbours=neighbours,
            entity_numbers=buffers.entities.flat(),
            entity_owners=buffers.entities.owners(),
            entity_offsets=buffers.entities.offsets(),
            vectors={space: held.view() for space, held in buffers.vectors.items()},
            buffers=buffers,
            **columns,
        )


def _rows_of(column: Int64Array, seqs: Int64Array) -> Int32Array:
    """Places of the `seqs` in an ascending column; those that are not there are left out."""
    if not len(column) or not len(seqs):
        return np.empty(0, np.int32)
    rows = np.searchsorted(column, seqs)
    rows[rows == len(column)] = 0
    found: Int32Array = rows[column[rows] == seqs].astype(np.int32)
    return found


def _append(buffers: Buffers, rows: Sequence[FactRow]) -> None:
    if not rows:
        return
    values: dict[str, Iterable[Any]] = {
        "seq": [row.seq for row in rows],
        "fact_type": [FACT_TYPES.index(row.fact_type) for row in rows],
        "document": [buffers.documents.number(row.document_id) for row in rows],
        "turn": [row.turn_index for row in rows],
        "context": [_optional(buffers.contexts, (row.context or "").strip()) for row in rows],
        "explicit": [_optional(buffers.sessions, row.session) for row in rows],
        "speaker": [_optional(buffers.speakers, row.speaker) for row in rows],
        "mentioned": [row.mentioned_at for row in rows],
        "start": [row.occurred_start for row in rows],
        "end": [row.occurred_end for row in rows],
        "length": [row.length for row in rows],
        "tokens": [row.tokens for row in rows],
        "flags": [row.flags for row in rows],
        "proof": [row.proof_count for row in rows],
        "tagset": [buffers.tagsets.number(frozenset(row.tags)) for row in rows],
        "fold": [row.fold for row in rows],
    }
    for name, column in buffers.columns.items():
        column.extend(np.asarray(values[name], COLUMNS[name]))
    buffers.entities.extend([row.entities for row in rows])
    buffers.speaker_names.learn(buffers.speakers.values)


def _optional(interner: Interner[str], value: str | None) -> int:
    return interner.number(value) if value else -1


def _append_vectors(buffers: Buffers, seq: Int64Array, vectors: Mapping[str, tuple[Int64Array, Float32Array]]) -> None:
    for space, (seqs, matrix) in vectors.items():
        if not len(seqs):
            continue
        if space not in buffers.vectors:
            buffers.vectors[space] = VectorBuffers(matrix.shape[1])
        known = np.isin(seqs, seq)
        rows = np.searchsorted(seq, seqs[known])
        buffers.vectors[space].extend(rows, matrix if known.all() else matrix[known])


def _keys(buffers: Buffers, columns: Mapping[str, Any]) -> Keys:
    turns = columns["fact_type"] != _OBSERVATION
    adapters = [number for number, name in enumerate(buffers.contexts.values) if name.casefold() in ADAPTER_CONTEXTS]
    return Keys(
        document=np.where(turns, columns["document"], -1),
        turn=columns["turn"],
        context=np.where(turns, columns["context"], -1),
        adapter=np.isin(columns["context"], adapters),
        explicit=np.where(turns, columns["explicit"], -1),
        time=columns["mentioned"],
    )
