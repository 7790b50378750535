"""A bank as columns in memory: what ranking reads instead of the store.

A `BankView` never changes. `advanced` makes the next one out of a `Snapshot`, sharing the buffers, so that a recall
which still reads the older view is not disturbed and a write costs the next recall only what it added.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_server.domain.identity import ADAPTER_CONTEXTS
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.columns import Column, Interner, Ragged
from hindsight_server.engine.recall.neighbours import Keys, Neighbours, derive
from hindsight_server.engine.recall.speakers import SpeakerNames
from hindsight_server.engine.recall.vectors import VectorBuffers, Vectors
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

_COLUMNS: Mapping[str, npt.DTypeLike] = {
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
}


@dataclass(slots=True)
class _Buffers:
    """What the successive views of one bank share; only `BankView.advanced` of the newest view writes to it."""

    columns: dict[str, Column] = field(
        default_factory=lambda: {name: Column(dtype) for name, dtype in _COLUMNS.items()}
    )
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
    alive: BoolArray
    neighbours: Neighbours
    entity_numbers: Int32Array
    entity_owners: Int32Array
    entity_offsets: Int64Array
    vectors: Mapping[str, Vectors]
    buffers: _Buffers
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
        if not len(self.seq):
            return np.empty(0, np.int32)
        rows = np.searchsorted(self.seq, seqs)
        rows[rows == len(self.seq)] = 0
        found: Int32Array = rows[self.seq[rows] == seqs].astype(np.int32)
        return found

    def entities_of(self, row: int) -> Int32Array:
        """Entity numbers of one row."""
        return self.entity_numbers[self.entity_offsets[row] : self.entity_offsets[row + 1]]

    @classmethod
    def built(cls, snapshot: Snapshot) -> BankView:
        """A view of everything, from a snapshot taken with mark (0, 0)."""
        return _view(_Buffers(), snapshot, np.empty(0, np.bool_), Neighbours.empty())

    def advanced(self, snapshot: Snapshot) -> BankView:
        """The next view, from a snapshot taken with this view's mark. Only for the newest view of its buffers."""
        if snapshot.rebuild:
            return BankView.built(snapshot)
        return _view(self.buffers, snapshot, self.alive, self.neighbours, self)


def _view(
    buffers: _Buffers, snapshot: Snapshot, alive: BoolArray, neighbours: Neighbours, before: BankView | None = None
) -> BankView:
    size = len(alive)
    _append(buffers, snapshot.rows)
    columns: dict[str, Any] = {name: column.view() for name, column in buffers.columns.items()}
    removed = before.rows_of(snapshot.removed) if before is not None else np.empty(0, np.int32)
    alive = np.concatenate([alive, np.ones(len(snapshot.rows), np.bool_)])
    alive[removed] = False
    changed = np.concatenate([removed, np.arange(size, len(alive), dtype=np.int32)])
    if changed.size:
        neighbours = derive(neighbours, _keys(buffers, columns), alive, changed)
    _append_vectors(buffers, columns["seq"], snapshot.vectors)
    return BankView(
        version=snapshot.version,
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


def _append(buffers: _Buffers, rows: Sequence[FactRow]) -> None:
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
    }
    for name, column in buffers.columns.items():
        column.extend(np.asarray(values[name], _COLUMNS[name]))
    buffers.entities.extend([row.entities for row in rows])
    buffers.speaker_names.learn(buffers.speakers.values)


def _optional(interner: Interner[str], value: str | None) -> int:
    return interner.number(value) if value else -1


def _append_vectors(buffers: _Buffers, seq: Int64Array, vectors: Mapping[str, tuple[Int64Array, Float32Array]]) -> None:
    for space, (seqs, matrix) in vectors.items():
        if not len(seqs):
            continue
        if space not in buffers.vectors:
            buffers.vectors[space] = VectorBuffers(matrix.shape[1])
        known = np.isin(seqs, seq)
        rows = np.searchsorted(seq, seqs[known])
        buffers.vectors[space].extend(rows, matrix if known.all() else matrix[known])


def _keys(buffers: _Buffers, columns: Mapping[str, Any]) -> Keys:
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
