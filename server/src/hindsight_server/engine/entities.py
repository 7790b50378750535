"""The people, places and things that facts name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.tag_resolution import resolved_tags
from hindsight_server.ports.records import Entity, FactFilter, Page
from hindsight_server.ports.store import Store

_COUNTED = 1000  # newest visible facts from which the dates of an entity are taken


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
        tags = await resolved_tags(self._store, bank_id, tags)
        return await self._store.list_entities(bank_id, tags, limit, offset)

    async def get(
        self, bank_id: str, entity_id: str, tags: TagFilter | None = None, fact_limit: int = 20
    ) -> EntityDetail:
        """One entity with its newest visible facts; with a tag filter its count and dates cover only those.

        Raises:
            NotFound: there is no such entity, or no visible fact names it.
        """
        entity = await self._store.get_entity(bank_id, entity_id)
        tags = await resolved_tags(self._store, bank_id, tags)
        wanted = FactFilter(entity_id=entity_id, tags=tags)
        page = await self._store.list_facts(bank_id, wanted, fact_limit if tags is None else _COUNTED, 0)
        if tags is None:
            return EntityDetail(entity, page.items)
        if not page.total:
            raise NotFound(f"Entity '{entity_id}' not found.")
        seen = [fact.mentioned_at for fact in page.items if fact.mentioned_at]
        visible = replace(
            entity, mention_count=page.total, first_seen=min(seen, default=None), last_seen=max(seen, default=None)
        )
        return EntityDetail(visible, page.items[:fact_limit])
