"""The people, places and things that facts name."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.records import Entity, FactFilter, Page
from hindsight_server.ports.store import Store


@dataclass(frozen=True, slots=True)
class EntityDetail:
    """An entity with the newest facts that name it."""

    entity: Entity
    facts: tuple[Fact, ...]


class Entities:
    """Use cases on entities; all raise BankNotFound for an unknown bank."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(
        self, bank_id: str, tags: TagFilter | None = None, limit: int = 100, offset: int = 0
    ) -> Page[Entity]:
        """Most mentioned first; with a tag filter only what visible facts name."""
        return await self._store.list_entities(bank_id, tags, limit, offset)

    async def get(
        self, bank_id: str, entity_id: str, tags: TagFilter | None = None, fact_limit: int = 20
    ) -> EntityDetail:
        """One entity with its newest visible facts. Raises NotFound."""
        entity = await self._store.get_entity(bank_id, entity_id)
        facts = await self._store.list_facts(bank_id, FactFilter(entity_id=entity_id, tags=tags), fact_limit, 0)
        return EntityDetail(entity, facts.items)
