"""Entities: found or made by their normalised name, counted by the facts that mention them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.queries import one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_fact_tag_sets
from hindsight_server.adapters.sqlite.values import from_micros, to_json
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import EntityMention
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.records import Entity, Page


class EntityNumbers:
    """The numbers of names, looked up or handed out during one transaction."""

    def __init__(self, session: BankSession) -> None:
        self._session = session
        self._known: dict[str, int] = {}

    def of(self, mentions: Iterable[EntityMention]) -> tuple[int, ...]:
        """The number of each name, once, in the order of mention; blank names have none."""
        numbers: dict[int, None] = {}
        for mention in mentions:
            number = self._known.get(mention.name)
            if number is None:
                number = self._find_or_make(mention)
                self._known[mention.name] = number
            if number:
                numbers[number] = None
        return tuple(numbers)

    def _find_or_make(self, mention: EntityMention) -> int:
        session = self._session
        normal = normal_name(mention.name)
        if not normal:
            return 0
        row = one_row(session.connection, "entities.by_normal_name", (session.bank_id, normal))
        if row is not None:
            return int(row[0])
        number = session.take_entity()
        name = " ".join(mention.name.split())
        values = (session.bank_id, number, new_id(), normal, name, mention.type)
        session.connection.execute(sql("entities.create"), values)
        return number


def add_mentions(session: BankSession, mentions: Sequence[tuple[int, int, int]]) -> None:
    """Count mentions, given as (entity number, fact number, when)."""
    spans: dict[int, tuple[int, int, int]] = {}
    for number, _, seen in mentions:
        count, first, last = spans.get(number, (0, seen, seen))
        spans[number] = (count + 1, min(first, seen), max(last, seen))
    session.connection.executemany(
        sql("entities.mention"), sorted((session.bank_id, number, seq, seen) for number, seq, seen in mentions)
    )
    session.connection.executemany(
        sql("entities.count_mentions"),
        [
            {"bank_id": session.bank_id, "number": number, "mentions": count, "first": first, "last": last}
            for number, (count, first, last) in spans.items()
        ],
    )


def remove_mentions(session: BankSession, mentions: Sequence[tuple[int, int]]) -> None:
    """Forget mentions, given as (entity number, fact number); entities that no fact mentions any more go with them."""
    session.connection.executemany(
        sql("entities.forget_mention"), [(session.bank_id, number, seq) for number, seq in mentions]
    )
    numbers = sorted({number for number, _ in mentions})
    session.connection.executemany(
        sql("entities.recount"), [{"bank_id": session.bank_id, "number": number} for number in numbers]
    )
    session.connection.executemany(sql("entities.drop_unmentioned"), [(session.bank_id, number) for number in numbers])


def list_entities(
    connection: apsw.Connection, bank_id: str, tags: TagFilter | None, limit: int, offset: int
) -> Page[Entity]:
    """With a filter: the entities of the facts that pass it, with the mentions in those facts."""
    values: dict[str, str | int] = {"bank_id": bank_id, "limit": limit, "offset": offset}
    if tags is None:
        total = scalar(connection, "entities.count", {"bank_id": bank_id})
        rows = connection.execute(sql("entities.list"), values)
    else:
        values["tag_sets"] = matching_fact_tag_sets(connection, bank_id, tags)
        wanted = {"bank_id": bank_id, "tag_sets": values["tag_sets"]}
        total = scalar(connection, "entities.count_tagged", wanted)
        rows = connection.execute(sql("entities.list_tagged"), values)
    return Page(tuple(_entity(row) for row in rows), total, limit, offset)


def get_entity(connection: apsw.Connection, bank_id: str, entity_id: str) -> Entity:
    row = one_row(connection, "entities.by_id", (bank_id, entity_id))
    if row is None:
        raise NotFound(f"Entity '{entity_id}' not found in bank '{bank_id}'.")
    return _entity(row)


def find_entities(connection: apsw.Connection, bank_id: str, names: Sequence[str]) -> list[Entity]:
    normal = to_json(sorted({normal_name(name) for name in names}))
    return [
        _entity(row)
        for row in connection.execute(sql("entities.by_normal_names"), {"bank_id": bank_id, "names": normal})
    ]


def entities_by_number(connection: apsw.Connection, bank_id: str, numbers: Sequence[int]) -> list[Entity]:
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(numbers)))}
    return [_entity(row) for row in connection.execute(sql("entities.by_numbers"), wanted)]


def entity_names(connection: apsw.Connection, bank_id: str, numbers: Iterable[int]) -> dict[int, str]:
    """The names of those numbers."""
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(numbers)))}
    return {number: name for number, name in connection.execute(sql("entities.names"), wanted)}


def _entity(row: tuple[Any, ...]) -> Entity:
    number, entity_id, name, type_, mention_count, first_seen, last_seen = row
    return Entity(
        number=number,
        entity_id=entity_id,
        name=name,
        type=type_,
        mention_count=mention_count,
        first_seen=from_micros(first_seen),
        last_seen=from_micros(last_seen),
    )
