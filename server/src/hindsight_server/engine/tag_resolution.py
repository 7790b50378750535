"""Fuzzy tag filters for listings: resolved against the tags that the store has."""

from __future__ import annotations

from hindsight_server.domain.fuzzy_tags import MOST_TAGS, Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.store import Store


async def resolved_tags(store: Store, bank_id: str, tags: TagFilter | None) -> TagFilter | None:
    """The filter without fuzzy leaves. Raises BankNotFound; InvalidInput beyond the limits of `domain.fuzzy_tags`."""
    if tags is None or not fuzzy_tags(tags):
        return tags
    page = await store.list_tags(bank_id, None, MOST_TAGS + 1, 0)
    return resolve(tags, Vocabulary(tag for tag, _ in page.items)).tags
