"""What a user says of names: that entities are one, that a name is not of one, how one is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

import apsw

from hindsight_server.adapters.sqlite.entities import entities_by_number, no_entity
from hindsight_server.adapters.sqlite.names import make_name, touch
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.domain.errors import Conflict, InvalidInput
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming.flags import GIVEN, SHOWN
from hindsight_server.ports.entities import Entity


@dataclass(frozen=True, slots=True)
class _Name:
    number: int
    normal: str
    flags: int
    mentions: int
    type: str
    entity: int


def merge_entities(connection: apsw.Connection, bank_id: str, entity_ids: Sequence[str], now: datetime) -> Entity:
    session = BankSession(connection, bank_id, now)
    groups = [_group(session, entity_id) for entity_id in entity_ids]
    first = groups[0]
    for one, other in combinations(groups, 2):
        if one[0].entity != other[0].entity:
            for name in one:
                _drop_rules(session, name, other)
    for other in groups[1:]:
        if other[0].entity != first[0].entity:
            _set_rule(session, first[0].entity, other[0].entity, same=True)
    touch(session, [name.number for group in groups for name in group])
    session.save()
    return entities_by_number(connection, bank_id, [first[0].number])[0]


def split_entity(
    connection: apsw.Connection, bank_id: str, entity_id: str, names: Sequence[str], now: datetime
) -> list[Entity]:
    session = BankSession(connection, bank_id, now)
    group = _group(session, entity_id)
    wanted = {normal_name(name): name for name in names}
    leaving = [name for name in group if name.normal in wanted]
    missing = wanted.keys() - {name.normal for name in leaving}
    if missing:
        raise InvalidInput(f"names: {wanted[min(missing)][:80]!r} is no name of the entity.", field="names")
    staying = [name for name in group if name.normal not in wanted]
    if not any(name.mentions for name in staying):
        raise InvalidInput("names: no name that a memory mentions would be left of the entity.", field="names")
    for name in leaving:
        for other in staying:
            _set_rule(session, name.number, other.number, same=False)
        _set_flags(session, name.number, cleared=GIVEN | SHOWN)
    touch(session, [name.number for name in group])
    session.save()
    return entities_by_number(connection, bank_id, [name.number for name in (*staying, *leaving)])


def name_entity(
    connection: apsw.Connection, bank_id: str, entity_id: str, name: str, now: datetime, *, shown: bool
) -> Entity:
    session = BankSession(connection, bank_id, now)
    group = _group(session, entity_id)
    entity = group[0].entity
    held = one_row(connection, "names.place_of", (bank_id, normal_name(name)))
    if held is None:
        kind = next(one.type for one in group if one.number == entity)
        number = make_name(session, name, kind, GIVEN, entity=entity)
        _set_rule(session, entity, number, same=True)
    else:
        number, other, size = held
        if other != entity and (shown or size > 1):
            raise _taken(session, name, number, apart=size > 1)
        if other != entity:
            for one in group:
                _drop_rules(session, one, [_Name(number, "", 0, 0, "", other)])
            _set_rule(session, entity, number, same=True)
    if shown:
        for one in group:
            _set_flags(session, one.number, cleared=SHOWN)
        _set_flags(session, number, added=SHOWN)
        connection.execute(sql("names.set_name"), (" ".join(name.split()), bank_id, number))
    touch(session, [number, *(one.number for one in group)])
    session.save()
    return entities_by_number(connection, bank_id, [number])[0]


def _taken(session: BankSession, name: str, number: int, *, apart: bool) -> Conflict:
    """The refusal of a name of another entity; `apart`: the name can be split off it."""
    (other,) = entities_by_number(session.connection, session.bank_id, [number])
    remedy = "Merge the two, or split the name off first." if apart else "Merge the two if they are one."
    return Conflict(f"'{name[:80]}' is a name of another entity, '{other.name[:80]}' ({other.entity_id}). {remedy}")


def _group(session: BankSession, entity_id: str) -> list[_Name]:
    rows = all_rows(session.connection, "names.group_of_id", (session.bank_id, entity_id))
    if not rows:
        raise no_entity(session.bank_id, entity_id)
    return [_Name(*row) for row in rows]


def _set_rule(session: BankSession, one: int, other: int, *, same: bool) -> None:
    for pair in ((one, other), (other, one)):
        session.connection.execute(sql("names.set_rule"), (session.bank_id, *pair, same))


def _drop_rules(session: BankSession, one: _Name, others: Iterable[_Name]) -> None:
    pairs = [pair for other in others for pair in ((one.number, other.number), (other.number, one.number))]
    session.connection.executemany(sql("names.drop_rule"), [(session.bank_id, *pair) for pair in pairs])


def _set_flags(session: BankSession, number: int, *, cleared: int = 0, added: int = 0) -> None:
    values = {"bank_id": session.bank_id, "number": number, "cleared": cleared, "added": added}
    session.connection.execute(sql("names.set_flags"), values)
