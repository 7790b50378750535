"""Entities over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from hindsight_server.domain.tags import TagFilter
from hindsight_server.http.memories import Match
from hindsight_server.http.parsing import BankId, Body, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import groups_from_text, tag_filter
from hindsight_server.http.wire.responses import entities as shapes
from hindsight_server.ports.entities import Entity, EntityEdge


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


class GraphQuery(TagsQuery):
    limit: PageNumber = 1000
    min_count: int = 1


class MergeBody(BaseModel):
    """Our extension: the entities that are the same as the one of the path."""

    entity_ids: list[str] = Field(min_length=1, max_length=100)


class SplitBody(BaseModel):
    """Our extension: the names that are not the entity's."""

    names: list[str] = Field(min_length=1, max_length=100)


class AliasBody(BaseModel):
    """Our extension: a further name of the entity."""

    name: str


class RenameBody(BaseModel):
    """Our extension: the name that the entity goes by."""

    canonical_name: str


class _Naming(TypedDict):
    """Our extension of every entity: its other names, and whether its name could be that of others."""

    aliases: list[str]
    ambiguous: bool
    could_be: list[str]


class NamedEntity(shapes.EntityListItem, _Naming):
    pass


class NamedEntities(TypedDict):
    items: list[NamedEntity]


class NamedEntityList(NamedEntities):
    total: int
    limit: int
    offset: int


class NamedEntityDetail(shapes.EntityDetailResponse, _Naming):
    pass


_COLOURS = {"PERSON": "#42a5f5", "LOCATION": "#66bb6a", "ORGANIZATION": "#ffa726", "LABEL": "#ab47bc"}
_COLOUR = "#90a4ae"
_EDGE_COLOUR = "#ffd700"


async def list_entities(request: Request, bank_id: BankId, query: Annotated[EntitiesQuery, Query()]) -> Response:
    page = await services(request).entities.list(bank_id, query.filter(), query.limit, query.offset)
    listed: NamedEntityList = {
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
    entity: NamedEntityDetail = {
        **_list_item(detail.entity),
        "observations": [{"text": fact.text, "mentioned_at": iso(fact.mentioned_at)} for fact in detail.facts],
    }
    return answer(entity)


async def get_entity_graph(request: Request, bank_id: BankId, query: Annotated[GraphQuery, Query()]) -> Response:
    graph = await services(request).entities.graph(bank_id, query.filter(), query.limit, query.min_count)
    shown = {
        "nodes": [_node(entity) for entity in graph.entities],
        "edges": [_edge(edge) for edge in graph.edges],
        "total_entities": graph.total_entities,
        "total_edges": graph.total_edges,
        "limit": query.limit,
    }
    return answer(shown)


async def regenerate(request: Request, bank_id: BankId, entity_id: str) -> Response:
    """Nothing is to be generated: the facts of an entity are read when they are asked for."""
    return await get_entity(request, bank_id, entity_id, TagsQuery())


async def merge_entities(
    request: Request, bank_id: BankId, entity_id: str, body: Annotated[MergeBody, Body(MergeBody)]
) -> Response:
    return answer(_list_item(await services(request).entities.merge(bank_id, [entity_id, *body.entity_ids])))


async def split_entity(
    request: Request, bank_id: BankId, entity_id: str, body: Annotated[SplitBody, Body(SplitBody)]
) -> Response:
    parts = await services(request).entities.split(bank_id, entity_id, body.names)
    return answer({"items": [_list_item(entity) for entity in parts]})


async def add_entity_alias(
    request: Request, bank_id: BankId, entity_id: str, body: Annotated[AliasBody, Body(AliasBody)]
) -> Response:
    return answer(_list_item(await services(request).entities.add_alias(bank_id, entity_id, body.name)))


async def remove_entity_alias(request: Request, bank_id: BankId, entity_id: str, alias: str) -> Response:
    parts = await services(request).entities.split(bank_id, entity_id, [alias])
    return answer(_list_item(parts[0]))


async def update_entity(
    request: Request, bank_id: BankId, entity_id: str, body: Annotated[RenameBody, Body(RenameBody)]
) -> Response:
    return answer(_list_item(await services(request).entities.rename(bank_id, entity_id, body.canonical_name)))


def _list_item(entity: Entity) -> NamedEntity:
    return {
        "id": entity.entity_id,
        "canonical_name": entity.name,
        "mention_count": entity.mention_count,
        "first_seen": iso(entity.first_seen),
        "last_seen": iso(entity.last_seen),
        "metadata": {"type": entity.type},
        "aliases": list(entity.aliases),
        "ambiguous": entity.is_ambiguous,
        "could_be": list(entity.could_be),
    }


def _node(entity: Entity) -> dict[str, Any]:
    """The contract has the payload of a node open for more keys."""
    data: dict[str, Any] = {
        "id": entity.entity_id,
        "label": entity.name,
        "mentionCount": entity.mention_count,
        "color": _COLOURS.get(entity.type, _COLOUR),
        "type": entity.type,
        "aliases": list(entity.aliases),
        "ambiguous": entity.is_ambiguous,
    }
    return {"data": data}


def _edge(edge: EntityEdge) -> shapes.EntityGraphEdge:
    source, target = edge.one.entity_id, edge.other.entity_id
    return {
        "data": {
            "id": f"{source}-{target}",
            "source": source,
            "target": target,
            "linkType": "cooccurrence",
            "weight": edge.count,
            "color": _EDGE_COLOUR,
            "lineStyle": "solid",
            "lastCooccurred": iso(edge.last_seen),
        }
    }


HANDLERS = {
    "list_entities": Handler(list_entities, NamedEntityList),
    "get_entity": Handler(get_entity, NamedEntityDetail),
    "get_entity_graph": Handler(get_entity_graph, shapes.EntityGraphResponse),
    "regenerate_entity_observations": Handler(regenerate, NamedEntityDetail),
    "merge_entities": Handler(merge_entities, NamedEntity, MergeBody),
    "split_entity": Handler(split_entity, NamedEntities, SplitBody),
    "add_entity_alias": Handler(add_entity_alias, NamedEntity, AliasBody),
    "remove_entity_alias": Handler(remove_entity_alias, NamedEntity),
    "update_entity": Handler(update_entity, NamedEntity, RenameBody),
}
