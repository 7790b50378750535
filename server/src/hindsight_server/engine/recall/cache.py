"""Views and posting lists kept in memory, bounded by bytes and kept equal with the store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.images import ImageKeeper
from hindsight_server.engine.recall.view import BankView, Float32Array, Int8Array, Int32Array, Int64Array, ViewBuilder
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.store import Store

T = TypeVar("T")

_PIECE_ROWS = 20_000  # of a bank read anew; a recall that is given up stops between two pieces
_FIRST_ROWS = 2000  # most banks are not larger, and have no image that were worth to look for
_INLINE_ROWS = 500  # advancing by fewer rows is quicker than a hop to a thread
# What is kept of a term or fact beyond its numbers, as resident memory grows: the key, its place, heads of arrays.
_POSTINGS_BYTES = 500
_VECTORS_BYTES = 250
_BANK_BYTES = 20_000  # a bank's empty columns and tables, roughly
_MOST_FACTS = 2048
_FACT_BYTES = 2000  # roughly
_NO_ROWS = np.empty(0, np.int32)
_NO_SEQS = np.empty(0, np.int64)
_NO_COUNTS = np.empty(0, np.float32)
_NO_VECTORS = np.empty((0, 0), np.int8)


class BankMoved(Exception):
    """Facts were replaced or deleted while they were looked for; the recall begins again, once."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Rows that hold a term (ascending) and how often, as of a version of the bank."""

    version: int
    last_seq: int
    rows: Int32Array
    counts: Float32Array

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.counts.nbytes + _POSTINGS_BYTES

    def up_to(self, size: int) -> Postings:
        """The part that lies in the first `size` rows, for a view older than this."""
        if not len(self.rows) or self.rows[-1] < size:
            return self
        cut = int(np.searchsorted(self.rows, size))
        return Postings(self.version, self.last_seq, self.rows[:cut], self.counts[:cut])


_NOTHING = Postings(-1, 0, _NO_ROWS, _NO_COUNTS)


@dataclass(slots=True)
class Warm:
    """What is kept of one bank: its newest view, posting lists, token vectors, words of questions, facts of the newest
    version, settings.

    `lock` guards making the next view.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    view: BankView | None = None
    postings: OrderedDict[str, Postings] = field(default_factory=OrderedDict)
    vectors: OrderedDict[tuple[str, int], Int8Array] = field(default_factory=OrderedDict)
    questions: OrderedDict[int, frozenset[str]] = field(default_factory=OrderedDict)
    facts: OrderedDict[int, Fact] = field(default_factory=OrderedDict)
    config: Mapping[str, Any] = field(default_factory=dict)
    posting_bytes: int = 0
    vector_bytes: int = 0

    @property
    def nbytes(self) -> int:
        kept = _BANK_BYTES + self.posting_bytes + self.vector_bytes + _FACT_BYTES * len(self.facts)
        return kept + (_view_bytes(self.view) if self.view else 0)

    def remember(self, questions: Mapping[int, frozenset[str]]) -> None:
        """Keep the words of questions, by `seq`, as many as of facts."""
        self.questions.update(questions)
        while len(self.questions) > _MOST_FACTS:
            self.questions.popitem(last=False)

    def forget(self) -> None:
        """Drop what is numbered by rows of a view that is gone."""
        self.postings.clear()
        self.vectors.clear()
        self.questions.clear()
        self.facts.clear()
        self.posting_bytes = self.vector_bytes = 0


class ViewCache:
    """The views of the banks used last.

    Every `get` asks the store what changed, so that a view is never older than the writes acknowledged before it.

    Args:
        store: where the banks are.
        max_bytes: memory of all banks together; the view of the bank in use is kept even above it.
        posting_bytes: memory of one bank's posting lists; never more than half of `max_bytes`.
        vector_bytes: memory of one bank's token vectors; never more than a quarter of `max_bytes`.
        images: keeps images of big banks; by default one of its own.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_bytes: int = 512 * 2**20,
        posting_bytes: int = 32 * 2**20,
        vector_bytes: int = 16 * 2**20,
        images: ImageKeeper | None = None,
    ) -> None:
        self._store = store
        self._images = images or ImageKeeper(store)
        self._max_bytes = max_bytes
        self._posting_bytes = min(posting_bytes, max_bytes // 2)
        self._vector_bytes = min(vector_bytes, max_bytes // 4)
        self._banks: OrderedDict[str, Warm] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._total = 0

    async def get(self, bank_id: str) -> tuple[Warm, BankView]:
        """The bank's view as of now. Raises BankNotFound."""
        warm = self._banks.setdefault(bank_id, Warm())
        async with warm.lock:
            try:
                view = await self._newest(bank_id, warm)
            except BankNotFound:
                self._drop(bank_id)
                raise
        self._banks[bank_id] = warm
        self._banks.move_to_end(bank_id)
        self._weigh(bank_id, warm)
        return warm, view

    @property
    def nbytes(self) -> int:
        """Bytes held, approximately."""
        return self._total

    async def close(self) -> None:
        """Finish what is done in the background; before the store is closed."""
        await self._images.close()

    def _weigh(self, bank_id: str, warm: Warm) -> None:
        """Note what a bank takes now, and make room."""
        if self._banks.get(bank_id) is not warm:
            return
        size = warm.nbytes
        self._total += size - self._sizes.get(bank_id, 0)
        self._sizes[bank_id] = size
        while self._total > self._max_bytes and len(self._banks) > 1:
            self._drop(next(iter(self._banks)))

    def _drop(self, bank_id: str) -> None:
        warm = self._banks.pop(bank_id, None)
        self._total -= self._sizes.pop(bank_id, 0)
        if warm is not None and warm.view is not None:
            _let_go(warm.view)

    async def _newest(self, bank_id: str, warm: Warm) -> BankView:
        view = warm.view
        if view is not None:
            snapshot = await self._store.snapshot(bank_id, view.last_seq, view.version)
            warm.config = snapshot.config
            if len(snapshot.removed) or snapshot.rebuild:
                self._images.removed(bank_id)
            if snapshot.version == view.version and not snapshot.rebuild:
                return view
            if snapshot.version > view.version and not snapshot.rebuild:
                # From here the buffers hold more than this view knows: if the step fails, it can't be the start of one.
                warm.view = None
                before = view
                view = await _run(len(snapshot.rows) + len(view) // 50, partial(view.advanced, snapshot))
                _let_go(before)
                if not view.wasteful:
                    warm.facts.clear()
                    warm.view = view
                    self._images.offer(bank_id, view)
                    return view
        warm.forget()
        view = warm.view = await self._whole(bank_id, warm)
        self._images.offer(bank_id, view)
        return view

    async def _whole(self, bank_id: str, warm: Warm) -> BankView:
        """A view made of the bank's image and what came after it, or of all its facts; read piece by piece."""
        first = min(_FIRST_ROWS, self._images.few)
        builder, limit = ViewBuilder(), first
        while True:
            snapshot = await self._store.snapshot(bank_id, *builder.mark, limit=limit)
            if limit == first and not snapshot.complete:
                limit = _PIECE_ROWS
                kept = await self._images.load(bank_id)
                if kept is not None:
                    builder = kept
                    continue
            if len(snapshot.removed) or snapshot.rebuild:
                self._images.removed(bank_id)
            if snapshot.rebuild:
                builder = ViewBuilder()
            await _run(len(snapshot.rows), partial(builder.add, snapshot))
            if snapshot.complete:
                warm.config = snapshot.config
                return await _run(builder.mark[0], builder.finish)

    async def add_vectors(self, bank_id: str, vectors: Mapping[int, Encoding]) -> None:
        """Store vectors of facts, by `seq`, in one further space, and let the bank's newest view have them."""
        if not await self._store.add_vectors(bank_id, vectors):
            return
        self._images.removed(bank_id)
        warm = self._banks.get(bank_id)
        if warm is None:
            return
        seqs = np.array(sorted(vectors), np.int64)
        matrix = np.stack([vectors[seq].vector for seq in seqs.tolist()])
        async with warm.lock:
            before = warm.view
            if before is not None:
                space = vectors[int(seqs[0])].space
                warm.view = await _run(len(before) // 50, partial(before.with_vectors, space, seqs, matrix))
                _let_go(before)
        self._weigh(bank_id, warm)

    async def postings(
        self, bank_id: str, warm: Warm, view: BankView, terms: Sequence[str], *, strict: bool = False
    ) -> dict[str, Postings]:
        """Posting lists of the terms over the view's rows; dead rows may be among them.

        Raises:
            BankMoved: with `strict`, when the store holds newer facts with these terms. They may have taken the places
                of facts of the view, whose postings are then gone.
        """
        wanted = dict.fromkeys(terms)
        known = {term: warm.postings.get(term, _NOTHING) for term in wanted}
        marks = {term: entry.last_seq for term, entry in known.items() if entry.version < view.version}
        found = await self._store.postings(bank_id, marks) if marks else {}
        if strict and any(len(seqs) and seqs[-1] > view.last_seq for seqs, _ in found.values()):
            raise BankMoved
        for term in marks:
            seqs, counts = found.get(term, (_NO_SEQS, _NO_COUNTS))
            known[term] = _extended(known[term], view, seqs, counts)
        # A rebuild may have renumbered the rows meanwhile, another recall may have read further.
        if warm.view is not None and warm.view.buffers is view.buffers:
            for term in wanted:
                self._keep_postings(warm, term, known[term])
            self._shrink_postings(warm)
            self._weigh(bank_id, warm)
        return {term: entry.up_to(len(view)) for term, entry in known.items()}

    def _keep_postings(self, warm: Warm, term: str, entry: Postings) -> None:
        held = warm.postings.pop(term, None)
        if held is not None:
            warm.posting_bytes -= held.nbytes
            if held.version > entry.version:
                entry = held
        warm.postings[term] = entry
        warm.posting_bytes += entry.nbytes

    def _shrink_postings(self, warm: Warm) -> None:
        while warm.posting_bytes > self._posting_bytes and warm.postings:
            warm.posting_bytes -= warm.postings.popitem(last=False)[1].nbytes

    async def token_vectors(self, bank_id: str, warm: Warm, space: str, seqs: Sequence[int]) -> dict[int, Int8Array]:
        """Token vectors of those facts that have any in the space."""
        kept = warm.vectors
        result = {seq: kept[space, seq] for seq in seqs if (space, seq) in kept}
        missing = [seq for seq in seqs if seq not in result]
        if missing:
            read: Mapping[int, Int8Array] = await self._store.token_vectors(bank_id, space, missing)
            for seq in missing:
                vectors = result[seq] = read.get(seq, _NO_VECTORS)
                if (space, seq) not in kept:
                    kept[space, seq] = vectors
                    warm.vector_bytes += vectors.nbytes + _VECTORS_BYTES
        for seq in seqs:
            if (space, seq) in kept:
                kept.move_to_end((space, seq))
        while warm.vector_bytes > self._vector_bytes and kept:
            warm.vector_bytes -= kept.popitem(last=False)[1].nbytes + _VECTORS_BYTES
        self._weigh(bank_id, warm)
        return result

    async def facts(self, bank_id: str, warm: Warm, view: BankView, seqs: Sequence[int]) -> dict[int, Fact]:
        """Facts by number; those that are gone are left out. Kept until the bank's next version."""
        result = {seq: warm.facts[seq] for seq in seqs if seq in warm.facts}
        missing = [seq for seq in seqs if seq not in result]
        if missing:
            read = {fact.seq: fact for fact in await self._store.facts(bank_id, missing)}
            result |= read
            if warm.view is view:
                warm.facts |= read
        for seq in result:
            if seq in warm.facts:
                warm.facts.move_to_end(seq)
        while len(warm.facts) > _MOST_FACTS:
            warm.facts.popitem(last=False)
        self._weigh(bank_id, warm)
        return result


def _extended(entry: Postings, view: BankView, seqs: Int64Array, counts: Int32Array | Float32Array) -> Postings:
    fresh = (seqs > entry.last_seq) & (seqs <= view.last_seq)
    if not fresh.any():  # most words of a question, and most of the time
        return Postings(view.version, view.last_seq, entry.rows, entry.counts)
    rows = np.searchsorted(view.seq, seqs[fresh]).astype(np.int32)
    exact = view.seq[rows] == seqs[fresh]
    return Postings(
        view.version,
        view.last_seq,
        np.concatenate([entry.rows, rows[exact]]),
        np.concatenate([entry.counts, counts[fresh][exact].astype(np.float32)]),
    )


def _view_bytes(view: BankView) -> int:
    """Bytes of a view, added up once: every recall weighs its bank several times."""
    known = view.memo.get("nbytes")
    if not isinstance(known, int):
        known = view.memo["nbytes"] = view.nbytes
    return known


def _let_go(view: BankView) -> None:
    """What was worked out from a view refers back to it: without this it would stay until garbage is collected."""
    view.memo.clear()


async def _run(rows: int, make: Callable[[], T]) -> T:
    return make() if rows < _INLINE_ROWS else await asyncio.to_thread(make)
