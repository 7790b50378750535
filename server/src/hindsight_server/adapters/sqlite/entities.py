"""Entities, as read back: names that are one, counted by the facts that mention any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import apsw

from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_fact_tag_sets
from hindsight_server.adapters.sqlite.values import from_json, from_micros, to_json
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import Known, Status, fuller, read_name
from hindsight_server.domain.naming.flags import LITERAL
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.entities import Entity, EntityEdge, EntityGraph, NameGroups
from hindsight_server.ports.records import Page

_MOST_EDGES_READ = (
    200_000  # pairs counted before the graph is cut: a bank of millions of facts must not fill the memory
)

_Counted = tuple[int, int, int | None, int | None]  # entity, mentions, first and last seen


@dataclass(frozen=True, slots=True)
class _Writing:
    """One name of an entity."""

    number: int
    entity_id: str
    name: str
    type: str
    status: int
    candidates: str | None
    flags: int

    @property
    def rank(self) -> tuple[int, int, str]:
        return fuller(Known(number=self.number, form=read_name(normal_name(self.name))))


def list_entities(
    connection: apsw.Connection, bank_id: str, tags: TagFilter | None, limit: int, offset: int
) -> Page[Entity]:
    """With a filter: the entities of the facts that pass it, with their names and mentions in those facts."""
    values: dict[str, str | int] = {"bank_id": bank_id, "limit": limit, "offset": offset}
    visible: set[int] | None = None
    if tags is None:
        total = scalar(connection, "entities.count", {"bank_id": bank_id})
        rows = all_rows(connection, "entities.list", values)
    else:
        values["tag_sets"] = matching_fact_tag_sets(connection, bank_id, tags)
        wanted = {"bank_id": bank_id, "tag_sets": values["tag_sets"]}
        total = scalar(connection, "entities.count_tagged", wanted)
        rows = all_rows(connection, "entities.list_tagged", values)
        numbers = {"numbers": to_json([row[0] for row in rows])}
        visible = set(column(connection, "entities.names_tagged", wanted | numbers))
    return Page(tuple(_entities(connection, bank_id, rows, visible)), total, limit, offset)


def get_entity(connection: apsw.Connection, bank_id: str, entity_id: str, tags: TagFilter | None = None) -> Entity:
    """The entity that a name's id belongs to by now."""
    row = one_row(connection, "entities.by_id", (bank_id, entity_id))
    if row is None:
        raise no_entity(bank_id, entity_id)
    if tags is None:
        return entities_of(connection, bank_id, [row[0]])[0]
    tag_sets = matching_fact_tag_sets(connection, bank_id, tags)
    wanted = {"bank_id": bank_id, "numbers": to_json([row[0]]), "tag_sets": tag_sets}
    counted = all_rows(connection, "entities.counted_tagged", wanted)
    visible = set(column(connection, "entities.names_tagged", wanted))
    found = _entities(connection, bank_id, counted, visible)
    if not found:
        raise no_entity(bank_id, entity_id)
    return found[0]


def no_entity(bank_id: str, entity_id: str) -> NotFound:
    return NotFound(f"Entity '{entity_id}' not found in bank '{bank_id}'.")


def find_entities(connection: apsw.Connection, bank_id: str, names: Sequence[str]) -> list[Entity]:
    return entities_of(connection, bank_id, _named(connection, bank_id, names))


def name_groups(connection: apsw.Connection, bank_id: str, names: Sequence[str], after_version: int) -> NameGroups:
    version = scalar(connection, "entities.groups_mark", (bank_id,))
    named = _named(connection, bank_id, names)
    if after_version >= version:
        return NameGroups(version=version, named=tuple(named))
    groups = dict(all_rows(connection, "entities.groups", (bank_id,)))
    return NameGroups(version=version, named=tuple(named), groups=groups)


def _named(connection: apsw.Connection, bank_id: str, names: Sequence[str]) -> list[int]:
    """Numbers of entities with one of these names, exactly or but for spacing, dots, accents and the like."""
    normal = sorted({normal for name in names if (normal := normal_name(name))})
    wanted = {"bank_id": bank_id, "names": to_json(normal)}
    found = dict.fromkeys(column(connection, "entities.by_normal_names", wanted))
    keys = to_json(sorted({f"f:{read_name(name).fold}" for name in normal}))
    found |= dict.fromkeys(column(connection, "entities.by_folds", {"bank_id": bank_id, "keys": keys}))
    return sorted(found)


def entities_by_number(connection: apsw.Connection, bank_id: str, numbers: Sequence[int]) -> list[Entity]:
    """The entities that these names belong to, each once, in the order asked for."""
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(numbers)))}
    entity_of = dict(all_rows(connection, "entities.of_numbers", wanted))
    ordered = dict.fromkeys(entity_of[number] for number in numbers if number in entity_of)
    return entities_of(connection, bank_id, list(ordered))


def entities_of(connection: apsw.Connection, bank_id: str, entities: Sequence[int]) -> list[Entity]:
    """Entities by their own numbers, in the order given."""
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(entities)))}
    counted = {row[0]: row for row in all_rows(connection, "entities.counted", wanted)}
    return _entities(connection, bank_id, [counted[number] for number in entities if number in counted])


def names_as_written(connection: apsw.Connection, bank_id: str, numbers: Iterable[int]) -> dict[int, str]:
    """The names of those numbers themselves."""
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(numbers)))}
    return dict(all_rows(connection, "entities.as_written", wanted))


def entity_names(connection: apsw.Connection, bank_id: str, numbers: Iterable[int]) -> dict[int, str]:
    """For each of these names the one that stands for its entity."""
    wanted = {"bank_id": bank_id, "numbers": to_json(sorted(set(numbers)))}
    return dict(all_rows(connection, "entities.names", wanted))


def entity_graph(
    connection: apsw.Connection, bank_id: str, tags: TagFilter | None, limit: int, min_count: int
) -> EntityGraph:
    """Entities that facts name together, the most frequent pairs first."""
    tag_sets = None if tags is None else matching_fact_tag_sets(connection, bank_id, tags)
    entity_of = dict(all_rows(connection, "entities.groups", (bank_id,)))
    mentions: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    latest: dict[tuple[int, int], int] = {}
    visible: set[int] = set()
    for held, seen in connection.execute(sql("entities.mentions_of_facts"), {"bank_id": bank_id, "tag_sets": tag_sets}):
        numbers = from_json(held)
        visible.update(numbers)
        named = sorted({entity_of.get(number, number) for number in numbers})
        mentions.update(named)
        for pair in combinations(named, 2):
            if pair in pairs or len(pairs) < _MOST_EDGES_READ:
                pairs[pair] += 1
                latest[pair] = max(latest.get(pair, 0), seen or 0)
    counted = [(pair, count) for pair, count in pairs.items() if count >= min_count]
    shown = sorted(counted, key=lambda edge: (-edge[1], edge[0]))[:limit]
    rows = [(number, mentions[number], None, None) for number in {number for pair, _ in shown for number in pair}]
    shown_names = None if tags is None else visible  # names that users gave stand in no fact
    nodes = {entity.number: entity for entity in _entities(connection, bank_id, sorted(rows), shown_names)}
    edges = tuple(
        EntityEdge(nodes[one], nodes[other], count, from_micros(latest[one, other] or None))
        for (one, other), count in shown
    )
    ordered = tuple(sorted(nodes.values(), key=lambda entity: (-entity.mention_count, entity.number)))
    return EntityGraph(entities=ordered, edges=edges, total_entities=len(mentions), total_edges=len(counted))


def _entities(
    connection: apsw.Connection, bank_id: str, counted: Sequence[_Counted], visible: set[int] | None = None
) -> list[Entity]:
    """With `visible` names given, no other name is shown, so that a filter by tags hides them too."""
    wanted = {"bank_id": bank_id, "numbers": to_json([row[0] for row in counted])}
    writings: dict[int, list[_Writing]] = {}
    for entity, *values in all_rows(connection, "entities.writings", wanted):
        writing = _Writing(*values)
        if visible is None or writing.number in visible:
            writings.setdefault(entity, []).append(writing)
    unclear = {
        number
        for held in writings.values()
        for writing in held
        if writing.status == Status.AMBIGUOUS and visible is None
        for number in from_json(writing.candidates) or ()
    }
    ids = dict(all_rows(connection, "entities.ids", {"bank_id": bank_id, "numbers": to_json(sorted(unclear))}))
    return [_entity(row, writings[row[0]], ids) for row in counted if row[0] in writings]


def _entity(counted: _Counted, writings: list[_Writing], ids: dict[int, str]) -> Entity:
    number, mentions, first_seen, last_seen = counted
    own = writings[0]
    if len(writings) > 1:
        own = max(writings, key=lambda writing: (writing.number == number, writing.rank))
    kind = own.type
    if kind == "CONCEPT":  # an alias may tell more: the speaker "Ann" of the "Ann Lee" that a text names
        kind = next((writing.type for writing in writings if writing.type != "CONCEPT"), kind)
    is_ambiguous = own.status == Status.AMBIGUOUS
    could_be = [ids[candidate] for candidate in from_json(own.candidates) or () if candidate in ids]
    return Entity(
        number=number,
        entity_id=own.entity_id,
        name=own.name,
        type=kind,
        mention_count=mentions,
        first_seen=from_micros(first_seen),
        last_seen=from_micros(last_seen),
        aliases=tuple(writing.name for writing in writings if writing is not own),
        is_ambiguous=is_ambiguous,
        could_be=tuple(dict.fromkeys(could_be)) if is_ambiguous else (),
        is_literal=bool(own.flags & LITERAL),
    )
