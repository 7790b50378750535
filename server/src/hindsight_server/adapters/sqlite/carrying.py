"""Facts that a person edited or invalidated, when the chunk they stand in is read again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hindsight_server.adapters.sqlite.facts_write import move_facts
from hindsight_server.adapters.sqlite.queries import all_rows
from hindsight_server.adapters.sqlite.replacing import Place, StoredChunk, chunk_begins, place_of
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.curated import Said, own_terms, replaced_by
from hindsight_server.ports.records import DocumentWrite


@dataclass(frozen=True, slots=True)
class Carried:
    """The numbers of facts that stay, in new chunks, and the ids of new facts that must not come beside them."""

    seqs: tuple[int, ...] = ()
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Fact:
    seq: int
    chunk_id: str
    changed: int
    edited: int
    said: Said


def carry_over(
    session: BankSession,
    document: DocumentWrite,
    place: Place,
    leaving: Sequence[StoredChunk],
    chunk_ids: Mapping[int, str],
) -> Carried:
    """Move facts that a person changed from chunks that go to the new ones that hold their words.

    Args:
        place: of the part.
        chunk_ids: of the part's new chunks, by index.
    """
    old = {chunk.chunk_id: chunk for chunk in leaving}
    values = {"bank_id": session.bank_id, "document_id": document.document_id, "chunk_ids": to_json(list(old))}
    if not old or not chunk_ids or not all_rows(session.connection, "facts.changed_of_chunks", values):
        return Carried()
    facts = [
        _Fact(
            seq, chunk_id, changed, edited, Said(terms=own_terms(text, from_json(terms)), turn=turn, place=_place(*at))
        )
        for seq, chunk_id, changed, edited, text, terms, turn, *at in all_rows(
            session.connection, "facts.of_chunks", values
        )
    ]
    texts = dict(all_rows(session.connection, "documents.texts_of_chunks", values))
    read = _read(document, place)
    rows, left_out = [], set[str]()
    for fact in facts:
        found = _new_place(fact, texts[fact.chunk_id], document, chunk_ids) if fact.changed else None
        if found is None:
            continue
        index, shift = found
        chunk = next(chunk for chunk in document.chunks if chunk.index == index)
        turns = place.first_turn + chunk.first_turn - old[fact.chunk_id].first_turn
        beside = [one.said for one in facts if not one.changed and one.chunk_id == fact.chunk_id]
        ids = [fact_id for fact_id, (at, _) in read.items() if at == index]
        there = [_moved(read[fact_id][1], -turns, -shift, texts[fact.chunk_id], chunk.text) for fact_id in ids]
        left = replaced_by(fact.said, bool(fact.edited), there, beside)
        # Its words may be further down among those of its chunk than they were: then they are of another turn.
        turns += next((there[at].turn - fact.said.turn for at in sorted(left) if there[at].is_of(fact.said)), 0)
        rows.append((chunk_ids[index], turns, shift, session.bank_id, fact.seq))
        left_out |= {ids[at] for at in left}
    session.connection.executemany(sql("facts.carry"), rows)
    return Carried(tuple(move_facts(session, [row[-1] for row in rows]).values()), frozenset(left_out))


def without(document: DocumentWrite, left_out: Collection[str]) -> DocumentWrite:
    """The part without some of its facts, and without what they cause."""
    if not left_out:
        return document
    facts = tuple(
        replace(fact, causes=tuple(cause for cause in fact.causes if cause not in left_out))
        for fact in document.facts
        if fact.fact_id not in left_out
    )
    return replace(document, facts=facts)


def _read(document: DocumentWrite, place: Place) -> dict[str, tuple[int, Said]]:
    """What the new facts say, with the indexes of their chunks."""
    begins = chunk_begins(document)
    return {
        fact.fact_id: (
            fact.extracted.chunk_index,
            Said(
                terms=own_terms(fact.extracted.text, fact.terms),
                turn=place.first_turn + fact.extracted.turn_index,
                place=place_of(fact.extracted, begins),
            ),
        )
        for fact in document.facts
    }


def _new_place(fact: _Fact, text: str, document: DocumentWrite, chunk_ids: Mapping[int, str]) -> tuple[int, int] | None:
    """The new chunk with the fact's words, and how far they stand from where they stood; None when they are gone."""
    new = [chunk for chunk in document.chunks if chunk.index in chunk_ids]
    for chunk in new:
        if chunk.text == text:
            return chunk.index, 0
    if fact.said.place is None:
        return None
    start, length = fact.said.place
    words = text[start : start + length]
    for chunk in new:
        at = chunk.text.find(words)
        if words.strip() and at >= 0:
            return chunk.index, at - start
    return None


def _moved(said: Said, turns: int, shift: int, old: str, new: str) -> Said:
    """What was read from a chunk's new text, as a fact of its old one."""
    turn = said.turn + turns
    if said.place is None:
        return Said(terms=said.terms, turn=turn, place=None, anew=old != new)
    start, length = said.place
    anew = old != new and new[start : start + length] not in old
    return Said(terms=said.terms, turn=turn, place=(start + shift, length), anew=anew)


def _place(start: int | None, length: int | None) -> tuple[int, int] | None:
    return None if start is None or length is None else (start, length)
