"""The people, places and things that facts name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.model import Fact
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.tags import TagFilter
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.tag_resolution import resolved_tags
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.entities import Entity, EntityGraph
from hindsight_server.ports.records import FactFilter, Page
from hindsight_server.ports.store import Store

LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """An entity with the newest facts that name it."""

    entity: Entity
    facts: tuple[Fact, ...]


class Entities:
    """Use cases on entities; all raise BankNotFound for an unknown bank.

    Args:
        defender: what names that users give go through; None lets all in.
    """

    def __init__(self, store: Store, clock: Clock, defender: Defender | NoDefence | None = None) -> None:
        self._defender = defender or NoDefence()
        self._store = store
        self._clock = clock

    async def list(
        self, bank_id: str, tags: TagFilter | None = None, limit: int = 100, offset: int = 0
    ) -> Page[Entity]:
        """Most mentioned first; with a tag filter only what visible facts name."""
        tags = await resolved_tags(self._store, bank_id, tags)
        return await self._store.list_entities(bank_id, tags, limit, offset)

    async def get(
        self, bank_id: str, entity_id: str, tags: TagFilter | None = None, fact_limit: int = 20
    ) -> EntityDetail:
        """One entity with its newest visible facts; with a tag filter its count and dates cover only those.

        Raises:
            NotFound: there is no such entity, or no visible fact names it.
        """
        tags = await resolved_tags(self._store, bank_id, tags)
        entity = await self._store.get_entity(bank_id, entity_id, tags)
        page = await self._store.list_facts(bank_id, FactFilter(entity_id=entity_id, tags=tags), fact_limit, 0)
        return EntityDetail(entity, page.items)

    async def graph(
        self, bank_id: str, tags: TagFilter | None = None, limit: int = 1000, min_count: int = 1
    ) -> EntityGraph:
        """The entities that facts name together, the most frequent pairs first; with a tag filter in visible facts."""
        tags = await resolved_tags(self._store, bank_id, tags)
        return await self._store.entity_graph(bank_id, tags, limit, min_count)

    async def merge(self, bank_id: str, entity_ids: Sequence[str]) -> Entity:
        """Make entities one, under the fullest of their names, until they are split again.

        Raises NotFound.
        """
        return await self._store.merge_entities(bank_id, list(dict.fromkeys(entity_ids)), self._clock.now())

    async def split(self, bank_id: str, entity_id: str, names: Sequence[str]) -> Sequence[Entity]:
        """Keep some names of an entity apart from its others; a name that only a user gave is removed.

        Merging what came of it takes the split back. The entity that is left comes first.

        Raises:
            NotFound: there is no such entity.
            InvalidInput: a name is not one of its names, or no mentioned name would be left.
        """
        return await self._store.split_entity(bank_id, entity_id, names, self._clock.now())

    async def add_alias(self, bank_id: str, entity_id: str, name: str) -> Entity:
        """Give an entity a further name, which need not be mentioned anywhere.

        Raises:
            NotFound: there is no such entity.
            InvalidInput: the name is blank or longer than 256 characters.
            Blocked: the bank's memory defence keeps it out.
            Conflict: it is one of several names of another entity. The only name of another makes the two one.
        """
        return await self._name(bank_id, entity_id, name, "name", shown=False)

    async def rename(self, bank_id: str, entity_id: str, name: str) -> Entity:
        """Have an entity go by a name, one of its own or a new one.

        Raises as `add_alias` does, and Conflict for every name of another entity: two are made one by `merge` alone.
        """
        return await self._name(bank_id, entity_id, name, "canonical_name", shown=True)

    async def _name(self, bank_id: str, entity_id: str, name: str, field: str, *, shown: bool) -> Entity:
        name = clean_text(name).strip()
        if not normal_name(name) or len(name) > LONGEST_NAME:
            raise InvalidInput(f"{field} must hold 1 to {LONGEST_NAME} characters.", field=field)
        await self._defender.named(bank_id, name)
        return await self._store.name_entity(bank_id, entity_id, name, self._clock.now(), shown=shown)
