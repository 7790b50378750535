"""Entities as they are read back, and what keeps them. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.records import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place or thing under all its names.

    Args:
        number: bank-local; that of the name which stands for the entity. Snapshots refer to the numbers of names.
        entity_id: the id of that name; the ids of its other names lead here too.
        name: the name that stands for the entity, as written.
        mention_count: facts that mention it by any name.
        aliases: its other names, the most mentioned first.
        is_ambiguous: the name could be one of several entities and was left apart.
        could_be: their ids.
        is_literal: a caller supplied the name to be taken as it is.
    """

    number: int
    entity_id: str
    name: str
    type: str
    mention_count: int
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    aliases: tuple[str, ...] = ()
    is_ambiguous: bool = False
    could_be: tuple[str, ...] = ()
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class EntityEdge:
    """Two entities that facts name together, in how many facts, and when last."""

    one: Entity
    other: Entity
    count: int
    last_seen: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityGraph:
    """Entities (most mentioned first) and their pairs (most frequent first); totals count also what is not shown."""

    entities: tuple[Entity, ...]
    edges: tuple[EntityEdge, ...]
    total_entities: int
    total_edges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NameGroups:
    """Which names of a bank are one entity.

    Args:
        version: the bank's version at which that last changed.
        named: numbers of the entities that were asked for by name, ascending.
        groups: for each name that is not its entity's first, the number of the entity; None when nothing changed.
    """

    version: int
    named: tuple[int, ...]
    groups: Mapping[int, int] | None = None


class EntityStore(Protocol):
    async def list_entities(self, bank_id: str, tags: TagFilter | None, limit: int, offset: int) -> Page[Entity]:
        """Most mentioned first, then oldest. With a filter, mentions in the facts that pass it.

        Names that are one entity (`domain.naming` decides, or the user) are one of the list. Invalidated facts still
        mention theirs; an entity that no fact mentions any more is gone, with what users said of it. A filter hides
        names too: those that no fact which passes it mentions are not told.
        """
        ...

    async def get_entity(self, bank_id: str, entity_id: str, tags: TagFilter | None = None) -> Entity:
        """The entity that the name of this id belongs to by now. With a filter, as the facts that pass it show it.

        Raises NotFound, also when no fact that passes the filter mentions it.
        """
        ...

    async def find_entities(self, bank_id: str, names: Sequence[str]) -> list[Entity]:
        """Entities with a name that equals one of `names`, or has the same fold (`domain.naming.read_name`)."""
        ...

    async def entities(self, bank_id: str, numbers: Sequence[int]) -> list[Entity]:
        """The entities that the names of these numbers belong to, each once, in that order."""
        ...

    async def names_as_written(self, bank_id: str, numbers: Sequence[int]) -> Mapping[int, str]:
        """The names of these numbers themselves, whatever entity they belong to."""
        ...

    async def entity_graph(self, bank_id: str, tags: TagFilter | None, limit: int, min_count: int) -> EntityGraph:
        """The pairs of entities that at least `min_count` recallable facts name together, `limit` of them."""
        ...

    async def merge_entities(self, bank_id: str, entity_ids: Sequence[str], now: datetime) -> Entity:
        """Make entities one, until they are split. Raises NotFound."""
        ...

    async def split_entity(self, bank_id: str, entity_id: str, names: Sequence[str], now: datetime) -> list[Entity]:
        """Keep names of an entity apart from its others from now on; the entity that is left first, then theirs.

        A name that only a user gave is removed. Raises NotFound; InvalidInput for a name that it does not have, or when
        no mentioned name would be left.
        """
        ...

    async def name_entity(self, bank_id: str, entity_id: str, name: str, now: datetime, *, shown: bool) -> Entity:
        """Give an entity a further name, which is kept as long as the entity; `shown` has it stand for the entity.

        Raises NotFound; Conflict when the name is one of several of another entity, or, `shown`, any of another's.
        """
        ...

    async def name_groups(self, bank_id: str, names: Sequence[str], after_version: int) -> NameGroups:
        """Which entities have one of these names (as `find_entities`), and which names are one.

        The groups are left out when they last changed at or before `after_version`.
        """
        ...
