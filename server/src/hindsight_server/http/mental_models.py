"""Mental models over HTTP."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.text import rendered
from hindsight_server.engine.mental_models.trace import delta_of, usage_of, used_of
from hindsight_server.engine.mental_models.types import (
    EMPTY,
    FAILED,
    NO_STRUCTURE,
    WRITTEN,
    MentalModelInput,
    MentalModelPatch,
    Refreshing,
    SeenModel,
)
from hindsight_server.http.ignored import note_ignored
from hindsight_server.http.parsing import BankId, Body, loads, validate
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import mental_models as shapes
from hindsight_server.ports.mental_models import MentalModel, PageVersion

Detail = Literal["metadata", "content", "full"]


class ListQuery(BaseModel):
    """The filters of a listing; content comes only when it is asked for."""

    tags: list[str] | None = None
    tags_match: Literal["any", "all", "exact"] = "any"
    detail: Detail = "metadata"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    exclude_knowledge_pages: bool = False


class CreatedMentalModel(shapes.CreateMentalModelResponse):
    """With advice of ours: what is likely not as it was meant."""

    warnings: NotRequired[list[str]]


class MentalModelShape(TypedDict):
    """A mental model; the contract has groups of tags in its trigger nest without end. `warnings` is advice of ours."""

    id: str
    bank_id: str
    name: str
    source_query: NotRequired[str | None]
    content: NotRequired[str | None]
    tags: list[str]
    max_tokens: NotRequired[int | None]
    trigger: NotRequired[dict[str, Any] | None]
    last_refreshed_at: str | None
    last_memory_seen_at: str | None
    last_refresh_failed_at: str | None
    last_full_refreshed_at: str | None
    created_at: str | None
    is_knowledge_page: bool
    reflect_response: NotRequired[dict[str, Any] | None]
    is_stale: bool
    warnings: list[str]


class MentalModelPage(TypedDict):
    items: list[MentalModelShape]
    total: int
    limit: int
    offset: int


class DryRunShape(TypedDict):
    """What a refresh would do."""

    mental_model_id: str
    name: str
    requested_mode: str
    effective_mode: str
    mode_fallback_reason: str | None
    outcome: str
    would_persist: bool
    scope: dict[str, Any]
    window: dict[str, Any]
    facts: dict[str, dict[str, int]]
    based_on: dict[str, list[dict[str, Any]]]
    current_content: str
    candidate_content: str
    preview_content: str
    diff: str
    delta_operations: dict[str, Any] | None
    retraction: None
    trace: dict[str, Any]
    usage: dict[str, int]
    duration_ms: int
    warnings: list[str]


async def list_mental_models(request: Request, bank_id: BankId, query: Annotated[ListQuery, Query()]) -> Response:
    wanted = tag_filter(query.tags, query.tags_match)
    page = await services(request).mental_models.list(
        bank_id, wanted, limit=query.limit, offset=query.offset, pages=not query.exclude_knowledge_pages
    )
    items = [model_answer(seen, query.detail) for seen in page.items]
    return answer({"items": items, "total": page.total, "limit": page.limit, "offset": page.offset})


async def create_mental_model(
    request: Request,
    bank_id: BankId,
    body: Annotated[wire.CreateMentalModelRequest, Body(wire.CreateMentalModelRequest)],
) -> Response:
    wanted = MentalModelInput(
        name=body.name,
        source_query=body.source_query,
        mental_model_id=body.id,
        tags=tuple(body.tags or ()),
        max_tokens=2048 if body.max_tokens is None else body.max_tokens,
        trigger=given_trigger(body.trigger) or {},
    )
    seen, refresh = await services(request).mental_models.create(bank_id, wanted)
    made: CreatedMentalModel = {
        "mental_model_id": seen.model.mental_model_id,
        "operation_id": refresh.operation_id,
        "warnings": list(seen.warnings),
    }
    return answer(made)


async def get_mental_model(
    request: Request, bank_id: BankId, mental_model_id: str, detail: Detail = "full"
) -> Response:
    return answer(model_answer(await services(request).mental_models.get(bank_id, mental_model_id), detail))


async def update_mental_model(
    request: Request,
    bank_id: BankId,
    mental_model_id: str,
    body: Annotated[wire.UpdateMentalModelRequest, Body(wire.UpdateMentalModelRequest)],
) -> Response:
    patch = MentalModelPatch(
        name=body.name,
        source_query=body.source_query,
        tags=None if body.tags is None else tuple(body.tags),
        max_tokens=body.max_tokens,
        trigger=given_trigger(body.trigger),
    )
    seen, _ = await services(request).mental_models.update(bank_id, mental_model_id, patch)
    return answer(model_answer(seen, "full"))


async def delete_mental_model(request: Request, bank_id: BankId, mental_model_id: str) -> Response:
    await services(request).mental_models.delete(bank_id, mental_model_id)
    return answer({"success": True, "message": f"Mental model '{mental_model_id}' is deleted."})


async def clear_mental_model(request: Request, bank_id: BankId, mental_model_id: str) -> Response:
    return answer(model_answer(await services(request).mental_models.clear(bank_id, mental_model_id), "full"))


async def refresh_mental_model(request: Request, bank_id: BankId, mental_model_id: str) -> Response:
    sent = await request.body()
    asked = loads(sent) if sent.strip() else None
    mode = None if asked is None else validate(wire.RefreshMentalModelRequest, asked).mode
    operation = await services(request).mental_models.refresh(bank_id, mental_model_id, full=mode == "full")
    return answer({"operation_id": operation.operation_id, "status": operation.status})


async def dry_run_refresh(request: Request, bank_id: BankId, mental_model_id: str) -> Response:
    sent = await request.body()
    asked = loads(sent) if sent.strip() else None
    note_ignored(request.scope, list(asked) if isinstance(asked, dict) else [])  # it can't be asked for another mode
    run, trace = await services(request).mental_models.dry_run(bank_id, mental_model_id)
    return answer(dry_run_answer(run, trace))


async def get_history(request: Request, bank_id: BankId, mental_model_id: str) -> Response:
    kept = await services(request).mental_models.history(bank_id, mental_model_id)
    return answer([_version(one) for one in kept])


def given_trigger(body: wire.MentalModelTrigger | None) -> dict[str, Any] | None:
    """The fields that a request names, as plain values."""
    return None if body is None else body.model_dump(mode="json", by_alias=True, exclude_unset=True)


def model_answer(seen: SeenModel, detail: Detail) -> MentalModelShape:
    """A mental model on the wire."""
    model = seen.model
    shown: MentalModelShape = {
        "id": model.mental_model_id,
        "bank_id": model.bank_id,
        "name": model.name,
        "tags": list(model.tags),
        "last_refreshed_at": iso(model.last_refreshed_at),
        "last_memory_seen_at": iso(model.last_memory_seen_at),
        "last_refresh_failed_at": iso(model.last_refresh_failed_at),
        "last_full_refreshed_at": iso(model.last_full_refreshed_at),
        "created_at": iso(model.created_at),
        "is_knowledge_page": model.is_page,
        "is_stale": seen.is_stale,
        "warnings": list(seen.warnings),
    }
    if detail != "metadata":
        shown["source_query"] = model.source_query
        shown["content"] = rendered(model.content.text)
        shown["max_tokens"] = model.max_tokens
        shown["trigger"] = trigger_answer(model)
    if detail == "full":
        shown["reflect_response"] = _reflect_response(seen)
    return shown


def trigger_answer(model: MentalModel) -> Any:
    """The trigger with every field."""
    return model.trigger.as_json()


def _reflect_response(seen: SeenModel) -> dict[str, Any] | None:
    """The evidence is read from the memories themselves: what was forgotten is not in it."""
    model = seen.model
    if model.last_refreshed_at is None:
        return None
    content = model.content
    told: dict[str, Any] = {"text": rendered(content.text), "based_on": based_on(seen.facts)}
    if model.trigger.response_schema is not None:
        told["structured_output"] = content.structured_output
        told["structured_output_error"] = content.structured_output_error
    if content.trace is not None:
        told["trace"] = content.trace
    return told


def based_on(facts: Iterable[Fact]) -> dict[str, list[dict[str, Any]]]:
    """Memories by type."""
    found: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        found.setdefault(fact.fact_type.value, []).append(_fact(fact))
    return found


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "type": fact.fact_type.value,
        "context": fact.context,
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "mentioned_at": iso(fact.mentioned_at),
        "document_id": fact.document_id or None,
        "tags": list(fact.tags),
    }


def _version(one: PageVersion) -> dict[str, Any]:
    return {
        "previous_content": one.previous_content,
        "changed_at": one.changed_at.isoformat(),
        "version": one.version,
        "outcome": one.outcome,
        "failure_reason": one.failure,
        "error": one.error,
    }


def dry_run_answer(run: Refreshing, trace: dict[str, Any]) -> DryRunShape:
    """What a refresh would do, on the wire."""
    model = run.model
    current = rendered(model.content.text)
    preview = current if run.content is None else rendered(run.content.text)
    outcome = EMPTY if run.outcome in (NO_STRUCTURE, FAILED) else run.outcome
    warnings = [*run.warnings, *([run.error] if run.error else [])]
    return {
        "mental_model_id": model.mental_model_id,
        "name": model.name,
        "requested_mode": run.requested,
        "effective_mode": run.effective,
        "mode_fallback_reason": run.fallback,
        "outcome": outcome,
        "would_persist": outcome == WRITTEN,
        "scope": _scope(run),
        "window": {
            "created_after": iso(run.changed_at),
            "created_before": trace["recorded_at"],
            "watermark": iso(run.mark.newest_at),
        },
        "facts": {"retrieved": dict(run.retrieved), "used": dict(used_of(run))},
        "based_on": based_on(run.used),
        "current_content": current,
        "candidate_content": run.candidate,
        "preview_content": preview,
        "diff": _diff(current, preview),
        "delta_operations": delta_of(run),
        "retraction": None,
        "trace": {**trace, "outcome": outcome},
        "usage": usage_of(run.usage),
        "duration_ms": trace["duration_ms"],
        "warnings": warnings,
    }


def _scope(run: Refreshing) -> dict[str, Any]:
    model, trigger = run.model, run.model.trigger
    return {
        "tags": list(model.tags) if model.tags and not trigger.tag_groups else None,
        "tags_match": trigger.tags_match or ("all_strict" if model.tags else "any"),
        "tag_groups": list(trigger.tag_groups) if trigger.tag_groups else None,
        "fact_types": list(trigger.fact_types) if trigger.fact_types else None,
        "exclude_mental_models": trigger.exclude_mental_models,
        "exclude_mental_model_ids": sorted({*(trigger.exclude_mental_model_ids or ()), model.mental_model_id}),
    }


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "current", "preview", lineterm="")
    return "\n".join(lines)


HANDLERS = {
    "list_mental_models": Handler(list_mental_models, MentalModelPage),
    "create_mental_model": Handler(create_mental_model, CreatedMentalModel, wire.CreateMentalModelRequest),
    "get_mental_model": Handler(get_mental_model, MentalModelShape),
    "update_mental_model": Handler(update_mental_model, MentalModelShape, wire.UpdateMentalModelRequest),
    "delete_mental_model": Handler(delete_mental_model),
    "get_mental_model_history": Handler(get_history),
    "refresh_mental_model": Handler(
        refresh_mental_model, shapes.AsyncOperationSubmitResponse, wire.RefreshMentalModelRequest
    ),
    "dry_run_refresh_mental_model": Handler(dry_run_refresh, DryRunShape),
    "clear_mental_model": Handler(clear_mental_model, MentalModelShape),
}
