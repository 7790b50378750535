"""Facts, as read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.entities import entity_names, names_as_written
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_fact_tag_sets
from hindsight_server.adapters.sqlite.values import from_json, from_micros, to_json, to_micros
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.model import Fact, FactState, FactType
from hindsight_server.ports.records import FactFilter, Page

# Looking a member up by its value through the class takes ten times as long.
_TYPES = {member.value: member for member in FactType}
_STATES = {member.value: member for member in FactState}


def no_fact(bank_id: str, fact_id: str) -> NotFound:
    return NotFound(f"Memory '{fact_id}' not found in bank '{bank_id}'.")


def get_fact(connection: apsw.Connection, bank_id: str, fact_id: str) -> Fact:
    row = one_row(connection, "facts.seq_of_id", (bank_id, fact_id))
    if row is None:
        raise no_fact(bank_id, fact_id)
    return read_facts(connection, bank_id, [row[0]])[0]


def facts_by_id(connection: apsw.Connection, bank_id: str, fact_ids: Sequence[str]) -> list[Fact]:
    wanted = {"bank_id": bank_id, "ids": to_json(list(dict.fromkeys(fact_ids)))}
    return read_facts(connection, bank_id, column(connection, "facts.seqs_of_ids", wanted))


def read_facts(
    connection: apsw.Connection, bank_id: str, seqs: Sequence[int], *, as_written: bool = False
) -> list[Fact]:
    """In the order asked for; numbers that are gone are left out.

    Entities go by the names that stand for them, or `as_written` by those in the fact, so that what other facts call
    them is not told.
    """
    wanted = {"bank_id": bank_id, "seqs": to_json([int(seq) for seq in dict.fromkeys(seqs)])}
    rows = {row[0]: row for row in connection.execute(sql("facts.read"), wanted)}
    numbers: dict[int, Sequence[int]] = {seq: _listed(row[17]) for seq, row in rows.items()}
    read_names = names_as_written if as_written else entity_names
    names = read_names(connection, bank_id, {number for held in numbers.values() for number in held})
    found = {
        seq: _fact(row, tuple(dict.fromkeys(names[number] for number in numbers[seq] if number in names)))
        for seq, row in rows.items()
    }
    return [found[seq] for seq in seqs if seq in found]


def unencoded_facts(connection: apsw.Connection, after: tuple[str, int], limit: int) -> list[tuple[str, Fact]]:
    rows = all_rows(connection, "facts.unencoded", (*after, limit))
    found = []
    for bank_id in dict.fromkeys(row[0] for row in rows):
        seqs = [seq for owner, seq in rows if owner == bank_id]
        found += [(bank_id, fact) for fact in read_facts(connection, bank_id, seqs)]
    return found


def list_facts(connection: apsw.Connection, bank_id: str, wanted: FactFilter, limit: int, offset: int) -> Page[Fact]:
    """Most recently mentioned first, or by the wanted time; facts without that time are left out."""
    values = _filter_values(connection, bank_id, wanted)
    if values is None:
        return Page((), 0, limit, offset)
    total = scalar(connection, "facts.count", values)
    statement = "facts.list" if values["time_field"] is None else "facts.list_by_time"
    rows = connection.execute(sql(statement), values | {"limit": limit, "offset": offset})
    facts = read_facts(connection, bank_id, [row[0] for row in rows], as_written=wanted.tags is not None)
    return Page(tuple(facts), total, limit, offset)


def _filter_values(connection: apsw.Connection, bank_id: str, wanted: FactFilter) -> dict[str, str | int | None] | None:
    """Values for the listing statements; None when nothing can match."""
    numbers: list[int] | None = None
    if wanted.entity_id is not None:
        numbers = column(connection, "entities.names_of_id", (bank_id, wanted.entity_id))
        if not numbers:
            return None
    bounded = wanted.start is not None or wanted.end is not None
    return {
        "bank_id": bank_id,
        "fact_type": wanted.fact_type,
        "state": wanted.state,
        "consolidation": wanted.consolidation,
        "document_id": wanted.document_id,
        "query": None if wanted.query is None else wanted.query.casefold(),
        "numbers": None if numbers is None else to_json(numbers),
        "tag_sets": None if wanted.tags is None else matching_fact_tag_sets(connection, bank_id, wanted.tags),
        "time_field": wanted.time_field or ("created_at" if bounded else None),
        "start": to_micros(wanted.start),
        "end": to_micros(wanted.end),
    }


def _fact(row: tuple[Any, ...], entities: tuple[str, ...]) -> Fact:
    return Fact(
        seq=row[0],
        fact_id=row[1],
        document_id=row[2],
        chunk_id=row[3],
        turn_index=row[4],
        fact_type=_TYPES[row[5]],
        text=row[6],
        state=_STATES[row[7]],
        context=row[8],
        speaker=row[9],
        role=row[10],
        occurred_start=from_micros(row[11]),
        occurred_end=from_micros(row[12]),
        mentioned_at=from_micros(row[13]),
        created_at=from_micros(row[14]),
        metadata={} if row[15] == "{}" else from_json(row[15]),
        tags=_listed(row[16]),
        entities=entities,
        source_fact_ids=_listed(row[18]),
        proof_count=row[19],
        tokens=row[20],
        updated_at=from_micros(row[21]),
        invalidated_at=from_micros(row[22]),
        invalidation_reason=row[23],
        edited_at=from_micros(row[24]),
    )


def _listed(text: str) -> tuple[Any, ...]:
    """A JSON list; most are empty."""
    return () if text == "[]" else tuple(from_json(text))
