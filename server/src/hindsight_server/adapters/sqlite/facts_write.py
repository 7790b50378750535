"""Facts with all that rests on them: inserted, moved to new numbers, and deleted, in sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw
import numpy as np

from hindsight_server.adapters.sqlite.causes import insert_causes
from hindsight_server.adapters.sqlite.images import drop_image
from hindsight_server.adapters.sqlite.names import Mentioned, add_links, add_mentions, remove_mentions
from hindsight_server.adapters.sqlite.postings import add_postings, remove_postings
from hindsight_server.adapters.sqlite.queries import all_rows
from hindsight_server.adapters.sqlite.resting import take_observations, wait_anew
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json, to_micros
from hindsight_server.adapters.sqlite.withdrawing import note_withdrawn
from hindsight_server.domain.model import FactState
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.records import FLAG_PENDING, FLAG_QUESTION, FLAG_TIME_EXPRESSION, FactWrite

_VECTOR_DELETIONS = (
    "facts.delete_vector",
    "facts.delete_further_vectors",
    "facts.delete_token_vectors",
    "facts.encoded",
)


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact with its place: what the document's part adds to what the fact itself knows.

    `place` is where its words stand, from the beginning of its chunk, and how long they are; None when unknown. `seen`
    is when it mentions its names, None for the time it was said or is stored.
    """

    write: FactWrite
    document_id: str
    chunk_id: str | None
    first_turn: int
    context: str | None
    metadata: str
    tags: str
    entities: tuple[Mentioned, ...]
    place: tuple[int, int] | None = None
    seen: int | None = None


def insert_facts(session: BankSession, facts: Sequence[NewFact]) -> Sequence[int]:
    """Insert facts with their postings, vectors and mentions, under fresh numbers in the given order; the numbers."""
    if not facts:
        return ()
    seqs = session.take_seqs(len(facts))
    numbered = list(zip(seqs, facts, strict=True))
    connection = session.connection
    connection.executemany(sql("facts.insert"), [_fact_row(session, seq, fact) for seq, fact in numbered])
    _insert_vectors(session, [(seq, fact.write.encoding) for seq, fact in numbered])
    waiting = [
        seq for seq, fact in numbered if fact.write.encoding is None and fact.write.state is not FactState.PENDING
    ]
    connection.executemany(sql("facts.note_unencoded"), [(session.bank_id, seq) for seq in waiting])
    mentions = []
    for seq, fact in numbered:
        seen = fact.seen or to_micros(fact.write.extracted.mentioned_at) or session.now
        mentions += [(name, seq, seen) for name in fact.entities]
    add_mentions(session, mentions)
    for seq, fact in numbered:
        if fact.write.extracted.name_links:
            add_links(session, seq, fact.write.extracted.name_links)
    add_postings(connection, session.bank_id, [(seq, fact.write.terms) for seq, fact in numbered])
    insert_causes(connection, session.bank_id, [fact.write for fact in facts])
    session.fact_count += len(facts)
    return seqs


def delete_facts(session: BankSession, seqs: Iterable[int]) -> int:
    """Delete facts with everything that rests on them, observations too; how many there were without those."""
    asked = sorted(seqs)
    if not asked:
        return 0
    remove_rows(session, set(take_observations(session, asked)).difference(asked))
    return remove_rows(session, asked)


def forget_what_rests_on(session: BankSession, seqs: Sequence[int]) -> int:
    """Delete the observations that rest on facts which say something else now, and let the facts wait to be
    consolidated; how many observations there were."""
    deleted = remove_rows(session, take_observations(session, seqs))
    wait_anew(session, seqs)
    return deleted


def remove_rows(session: BankSession, seqs: Iterable[int]) -> int:
    """Delete facts with their postings, vectors and mentions; how many there were."""
    rows = _rows_to_remove(session, seqs)
    if not rows:
        return 0
    note_withdrawn(session, [row[0] for row in rows])
    recallable = [(seq, from_json(terms)) for seq, state, _, terms in rows if state != FactState.INVALIDATED]
    remove_postings(session.connection, session.bank_id, recallable)
    remove_mentions(session, [(number, seq) for seq, _, entities, _ in rows for number in from_json(entities)])
    session.connection.executemany(sql("facts.delete"), [(session.bank_id, row[0]) for row in rows])
    session.log_removed(seq for seq, _ in recallable)
    session.fact_count -= len(recallable)
    return len(rows)


def move_facts(session: BankSession, seqs: Iterable[int]) -> dict[int, int]:
    """Give facts new numbers, so that readers see them as changed; old number to new. Their order stays."""
    rows = _rows_to_remove(session, seqs)
    connection, bank_id = session.connection, session.bank_id
    recallable = [(seq, from_json(terms)) for seq, state, _, terms in rows if state != FactState.INVALIDATED]
    remove_postings(connection, bank_id, recallable)
    moved = dict(zip((row[0] for row in rows), session.take_seqs(len(rows)), strict=True))
    connection.executemany(sql("facts.move"), [(new, session.now, bank_id, old) for old, new in moved.items()])
    mentions = [(moved[seq], bank_id, number, seq) for seq, _, entities, _ in rows for number in from_json(entities)]
    connection.executemany(sql("names.move"), mentions)
    add_postings(connection, bank_id, [(moved[seq], terms) for seq, terms in recallable])
    session.log_removed(seq for seq, _ in recallable)
    return moved


def replace_encoding(session: BankSession, seq: int, encoding: Encoding | None) -> None:
    """Store other vectors for a fact, or none."""
    for statement in _VECTOR_DELETIONS:
        session.connection.execute(sql(statement), (session.bank_id, seq))
    _insert_vectors(session, [(seq, encoding)])
    if encoding is None:
        session.connection.execute(sql("facts.note_unencoded"), (session.bank_id, seq))


def add_vectors(connection: apsw.Connection, bank_id: str, vectors: Mapping[int, Encoding]) -> int:
    """Add vectors in further spaces to facts that have one of their own; how many were added."""
    added = 0
    for seq, encoding in vectors.items():
        values = {"bank_id": bank_id, "seq": seq, "space": encoding.space, "vector": _stored(encoding)}
        connection.execute(sql("facts.add_vector"), values)
        added += connection.changes()
    if added:
        drop_image(connection, bank_id)
    return added


def add_encodings(connection: apsw.Connection, bank_id: str, encodings: Mapping[int, Encoding], now: datetime) -> int:
    """Give facts that wait for vectors theirs, and new numbers; how many still waited."""
    waiting = []
    for seq in encodings:
        connection.execute(sql("facts.encoded"), (bank_id, seq))
        if connection.changes():
            waiting.append(seq)
    if not waiting:
        return 0
    session = BankSession(connection, bank_id, now)
    _insert_vectors(session, [(seq, encodings[seq]) for seq in waiting])
    move_facts(session, waiting)
    session.save()
    return len(waiting)


def flags_of(write: FactWrite) -> int:
    """What ranking wants to know of a fact, as bits."""
    return (
        (FLAG_QUESTION if write.extracted.is_question else 0)
        | (FLAG_TIME_EXPRESSION if write.extracted.has_time_expression else 0)
        | (FLAG_PENDING if write.state is FactState.PENDING else 0)
    )


def terms_json(terms: Mapping[str, int]) -> str:
    return to_json(dict(terms))


def _rows_to_remove(session: BankSession, seqs: Iterable[int]) -> list[tuple[Any, ...]]:
    """Number, state, entities and terms of each, ascending."""
    ascending = sorted(seqs)
    if not ascending:
        return []
    wanted = {"bank_id": session.bank_id, "seqs": to_json(ascending)}
    return all_rows(session.connection, "facts.to_remove", wanted)


def _fact_row(session: BankSession, seq: int, fact: NewFact) -> tuple[object, ...]:
    write = fact.write
    extracted = write.extracted
    occurred = extracted.occurred
    return (
        session.bank_id,
        seq,
        extracted.fact_type.value,
        fact.document_id,
        fact.first_turn + extracted.turn_index,
        fact.context,
        write.session,
        extracted.speaker,
        extracted.role,
        to_micros(extracted.mentioned_at),
        None if occurred is None else to_micros(occurred.start),
        None if occurred is None else to_micros(occurred.end),
        write.length,
        write.tokens,
        flags_of(write),
        _tags(fact),
        to_json([name.number for name in fact.entities]),
        write.state.value,
        write.fact_id,
        fact.chunk_id,
        session.now,
        session.now,
        fact.metadata,
        terms_json(write.terms),
        extracted.text,
        write.fold,
        *(fact.place or (None, None)),
    )


def _tags(fact: NewFact) -> str:
    """The document's tags, and the labels of the fact that are tags too."""
    labels = [mention.name for mention in fact.write.extracted.entities if mention.tag]
    return to_json(list(dict.fromkeys([*from_json(fact.tags), *labels]))) if labels else fact.tags


def _stored(encoding: Encoding) -> bytes:
    return encoding.vector.astype("<f2").tobytes()


def _insert_vectors(session: BankSession, encodings: Iterable[tuple[int, Encoding | None]]) -> None:
    vectors: list[tuple[str, int, str, bytes]] = []
    tokens: list[tuple[str, int, str, int, bytes]] = []
    for seq, encoding in encodings:
        if encoding is None:
            continue
        vectors.append((session.bank_id, seq, encoding.space, _stored(encoding)))
        if encoding.tokens is not None and encoding.tokens.vectors.size:
            held = np.ascontiguousarray(encoding.tokens.vectors, np.int8)
            tokens.append((session.bank_id, seq, encoding.space, held.shape[1], held.tobytes()))
    session.connection.executemany(sql("facts.insert_vector"), vectors)
    session.connection.executemany(sql("facts.insert_token_vectors"), tokens)
