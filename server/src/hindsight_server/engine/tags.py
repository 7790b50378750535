"""The tags that facts and mental models carry."""

from __future__ import annotations

from collections import Counter

from hindsight_server.domain.tags import most_used
from hindsight_server.ports.records import Page
from hindsight_server.ports.store import Store


class Tags:
    """Use cases on tags; all raise BankNotFound for an unknown bank."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(
        self, bank_id: str, query: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[tuple[str, int]]:
        """Tags with the number of facts that carry each, most used first.

        Args:
            query: a pattern with ``*`` for anything, any case: ``user:*``.
        """
        return await self._store.list_tags(bank_id, query or None, limit, offset)

    async def list_of_mental_models(
        self, bank_id: str, query: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[tuple[str, int]]:
        """As `list`, of mental models instead of facts."""
        models = await self._store.list_mental_models(bank_id)
        found = most_used(Counter(tag for model in models for tag in set(model.tags)), query or None)
        return Page(tuple(found[offset : offset + limit]), len(found), limit, offset)
