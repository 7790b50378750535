"""Stored facts over HTTP: browsing, correcting, clearing; and the tags they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, cast

from fastapi import Query, Request, Response
from pydantic import BaseModel

from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.model import Fact, FactType
from hindsight_server.engine.memories import ForgetInput, MemoryPatch
from hindsight_server.engine.offload import offloaded
from hindsight_server.http.files import show_on_facts
from hindsight_server.http.parsing import BankId, Body, Count, PageNumber, last_before, optional_time
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer, answer_last
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import memories as shapes
from hindsight_server.http.wire.responses import shared
from hindsight_server.ports.forgetting import Forgotten
from hindsight_server.ports.observations import ConsolidationState
from hindsight_server.ports.records import FactFilter

Match = Literal["any", "all", "any_strict", "all_strict", "exact"]


class MemoriesQuery(BaseModel):
    """The filters of a listing. `end_date` is not included in the span."""

    type: str | None = None
    q: str | None = None
    consolidation_state: str | None = None
    state: str | None = None
    document_id: str | None = None
    entity_id: str | None = None
    tags: list[str] | None = None
    tags_match: Match = "any"
    time_field: Literal["created_at", "updated_at", "mentioned_at", "occurred_start", "occurred_end"] | None = None
    start_date: str | None = None
    end_date: str | None = None
    limit: PageNumber = 100
    offset: PageNumber = 0


async def list_memories(request: Request, bank_id: BankId, query: Annotated[MemoriesQuery, Query()]) -> Response:
    page = await services(request).memories.list(bank_id, fact_filter(query), query.limit, query.offset)
    states = await _states(request, bank_id, page.items)
    listed: shapes.ListMemoryUnitsResponse = {
        "items": await offloaded(len(page.items), partial(_list_items, page.items, states)),
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    await show_on_facts(services(request), bank_id, cast("list[dict[str, Any]]", listed["items"]))
    count, held = len(page.items), [page, states, listed]
    del page, states, listed
    return await answer_last(count, held)


def _list_items(facts: Sequence[Fact], states: Mapping[str, ConsolidationState]) -> list[shapes.MemoryUnitListItem]:
    return [_list_item(fact, states.get(fact.fact_id)) for fact in facts]


def fact_filter(query: MemoriesQuery) -> FactFilter:
    """What a listing asks for. Raises InvalidInput."""
    start, end = optional_time(query.start_date, "start_date"), last_before(query.end_date, "end_date")
    return FactFilter(
        fact_type=query.type or None,
        query=query.q or None,
        document_id=query.document_id or None,
        entity_id=query.entity_id or None,
        tags=tag_filter(query.tags, query.tags_match),
        state=query.state or None,
        consolidation=query.consolidation_state or None,
        time_field=query.time_field or ("created_at" if start or end else None),
        start=start,
        end=end,
    )


async def get_memory(request: Request, bank_id: BankId, memory_id: str) -> Response:
    return await _answered(request, bank_id, await services(request).memories.get(bank_id, memory_id))


async def update_memory(
    request: Request,
    bank_id: BankId,
    memory_id: str,
    body: Annotated[wire.UpdateMemoryRequest, Body(wire.UpdateMemoryRequest)],
) -> Response:
    patch = MemoryPatch(
        text=body.text,
        fact_type=body.fact_type,
        context=body.context,
        occurred_start=body.occurred_start,
        occurred_end=body.occurred_end,
        mentioned_at=body.mentioned_at,
        entities=body.entities,
        resolve_entities=body.resolve_entities is not False,
        state=body.state,
        reason=body.reason,
    )
    return await _answered(request, bank_id, await services(request).memories.update(bank_id, memory_id, patch))


async def clear_memories(request: Request, bank_id: BankId, type: str | None = None) -> Response:
    deleted = await services(request).memories.clear(bank_id, type or None)
    return answer(deletion(f"Deleted {deleted} memories.", deleted))


async def forget_memory(request: Request, bank_id: BankId, memory_id: str) -> Response:
    forgotten = await services(request).memories.forget(bank_id, ForgetInput(ids=[memory_id]))
    if forgotten.missing:
        raise NotFound(f"Memory '{memory_id}' not found in bank '{bank_id}'.")
    return answer(_forgotten(forgotten, dry_run=False))


class ForgetRequest(BaseModel):
    """What to forget: exactly one of `ids`, `tags` and `document_ids`."""

    ids: list[str] | None = None
    tags: list[str] | None = None
    tags_match: str | None = None
    document_ids: list[str] | None = None
    dry_run: bool = False


async def forget_memories(
    request: Request, bank_id: BankId, body: Annotated[ForgetRequest, Body(ForgetRequest)]
) -> Response:
    wanted = ForgetInput(
        ids=body.ids,
        tags=body.tags,
        tags_match=body.tags_match or "any_strict",
        document_ids=body.document_ids,
        dry_run=body.dry_run,
    )
    return answer(_forgotten(await services(request).memories.forget(bank_id, wanted), dry_run=body.dry_run))


def _forgotten(done: Forgotten, *, dry_run: bool) -> dict[str, Any]:
    return {
        "success": True,
        "dry_run": dry_run,
        "memories_forgotten": done.facts,
        "documents_changed": list(done.documents_changed),
        "documents_deleted": list(done.documents_deleted),
        "missing": list(done.missing),
    }


async def list_tags(
    request: Request,
    bank_id: BankId,
    q: str | None = None,
    source: Literal["memories", "mental_models"] = "memories",
    limit: Count = 100,
    offset: Count = 0,
) -> Response:
    tags = services(request).tags
    listing = tags.list_of_mental_models if source == "mental_models" else tags.list
    page = await listing(bank_id, q or None, limit, offset)
    listed: shapes.ListTagsResponse = {
        "items": [{"tag": tag, "count": count} for tag, count in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


def deletion(message: str, deleted: int) -> shared.DeleteResponse:
    """What a deletion answers."""
    return {"success": True, "message": message, "deleted_count": deleted}


async def _states(request: Request, bank_id: str, facts: Sequence[Fact]) -> Mapping[str, ConsolidationState]:
    ids = [fact.fact_id for fact in facts if fact.fact_type is not FactType.OBSERVATION]
    return await services(request).observations.states(bank_id, ids) if ids else {}


def _list_item(fact: Fact, consolidated: ConsolidationState | None = None) -> shapes.MemoryUnitListItem:
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "context": fact.context or "",
        "date": iso(fact.occurred_start or fact.mentioned_at) or "",
        "fact_type": fact.fact_type.value,
        "document_id": fact.document_id or None,
        "mentioned_at": iso(fact.mentioned_at),
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "entities": ", ".join(fact.entities),
        "chunk_id": fact.chunk_id,
        "proof_count": fact.proof_count,
        "tags": list(fact.tags),
        "metadata": dict(fact.metadata),
        "consolidated_at": iso(consolidated.done_at) if consolidated and not consolidated.failed else None,
        "consolidation_failed_at": iso(consolidated.done_at) if consolidated and consolidated.failed else None,
        "state": fact.state.value,
        "invalidation_reason": fact.invalidation_reason,
        "invalidated_at": iso(fact.invalidated_at),
        "edited_at": iso(fact.edited_at),
        "updated_at": iso(fact.updated_at),
        "source_memory_ids": list(fact.source_fact_ids),
    }


async def _answered(request: Request, bank_id: str, fact: Fact) -> Response:
    """One memory in full; here the entities are a list, and the type goes by both of its names."""
    consolidated = (await _states(request, bank_id, [fact])).get(fact.fact_id)
    shown: dict[str, Any] = {
        **_list_item(fact, consolidated),
        "type": fact.fact_type.value,
        "context": fact.context,
        "entities": list(fact.entities),
        "created_at": iso(fact.created_at),
        "history": [],
    }
    await show_on_facts(services(request), bank_id, [shown])
    return answer(shown)


HANDLERS = {
    "list_memories": Handler(list_memories, shapes.ListMemoryUnitsResponse),
    "get_memory": Handler(get_memory),
    "update_memory": Handler(update_memory, body=wire.UpdateMemoryRequest),
    "clear_bank_memories": Handler(clear_memories, shared.DeleteResponse),
    "forget_memory": Handler(forget_memory),
    "forget_memories": Handler(forget_memories, body=ForgetRequest),
    "list_tags": Handler(list_tags, shapes.ListTagsResponse),
}
