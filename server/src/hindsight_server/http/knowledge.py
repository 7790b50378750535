"""The tree of knowledge pages over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from fastapi import Query, Request, Response
from pydantic import Field
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from hindsight_server.domain.pages.text import rendered
from hindsight_server.engine.knowledge import NodeMove, SeenNode, default_page_input, page_markdown, page_type
from hindsight_server.engine.mental_models.types import MentalModelPatch
from hindsight_server.http.entities import TagsQuery
from hindsight_server.http.mental_models import given_trigger, trigger_answer
from hindsight_server.http.parsing import BankId, Body
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import knowledge as shapes


class SearchQuery(TagsQuery):
    q: Annotated[str, Field(min_length=1)]
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class CreatedPage(shapes.CreateKnowledgePageResponse):
    """With advice of ours: what is likely not as it was meant."""

    warnings: NotRequired[list[str]]


class NodeShape(TypedDict):
    """A folder or page; `warnings` of a page is advice of ours."""

    id: str
    kind: Literal["folder", "page"]
    name: str
    parent_id: str | None
    mental_model_id: str | None
    managed: bool
    description: str | None
    tags: list[str]
    timestamp: str | None
    is_stale: bool | None
    last_refresh_failed_at: str | None
    trigger: NotRequired[dict[str, Any] | None]
    warnings: NotRequired[list[str]]
    children: list[NodeShape]


class TreeShape(TypedDict):
    roots: list[NodeShape]


async def get_tree(request: Request, bank_id: BankId, query: Annotated[TagsQuery, Query()]) -> Response:
    roots = await services(request).knowledge.tree(bank_id, query.filter())
    return answer({"roots": [_node(one) for one in roots]})


async def create_folder(
    request: Request, bank_id: BankId, body: Annotated[wire.CreateFolderRequest, Body(wire.CreateFolderRequest)]
) -> Response:
    made = await services(request).knowledge.add_folder(bank_id, body.name, body.parent_id)
    return answer(_node(made), 201)


async def create_page(
    request: Request, bank_id: BankId, body: Annotated[wire.CreatePageRequest, Body(wire.CreatePageRequest)]
) -> Response:
    wanted = default_page_input(
        body.name,
        body.source_query,
        tags=None if body.tags is None else tuple(body.tags),
        max_tokens=body.max_tokens,
        trigger=given_trigger(body.trigger),
    )
    seen, refresh = await services(request).knowledge.add_page(bank_id, wanted, body.parent_id)
    made: CreatedPage = {
        "page_id": seen.model.mental_model_id,
        "mental_model_id": seen.model.mental_model_id,
        "operation_id": refresh.operation_id,
        "warnings": list(seen.warnings),
    }
    return answer(made, 201)


async def get_page(request: Request, bank_id: BankId, page_id: str) -> Response:
    model = await services(request).knowledge.page(bank_id, page_id)
    shown: shapes.KnowledgePageResponse = {
        "id": model.mental_model_id,
        "name": model.name,
        "type": page_type(model.tags),
        "description": model.source_query,
        "tags": list(model.tags),
        "timestamp": iso(model.last_refreshed_at or model.created_at),
        "body": rendered(model.content.text),
        "markdown": page_markdown(model, notice=True),
    }
    return answer(shown)


async def search(request: Request, bank_id: BankId, query: Annotated[SearchQuery, Query()]) -> Response:
    hits = await services(request).knowledge.search(bank_id, query.q, query.filter(), query.limit)
    results: list[shapes.KnowledgePageSearchResult] = [
        {
            "id": hit.model.mental_model_id,
            "name": hit.model.name,
            "mental_model_id": hit.model.mental_model_id,
            "source_query": hit.model.source_query,
            "snippet": hit.snippet,
            "score": round(hit.score, 6),
            "updated_at": iso(hit.model.last_refreshed_at),
        }
        for hit in hits
    ]
    return answer({"results": results, "total": len(results)})


async def update_node(
    request: Request,
    bank_id: BankId,
    node_id: str,
    body: Annotated[wire.UpdateNodeRequest, Body(wire.UpdateNodeRequest)],
) -> Response:
    given = (body.source_query, body.tags, body.max_tokens, body.trigger)
    page = MentalModelPatch(
        source_query=body.source_query,
        tags=None if body.tags is None else tuple(body.tags),
        max_tokens=body.max_tokens,
        trigger=given_trigger(body.trigger),
    )
    wanted = NodeMove(
        name=body.name,
        parent_id=body.parent_id,
        moves="parent_id" in body.model_fields_set,
        page=page if any(value is not None for value in given) else None,
    )
    return answer(_node(await services(request).knowledge.update(bank_id, node_id, wanted)))


async def delete_node(request: Request, bank_id: BankId, node_id: str) -> Response:
    deleted = await services(request).knowledge.delete(bank_id, node_id)
    return answer({"success": True, "message": f"'{node_id}' is deleted.", "deleted_count": deleted})


async def export(request: Request, bank_id: BankId) -> Response:
    files = await services(request).knowledge.export(bank_id)
    return answer({"files": [{"path": file.path, "content": file.content} for file in files]})


def _node(seen: SeenNode) -> dict[str, Any]:
    node = seen.node
    shown: dict[str, Any] = {
        "id": node.node_id,
        "kind": node.kind,
        "name": node.name,
        "parent_id": node.parent_id,
        "mental_model_id": None,
        "managed": node.managed,
        "description": None,
        "tags": [],
        "timestamp": iso(node.updated_at),
        "is_stale": None,
        "last_refresh_failed_at": None,
        "children": [_node(one) for one in seen.children],
    }
    if seen.page is not None:
        model = seen.page.model
        shown |= {
            "mental_model_id": model.mental_model_id,
            "description": model.source_query,
            "tags": list(model.tags),
            "timestamp": iso(model.last_refreshed_at or model.created_at),
            "is_stale": seen.page.is_stale,
            "last_refresh_failed_at": iso(model.last_refresh_failed_at),
            "trigger": trigger_answer(model),
            "warnings": list(seen.page.warnings),
        }
    return shown


HANDLERS = {
    "get_knowledge_base_tree": Handler(get_tree, TreeShape),
    "create_knowledge_folder": Handler(create_folder, NodeShape, wire.CreateFolderRequest),
    "create_knowledge_page": Handler(create_page, CreatedPage, wire.CreatePageRequest),
    "get_knowledge_page": Handler(get_page, shapes.KnowledgePageResponse),
    "search_knowledge_base": Handler(search, shapes.KnowledgePageSearchResponse),
    "update_knowledge_node": Handler(update_node, NodeShape, wire.UpdateNodeRequest),
    "delete_knowledge_node": Handler(delete_node),
    "export_knowledge_base": Handler(export, shapes.KnowledgePageBundleResponse),
}
