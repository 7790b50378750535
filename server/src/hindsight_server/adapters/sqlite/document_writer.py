"""Documents as they are written: each replaced, appended to, or written anew where a job had left its words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from hindsight_server.adapters.sqlite.carrying import carry_over, without
from hindsight_server.adapters.sqlite.facts_write import NewFact, delete_facts, insert_facts, move_facts
from hindsight_server.adapters.sqlite.names import EntityNumbers, add_label_tags
from hindsight_server.adapters.sqlite.queries import column, one_row
from hindsight_server.adapters.sqlite.replacing import (
    Place,
    Replacing,
    StoredChunk,
    StoredDocument,
    after_part,
    as_changed,
    chunk_begins,
    chunk_row,
    is_same,
    place_of,
    replacements_in,
    stale,
    stamps,
)
from hindsight_server.adapters.sqlite.scoping import rescope
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_json
from hindsight_server.domain.ids import chunk_id
from hindsight_server.domain.model import FactState, UpdateMode
from hindsight_server.ports.records import DocumentWrite, Operation

# Ordinals of a part's chunks start at part * _PART, so that no two chunks of a document ever share hash and ordinal.
_PART = 1 << 20
# Rows that are gathered and inserted together, parents first.
_DEFERRED = ("documents.write", "documents.insert_part", "documents.insert_chunk")


class DocumentWriter:
    """Writes documents one after another and their facts together, so that each table is visited once."""

    def __init__(self, session: BankSession) -> None:
        self._session = session
        self._numbers = EntityNumbers(session)
        self._facts: list[NewFact] = []
        self._rows: dict[str, list[Any]] = {statement: [] for statement in _DEFERRED}
        self._touched: set[str] = set()
        self._replacing: dict[str, Replacing] = {}
        self._unchanged: set[str] = set()
        self.left_out: set[str] = set()  # ids of facts beside which what a person changed holds

    def write_all(self, documents: Sequence[DocumentWrite], operation: Operation | None) -> bool:
        """Replace documents, or append parts to them, in order; whether anything is different now."""
        written = False
        documents = as_changed(self._session, documents)
        replacements = replacements_in(documents)
        for at, document in enumerate(documents):
            document_id = document.document_id
            if at in replacements:
                self._begin(replacements[at])
            if document_id in self._unchanged:
                continue
            self._write(document, operation)
            written = True
        self.flush()
        self._drop_left(list(self._replacing))
        return written

    def _begin(self, parts: Sequence[DocumentWrite]) -> None:
        """Get ready to replace a document by some parts."""
        document_id = parts[0].document_id
        key = (self._session.bank_id, document_id)
        if document_id in self._touched:
            self.flush()
        self._drop_left([document_id] if document_id in self._replacing else [])
        self._unchanged.discard(document_id)
        row = one_row(self._session.connection, "documents.read", key)
        stored = None if row is None else StoredDocument(*row)
        _check_expected(parts[0], stored)
        if stored is None:
            return
        chunks = self._chunks("documents.chunks_of_document", key)
        after = None
        for number, part in enumerate(parts, start=stored.next_part):
            after = after_part(after, part, number)
        assert after is not None
        if is_same(parts, after, stored, chunks):
            self._unchanged.add(document_id)
            return
        self._session.connection.execute(sql("documents.delete_parts"), key)
        keeps = frozenset(one for part in parts for one in part.kept_hashes)
        self._replacing[document_id] = Replacing(stored, chunks, stamps(after) != stamps(stored), keeps)

    def _write(self, document: DocumentWrite, operation: Operation | None) -> None:
        """Replace a document, or append a part to it."""
        session, key = self._session, (self._session.bank_id, document.document_id)
        if document.document_id in self._touched:
            self.flush()
        self._touched.add(document.document_id)
        row = one_row(session.connection, "documents.read", key)
        stored = None if row is None else StoredDocument(*row)
        appended = document.mode is UpdateMode.APPEND and stored is not None
        place = Place(stored.next_part if stored else 0, stored.turn_count if stored and appended else 0)
        self._write_document(document, stored if appended else None, place)
        # A part without facts waits too, so that the job finds as many parts as it wrote.
        waits_for = operation.operation_id if operation is not None and operation.status == "pending" else None
        self._rows["documents.insert_part"].append(
            (
                *key,
                place.part,
                place.first_turn,
                document.turn_count,
                waits_for,
                to_json(dict(document.source)),
                document.text,
            )
        )
        replacing = self._replacing.get(document.document_id)
        if replacing is None:
            self._place_chunks(document, place, [])
            return
        kept, carried = self._place_chunks(document, place, replacing.left)
        taken = {chunk.chunk_id for chunk in kept}
        replacing.left = [chunk for chunk in replacing.left if chunk.chunk_id not in taken]
        if (kept or carried) and replacing.restamps:
            seqs = [*carried, *self._seqs_of(document.document_id, kept)]
            _restamp(self._session, document, replacing.before, seqs)

    def rewrite(self, document: DocumentWrite, part: int, first_turn: int) -> None:
        """Write a part's chunks and facts anew, where they stand."""
        key = (self._session.bank_id, document.document_id)
        old = self._chunks("documents.chunks_of_part", (*key, part))
        self._place_chunks(document, Place(part, first_turn), old, drops=True)
        self._session.connection.execute(sql("documents.part_done"), (*key, part))
        self._session.connection.execute(sql("documents.touch"), (self._session.now, *key))

    def flush(self) -> None:
        """Insert the rows and the facts that were gathered."""
        for statement, rows in self._rows.items():
            self._session.connection.executemany(sql(statement), rows)
            rows.clear()
        insert_facts(self._session, self._facts)
        self._facts = []
        self._touched.clear()

    def _write_document(self, document: DocumentWrite, before: StoredDocument | None, place: Place) -> None:
        """`before` is the document that is appended to, or None."""
        after = after_part(before, document, place.part)
        values: dict[str, Any] = {name: getattr(after, name) for name in StoredDocument.__slots__}
        values |= {
            "bank_id": self._session.bank_id,
            "document_id": document.document_id,
            "now": self._session.now,
        }
        self._rows["documents.write"].append(values)

    def _chunks(self, statement: str, key: tuple[Any, ...]) -> list[StoredChunk]:
        return [StoredChunk(*row) for row in self._session.connection.execute(sql(statement), key)]

    def _place_chunks(
        self, document: DocumentWrite, place: Place, old: list[StoredChunk], *, drops: bool = False
    ) -> tuple[list[StoredChunk], tuple[int, ...]]:
        """Put the part's chunks where they belong, keeping the ones that may stay; those, and the numbers of facts that
        stay though their chunks don't.

        `drops` deletes the other old ones; without it they are left to the document's further parts.
        """
        available: defaultdict[str, list[StoredChunk]] = defaultdict(list)
        for chunk in old:
            if chunk.complete and chunk.content_hash in document.kept_hashes:
                available[chunk.content_hash].append(chunk)
        seen: set[str] = set()
        kept: dict[int, StoredChunk] = {}
        for wanted in document.chunks:
            if available[wanted.content_hash]:
                kept[wanted.index] = available[wanted.content_hash].pop(0)
            elif wanted.content_hash in document.kept_hashes - seen:
                raise stale(document)
            seen.add(wanted.content_hash)
        staying = {chunk.chunk_id for chunk in kept.values()}
        ids = self._insert_chunks(document, place, kept)
        leaving = [chunk for chunk in old if chunk.chunk_id not in staying]
        replacing = self._replacing.get(document.document_id)
        going = [chunk for chunk in leaving if replacing is None or chunk.content_hash not in replacing.keeps]
        new = {index: identifier for index, identifier in ids.items() if index not in kept}
        carried = carry_over(self._session, document, place, going, new)
        self.left_out |= carried.left_out
        if drops:
            self._drop_chunks(document.document_id, leaving, carried.seqs)
        if kept:
            self._move_kept(document, place, kept)
        self._gather_facts(without(document, carried.left_out), place, kept, ids)
        return list(kept.values()), carried.seqs

    def _drop_left(self, document_ids: Iterable[str]) -> None:
        """Delete what replaced documents don't hold any more."""
        for document_id in document_ids:
            self._drop_chunks(document_id, self._replacing.pop(document_id).left)

    def _drop_chunks(self, document_id: str, chunks: list[StoredChunk], but: Collection[int] = ()) -> None:
        session = self._session
        delete_facts(session, set(self._seqs_of(document_id, chunks)).difference(but))
        session.connection.executemany(
            sql("documents.delete_chunk"), [(session.bank_id, chunk.chunk_id) for chunk in chunks]
        )

    def _move_kept(self, document: DocumentWrite, place: Place, kept: Mapping[int, StoredChunk]) -> None:
        session = self._session
        first_turns = {chunk.index: place.first_turn + chunk.first_turn for chunk in document.chunks}
        moved = {
            index: chunk
            for index, chunk in kept.items()
            if (chunk.part, chunk.position, chunk.first_turn) != (place.part, index, first_turns[index])
        }
        # Through negative positions, since two chunks may swap places.
        for sign in (-1, 1):
            session.connection.executemany(
                sql("documents.place_chunk"),
                [
                    (place.part, index if sign > 0 else -1 - index, first_turns[index], session.bank_id, chunk.chunk_id)
                    for index, chunk in moved.items()
                ],
            )
        shifted = []
        for index, chunk in moved.items():
            shift = first_turns[index] - chunk.first_turn
            if shift:
                key = (session.bank_id, document.document_id, chunk.chunk_id)
                seqs = column(session.connection, "facts.seqs_of_chunk", key)
                values = [(shift, session.bank_id, seq) for seq in seqs]
                session.connection.executemany(sql("facts.shift_turn"), values)
                shifted += seqs
        if shifted:
            move_facts(session, shifted)

    def _insert_chunks(self, document: DocumentWrite, place: Place, kept: Mapping[int, StoredChunk]) -> dict[int, str]:
        """Insert the chunks that are new; the id of each chunk of the part, by its index."""
        session = self._session
        pending = {fact.extracted.chunk_index for fact in document.facts if fact.state is FactState.PENDING}
        taken = {(chunk.content_hash, chunk.ordinal) for chunk in kept.values()}
        ids = {index: chunk.chunk_id for index, chunk in kept.items()}
        for chunk in document.chunks:
            if chunk.index in kept:
                continue
            ordinal = place.part * _PART
            while (chunk.content_hash, ordinal) in taken:
                ordinal += 1
            taken.add((chunk.content_hash, ordinal))
            ids[chunk.index] = chunk_id(session.bank_id, document.document_id, chunk.content_hash, ordinal)
            complete = int(chunk.complete and chunk.index not in pending)
            row = chunk_row(session, document.document_id, place, chunk, (ids[chunk.index], ordinal, complete))
            self._rows["documents.insert_chunk"].append(row)
        return ids

    def _gather_facts(
        self, document: DocumentWrite, place: Place, kept: Mapping[int, StoredChunk], chunk_ids: Mapping[int, str]
    ) -> None:
        tags = to_json(document.tags)
        metadata = to_json(dict(document.metadata))
        begins = chunk_begins(document)
        self._facts += [
            NewFact(
                fact,
                document.document_id,
                chunk_ids.get(fact.extracted.chunk_index),
                place.first_turn,
                document.context,
                metadata,
                tags,
                self._numbers.of(fact.extracted.entities, fact.extracted.spoken),
                place_of(fact.extracted, begins),
            )
            for fact in document.facts
            if fact.extracted.chunk_index not in kept
        ]

    def _seqs_of(self, document_id: str, chunks: Iterable[StoredChunk]) -> list[int]:
        """The numbers of the chunks' facts."""
        keys = [(self._session.bank_id, document_id, chunk.chunk_id) for chunk in chunks]
        return [seq for key in keys for seq in column(self._session.connection, "facts.seqs_of_chunk", key)]


def _restamp(session: BankSession, document: DocumentWrite, stored: StoredDocument, seqs: Sequence[int]) -> None:
    """Give facts that stay the tags, context and metadata of their part."""
    tags, metadata = to_json(document.tags), to_json(dict(document.metadata))
    new_tags = tags if tags != stored.tags else None
    values = [(new_tags, document.context, metadata, session.bank_id, seq) for seq in seqs]
    session.connection.executemany(sql("facts.set_source"), values)
    add_label_tags(session, seqs)
    rescope(session, document.document_id, seqs)
    move_facts(session, seqs)


def _check_expected(document: DocumentWrite, stored: StoredDocument | None) -> None:
    expected = document.expected_hash
    if expected is None or document.mode is UpdateMode.APPEND:
        return
    if stored is None or stored.content_hash != expected:
        raise stale(document)
