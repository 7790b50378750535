"""Forgetting: facts with all that rests on them, and their words in the documents that they came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import apsw

from hindsight_server.adapters.sqlite.attachments import forget_drawn
from hindsight_server.adapters.sqlite.facts_write import delete_facts
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_document_tag_sets, matching_fact_tag_sets
from hindsight_server.adapters.sqlite.values import to_json
from hindsight_server.domain.forgetting import Cutting, Source, chunk_starts, cut_sources, is_blank, spoken
from hindsight_server.domain.ids import content_hash
from hindsight_server.ports.forgetting import ForgetWrite, Forgotten


class _Part(NamedTuple):
    number: int
    text: str
    pending_operation_id: str | None


class _Place(NamedTuple):
    """A fact's place, as stored."""

    seq: int
    chunk_id: str | None
    start: int | None
    length: int | None
    text: str
    speaker: str | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    chunk_id: str
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is to be forgotten: facts by document, whole documents, and ids that there are none of."""

    facts: dict[str, set[int]]
    whole: set[str]
    missing: tuple[str, ...]


def forget(connection: apsw.Connection, write: ForgetWrite, now: datetime) -> Forgotten:
    """See `Store.forget`."""
    session = BankSession(connection, write.bank_id, now)
    chosen = _chosen(session, write)
    deleted: set[str] = set(chosen.whole)
    seqs: list[int] = []
    for document_id in chosen.whole:
        seqs += column(connection, "facts.seqs_of_document", (write.bank_id, document_id))
    changed = []
    for document_id, of_document in chosen.facts.items():
        seqs += of_document
        if not document_id:
            # Observations are of no document; their words go with them.
            continue
        if not write.dry_run:
            forget_drawn(connection, write.bank_id, document_id, of_document)
        if write.dry_run or _cut_document(session, document_id, of_document):
            changed.append(document_id)
        else:
            deleted.add(document_id)
    if not write.dry_run:
        delete_facts(session, seqs)
        for document_id in sorted(deleted):
            _delete_document(session, document_id)
        session.save()
    return Forgotten(
        facts=len(seqs),
        documents_changed=tuple(sorted(changed)),
        documents_deleted=tuple(sorted(deleted)),
        missing=chosen.missing,
    )


def _chosen(session: BankSession, write: ForgetWrite) -> _Chosen:
    connection, bank_id = session.connection, session.bank_id
    if write.document_ids:
        known = {
            document_id
            for document_id in write.document_ids
            if document_id and one_row(connection, "documents.read", (bank_id, document_id)) is not None
        }
        return _Chosen({}, known, tuple(one for one in dict.fromkeys(write.document_ids) if one not in known))
    if write.tags is None:
        wanted = {"bank_id": bank_id, "ids": to_json(list(dict.fromkeys(write.fact_ids)))}
        rows = all_rows(connection, "forgetting.seqs_of_ids", wanted)
        found = {fact_id for _, fact_id, _ in rows}
        missing = tuple(one for one in dict.fromkeys(write.fact_ids) if one not in found)
        return _Chosen(_by_document(rows), set(), missing)
    tag_sets = matching_fact_tag_sets(connection, bank_id, write.tags)
    facts = _by_document(
        all_rows(connection, "forgetting.seqs_of_tag_sets", {"bank_id": bank_id, "tag_sets": tag_sets})
    )
    tag_sets = matching_document_tag_sets(connection, bank_id, write.tags)
    tagged = column(connection, "forgetting.documents_of_tag_sets", {"bank_id": bank_id, "tag_sets": tag_sets})
    whole = {document_id for document_id in tagged if _is_all(session, document_id, facts.get(document_id, set()))}
    return _Chosen({one: seqs for one, seqs in facts.items() if one not in whole}, whole, ())


def _is_all(session: BankSession, document_id: str, seqs: set[int]) -> bool:
    """Whether a document, which bears the tags itself, has no other facts than these."""
    return seqs.issuperset(column(session.connection, "facts.seqs_of_document", (session.bank_id, document_id)))


def _by_document(rows: Iterable[tuple[int, str, str]]) -> dict[str, set[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for seq, _, document_id in rows:
        found[document_id].add(seq)
    return dict(found)


def _delete_document(session: BankSession, document_id: str) -> None:
    key = {"bank_id": session.bank_id, "document_id": document_id, "now": session.now}
    session.connection.execute(sql("documents.delete"), (session.bank_id, document_id))
    session.connection.execute(sql("operations.drop_pointless"), key)


def _cut_document(session: BankSession, document_id: str, seqs: set[int]) -> bool:
    """Take the words of some facts out of a document; False when nothing is left of it."""
    connection, key = session.connection, (session.bank_id, document_id)
    parts = [_Part(*row) for row in all_rows(connection, "forgetting.parts", key)]
    chunks = _chunks_by_part(parts, all_rows(connection, "forgetting.chunks", key))
    places = [_Place(*row) for row in all_rows(connection, "forgetting.places", key)]
    part_of = {chunk.chunk_id: number for number, held in chunks.items() for chunk in held}
    touched = {part_of[place.chunk_id] for place in places if place.seq in seqs and place.chunk_id in part_of}
    texts = {part.number: part.text for part in parts}
    for part in parts:
        if part.number in touched:
            held = [place for place in places if place.chunk_id and part_of.get(place.chunk_id) == part.number]
            texts[part.number] = _cut_part(session, document_id, part, chunks[part.number], (held, seqs))
            if is_blank(texts[part.number]) and part.pending_operation_id is None:
                connection.execute(sql("forgetting.delete_part"), (*key, part.number))
                del texts[part.number]
    if len(places) == len(seqs) and all(map(is_blank, texts.values())):
        return False
    digest = content_hash("\0".join(texts.values()))
    length = sum(map(len, texts.values()))
    connection.execute(sql("forgetting.changed_document"), (digest, length, session.now, *key))
    return True


def _chunks_by_part(parts: Sequence[_Part], rows: Iterable[tuple[str, int, str]]) -> dict[int, list[_Chunk]]:
    found: dict[int, list[tuple[str, str]]] = {part.number: [] for part in parts}
    for chunk_id, number, text in rows:
        found[number].append((chunk_id, text))
    placed = {}
    for part in parts:
        held = found[part.number]
        starts = chunk_starts(part.text, [text for _, text in held])
        placed[part.number] = [
            _Chunk(chunk_id, start, text) for (chunk_id, text), start in zip(held, starts, strict=True)
        ]
    return placed


def _cut_part(
    session: BankSession, document_id: str, part: _Part, chunks: Sequence[_Chunk], facts: tuple[list[_Place], set[int]]
) -> str:
    """Write a part and its chunks without the words of the chosen facts; the part's text."""
    places, seqs = facts
    by_id = {chunk.chunk_id: chunk for chunk in chunks}
    sources = {place.seq: _source(by_id[place.chunk_id], place) for place in places if place.chunk_id}
    forgotten = [source for seq, source in sources.items() if seq in seqs]
    kept = {seq: source for seq, source in sources.items() if seq not in seqs}
    cutting = cut_sources(part.text, forgotten, list(kept.values()))
    session.connection.execute(sql("forgetting.set_part"), (cutting.text, session.bank_id, document_id, part.number))
    left = {place.chunk_id for place in places if place.seq not in seqs}
    for chunk in chunks:
        _cut_chunk(session, chunk, cutting, is_needed=chunk.chunk_id in left)
    starts = {place.seq: cutting.moved(by_id[place.chunk_id].start) for place in places if place.chunk_id}
    moved = []
    for seq, source in kept.items():
        if source.start is not None and source.end is not None:
            start, end = cutting.moved(source.start), cutting.moved(source.end)
            moved.append((start - starts[seq], end - start, session.bank_id, seq))
    session.connection.executemany(sql("forgetting.set_place"), moved)
    return cutting.text


def _cut_chunk(session: BankSession, chunk: _Chunk, cutting: Cutting, *, is_needed: bool) -> None:
    text = cutting.text[cutting.moved(chunk.start) : cutting.moved(chunk.end)]
    if text == chunk.text:
        return
    if is_blank(text) and not is_needed:
        session.connection.execute(sql("documents.delete_chunk"), (session.bank_id, chunk.chunk_id))
        return
    # The chunk is none that a retain of the same words may keep: these are to be read again then.
    digest = content_hash(f"forgotten\0{text}")
    session.connection.execute(sql("forgetting.set_chunk"), (text, digest, session.bank_id, chunk.chunk_id))


def _source(chunk: _Chunk, place: _Place) -> Source:
    whole = (chunk.start, chunk.end)
    words = spoken(place.text, place.speaker)
    if place.start is None or place.length is None:
        return Source(whole, words)
    start = chunk.start + place.start
    return Source(whole, words, start, start + place.length)
