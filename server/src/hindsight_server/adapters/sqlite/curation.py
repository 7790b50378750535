"""Changes to what is stored: new tags, edited and invalidated facts, deletions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import apsw

from hindsight_server.adapters.sqlite.documents import no_document
from hindsight_server.adapters.sqlite.facts_read import get_fact, no_fact
from hindsight_server.adapters.sqlite.facts_write import (
    delete_facts,
    forget_what_rests_on,
    move_facts,
    replace_encoding,
    terms_json,
)
from hindsight_server.adapters.sqlite.names import EntityNumbers, add_label_tags, add_mentions, remove_mentions
from hindsight_server.adapters.sqlite.postings import add_postings, remove_postings
from hindsight_server.adapters.sqlite.queries import column, one_row, scalar
from hindsight_server.adapters.sqlite.scoping import rescope
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json, to_micros
from hindsight_server.adapters.sqlite.withdrawing import note_retagged, note_withdrawn
from hindsight_server.domain.model import Fact, FactState
from hindsight_server.ports.records import FLAG_PENDING, FactChange

_CLEARABLE = ("context", "occurred_start", "occurred_end", "mentioned_at")


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What to set on a document; None leaves it as it is."""

    tags: tuple[str, ...] | None
    observation_scopes: object | None


def update_document(
    connection: apsw.Connection, bank_id: str, document_id: str, change: DocumentChange, now: datetime
) -> int:
    session = BankSession(connection, bank_id, now)
    seqs = _document_seqs(session, document_id)
    tags = None if change.tags is None else to_json(change.tags)
    scopes = None if change.observation_scopes is None else to_json(change.observation_scopes)
    connection.execute(
        sql("documents.change"),
        {
            "bank_id": bank_id,
            "document_id": document_id,
            "tags": tags,
            "observation_scopes": scopes,
            "now": session.now,
        },
    )
    if change.tags is not None:
        note_retagged(session, seqs, change.tags)
        connection.execute(sql("documents.retag_parts"), (tags, bank_id, document_id))
        connection.executemany(sql("facts.set_tags"), [(tags, bank_id, seq) for seq in seqs])
        add_label_tags(session, seqs)
    rescope(session, document_id, seqs)
    if tags is not None:
        move_facts(session, seqs)
    session.save()
    return 0 if tags is None else len(seqs)


def delete_document(connection: apsw.Connection, bank_id: str, document_id: str, now: datetime) -> int:
    """Work of which no document is left is cancelled and forgets what it was to do, since that may hold the words."""
    session = BankSession(connection, bank_id, now)
    deleted = delete_facts(session, _document_seqs(session, document_id))
    connection.execute(sql("documents.delete"), (bank_id, document_id))
    connection.execute(
        sql("operations.drop_pointless"), {"bank_id": bank_id, "document_id": document_id, "now": session.now}
    )
    session.save()
    return deleted


def clear_facts(connection: apsw.Connection, bank_id: str, fact_type: str | None, now: datetime) -> int:
    """Without a type, work that would bring facts of what is stored is cancelled."""
    session = BankSession(connection, bank_id, now)
    if fact_type is None:
        connection.execute(sql("operations.drop_extractions"), {"bank_id": bank_id, "now": session.now})
        for statement in ("documents.waiting_chunks_cleared", "documents.wait_no_more"):
            connection.execute(sql(statement), (bank_id,))
    wanted = {"bank_id": bank_id, "fact_type": fact_type}
    seqs = column(connection, "facts.seqs_of_type", wanted)
    connection.execute(sql("documents.chunks_lost_facts"), wanted)
    deleted = delete_facts(session, seqs)
    session.save()
    return deleted


def update_fact(connection: apsw.Connection, bank_id: str, fact_id: str, change: FactChange, now: datetime) -> Fact:
    session = BankSession(connection, bank_id, now)
    row = one_row(connection, "facts.seq_of_id", (bank_id, fact_id))
    if row is None:
        raise no_fact(bank_id, fact_id)
    seq, state, flags, mentioned_at, created_at = row
    before, after = FactState(state), change.state or FactState(state)
    if after is FactState.INVALIDATED or _edits(replace(change, tags=None)):
        # Its dates, its kind and its names are told by pages too.
        note_withdrawn(session, [seq], edited=True)
    elif change.tags is not None:
        note_retagged(session, [seq], change.tags)
    forget_what_rests_on(session, [seq])
    if before is not FactState.INVALIDATED:
        remove_postings(connection, bank_id, [(seq, _terms(session, seq))])
        session.log_removed([seq])
        session.fact_count -= 1
    entities = _change_entities(session, seq, change, created_at if mentioned_at is None else mentioned_at)
    _change_columns(session, seq, change, (after, flags, entities))
    if change.text is not None or change.encoding is not None:
        replace_encoding(session, seq, change.encoding)
    _place(session, seq, recallable=after is not FactState.INVALIDATED)
    session.save()
    return get_fact(connection, bank_id, fact_id)


def _change_columns(
    session: BankSession, seq: int, change: FactChange, made: tuple[FactState, int, str | None]
) -> None:
    state, flags, entities = made
    # The terms of a text that is gone must not stay behind.
    terms = {} if change.text is not None and change.terms is None else change.terms
    session.connection.execute(
        sql("facts.change"),
        {
            "bank_id": session.bank_id,
            "seq": seq,
            "text": change.text,
            "fact_type": None if change.fact_type is None else change.fact_type.value,
            "context": change.context,
            "occurred_start": to_micros(change.occurred_start),
            "occurred_end": to_micros(change.occurred_end),
            "mentioned_at": to_micros(change.mentioned_at),
            **{f"clear_{name}": name in change.cleared for name in _CLEARABLE},
            "tags": None if change.tags is None else to_json(change.tags),
            "entities": entities,
            "state": state.value,
            "flags": flags & ~FLAG_PENDING | (FLAG_PENDING if state is FactState.PENDING else 0),
            "terms": None if terms is None else terms_json(terms),
            "length": change.length,
            "tokens": change.tokens,
            "reason": change.reason,
            "edited": _edits(change),
            "now": session.now,
        },
    )


def _edits(change: FactChange) -> bool:
    """Whether more than the state is changed."""
    edited = (change.text, change.fact_type, change.tags, change.entities, *(getattr(change, n) for n in _CLEARABLE))
    return bool(change.cleared) or any(value is not None for value in edited)


def _change_entities(session: BankSession, seq: int, change: FactChange, seen: int) -> str | None:
    """The column's new value, None when it stays."""
    if change.entities is None:
        return None
    wanted = EntityNumbers(session).of(change.entities)
    held = _held_entities(session, seq)
    numbers = [name.number for name in wanted]
    # A name that stays is mentioned anew: what the mention says of it may be another thing.
    remove_mentions(session, [(number, seq) for number in held])
    add_mentions(session, [(name, seq, seen) for name in wanted])
    return to_json(numbers)


def _place(session: BankSession, seq: int, *, recallable: bool) -> None:
    """Give the fact a fresh number and postings, or leave it out of both."""
    connection, bank_id = session.connection, session.bank_id
    if not recallable:
        connection.execute(sql("facts.move"), (seq, session.now, bank_id, seq))
        return
    (new,) = session.take_seqs(1)
    connection.execute(sql("facts.move"), (new, session.now, bank_id, seq))
    numbers = _held_entities(session, new)
    connection.executemany(sql("names.move"), [(new, bank_id, number, seq) for number in numbers])
    add_postings(connection, bank_id, [(new, _terms(session, new))])
    session.fact_count += 1


def _terms(session: BankSession, seq: int) -> dict[str, int]:
    terms: dict[str, int] = from_json(scalar(session.connection, "facts.terms", (session.bank_id, seq)))
    return terms


def _held_entities(session: BankSession, seq: int) -> list[int]:
    numbers: list[int] = from_json(scalar(session.connection, "facts.entities", (session.bank_id, seq)))
    return numbers


def _document_seqs(session: BankSession, document_id: str) -> list[int]:
    key = (session.bank_id, document_id)
    if one_row(session.connection, "documents.read", key) is None:
        raise no_document(*key)
    return column(session.connection, "facts.seqs_of_document", key)
