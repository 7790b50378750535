"""Directives over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.tags import TagsMatch
from hindsight_server.engine.directives import DirectiveInput
from hindsight_server.http.parsing import BankId, Body, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import directives as shapes
from hindsight_server.http.wire.responses import shared

DirectiveId = Annotated[str, Path()]


class DirectivesQuery(BaseModel):
    """The filters of a listing."""

    tags: list[str] | None = None
    tags_match: Literal["any", "all", "exact"] = "any"
    active_only: bool = True
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: PageNumber = 0


async def list_directives(request: Request, bank_id: BankId, query: Annotated[DirectivesQuery, Query()]) -> Response:
    page = await services(request).directives.list(
        bank_id,
        query.tags or (),
        TagsMatch(query.tags_match),
        active_only=query.active_only,
        limit=query.limit,
        offset=query.offset,
    )
    listed: shapes.DirectiveListResponse = {
        "items": [_directive(bank_id, one) for one in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def create_directive(
    request: Request, bank_id: BankId, body: Annotated[wire.CreateDirectiveRequest, Body(wire.CreateDirectiveRequest)]
) -> Response:
    made = await services(request).directives.create(bank_id, _given(body))
    return answer(_directive(bank_id, made))


async def get_directive(request: Request, bank_id: BankId, directive_id: DirectiveId) -> Response:
    return answer(_directive(bank_id, await services(request).directives.get(bank_id, directive_id)))


async def update_directive(
    request: Request,
    bank_id: BankId,
    directive_id: DirectiveId,
    body: Annotated[wire.UpdateDirectiveRequest, Body(wire.UpdateDirectiveRequest)],
) -> Response:
    changed = await services(request).directives.update(bank_id, directive_id, _given(body))
    return answer(_directive(bank_id, changed))


async def delete_directive(request: Request, bank_id: BankId, directive_id: DirectiveId) -> Response:
    await services(request).directives.delete(bank_id, directive_id)
    deleted: shared.DeleteResponse = {"success": True, "message": "Directive deleted.", "deleted_count": 1}
    return answer(deleted)


def _given(body: wire.CreateDirectiveRequest | wire.UpdateDirectiveRequest) -> DirectiveInput:
    return DirectiveInput(
        name=body.name,
        content=body.content,
        priority=body.priority,
        is_active=body.is_active,
        tags=None if body.tags is None else tuple(body.tags),
    )


def _directive(bank_id: str, one: Directive) -> shapes.DirectiveResponse:
    return {
        "id": one.directive_id,
        "bank_id": bank_id,
        "name": one.name,
        "content": one.content,
        "priority": one.priority,
        "is_active": one.is_active,
        "tags": list(one.tags),
        "created_at": iso(one.created_at),
        "updated_at": iso(one.updated_at),
    }


HANDLERS = {
    "list_directives": Handler(list_directives, shapes.DirectiveListResponse),
    "create_directive": Handler(create_directive, shapes.DirectiveResponse, wire.CreateDirectiveRequest),
    "get_directive": Handler(get_directive, shapes.DirectiveResponse),
    "update_directive": Handler(update_directive, shapes.DirectiveResponse, wire.UpdateDirectiveRequest),
    "delete_directive": Handler(delete_directive),
}
