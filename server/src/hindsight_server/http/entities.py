"""Entities over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel

from hindsight_server.domain.tags import TagFilter
from hindsight_server.http.memories import Match
from hindsight_server.http.parsing import BankId, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import groups_from_text, tag_filter
from hindsight_server.http.wire import responses as shapes
from hindsight_server.ports.records import Entity


class TagsQuery(BaseModel):
    """Which memories count: by tags, or by groups of tags as JSON."""

    tags: list[str] | None = None
    tags_match: Match = "any"
    tag_groups: str | None = None

    def filter(self) -> TagFilter | None:
        """Raises InvalidInput."""
        return tag_filter(self.tags, self.tags_match, groups_from_text(self.tag_groups))


class EntitiesQuery(TagsQuery):
    limit: PageNumber = 100
    offset: PageNumber = 0


async def list_entities(request: Request, bank_id: BankId, query: Annotated[EntitiesQuery, Query()]) -> Response:
    page = await services(request).entities.list(bank_id, query.filter(), query.limit, query.offset)
    listed: shapes.EntityListResponse = {
        "items": [_list_item(entity) for entity in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def get_entity(
    request: Request, bank_id: BankId, entity_id: str, query: Annotated[TagsQuery, Query()]
) -> Response:
    detail = await services(request).entities.get(bank_id, entity_id, query.filter())
    entity: shapes.EntityDetailResponse = {
        **_list_item(detail.entity),
        "observations": [{"text": fact.text, "mentioned_at": iso(fact.mentioned_at)} for fact in detail.facts],
    }
    return answer(entity)


def _list_item(entity: Entity) -> shapes.EntityListItem:
    return {
        "id": entity.entity_id,
        "canonical_name": entity.name,
        "mention_count": entity.mention_count,
        "first_seen": iso(entity.first_seen),
        "last_seen": iso(entity.last_seen),
        "metadata": {"type": entity.type},
    }


HANDLERS = {
    "list_entities": Handler(list_entities, shapes.EntityListResponse),
    "get_entity": Handler(get_entity, shapes.EntityDetailResponse),
}
