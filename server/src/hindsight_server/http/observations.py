"""Observations over HTTP: their scopes and versions, starting and repairing their consolidation, clearing them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from typing_extensions import TypedDict

from hindsight_server.domain.model import Fact
from hindsight_server.engine.consolidate.observations import Change, RulePreview, ScopeSample, StrategiesPreview
from hindsight_server.http.memories import deletion
from hindsight_server.http.parsing import BankId, Body, Count, loads, validate
from hindsight_server.http.recall import fact_answer, iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import observations as shapes
from hindsight_server.http.wire.responses import shared

ScopeCount = Annotated[int, Query(ge=0, le=1000)]
PreviewBody = Annotated[wire.ConsolidationStrategiesPreviewRequest, Body(wire.ConsolidationStrategiesPreviewRequest)]


class HistoryEntry(TypedDict):
    """A version of an observation; the API leaves its shape open.

    `action` is ``created``, ``updated``, ``contradicted`` or ``supported``; `previous_text` is what it said before,
    null for the first. `source_facts` are the facts that this version added, as they are now, each with its
    `quote`: the stretch of its text that proves the observation; null where none was given.
    """

    version: int
    action: str
    text: str
    previous_text: str | None
    changed_at: str | None
    source_fact_ids: list[str]
    source_facts: list[dict[str, Any]]


async def trigger(request: Request, bank_id: BankId) -> Response:
    """The body may be left out."""
    body = await request.body()
    asked_for = loads(body) if body.strip() else None
    scopes = None if asked_for is None else validate(wire.ConsolidationRequest, asked_for).observation_scopes
    operation_id, joined = await services(request).consolidator.trigger(bank_id, scopes)
    asked: shapes.ConsolidationResponse = {"operation_id": operation_id, "deduplicated": joined}
    return answer(asked)


async def recover(request: Request, bank_id: BankId) -> Response:
    recovered: shapes.RecoverConsolidationResponse = {
        "retried_count": await services(request).observations.recover(bank_id)
    }
    return answer(recovered)


async def clear(request: Request, bank_id: BankId) -> Response:
    deleted = await services(request).observations.clear(bank_id)
    return answer(deletion(f"Deleted {deleted} observations.", deleted))


async def clear_of_memory(request: Request, bank_id: BankId, memory_id: str) -> Response:
    cleared: shapes.ClearMemoryObservationsResponse = {
        "deleted_count": await services(request).observations.clear_of(bank_id, memory_id)
    }
    return answer(cleared)


async def list_scopes(request: Request, bank_id: BankId, limit: ScopeCount = 100, offset: Count = 0) -> Response:
    page = await services(request).observations.scopes(bank_id, limit, offset)
    listed: shapes.ObservationScopesResponse = {
        "scopes": [{"tags": list(scope), "count": count} for scope, count in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def history(request: Request, bank_id: BankId, memory_id: str) -> Response:
    changes = await services(request).observations.history(bank_id, memory_id)
    return answer([_entry(change) for change in changes])


async def preview(request: Request, bank_id: BankId, body: PreviewBody) -> Response:
    strategies = [strategy.model_dump(exclude_none=True) for strategy in body.strategies]
    samples = 5 if body.sample_limit is None else body.sample_limit
    return answer(_preview(await services(request).observations.preview(bank_id, strategies, samples)))


def _entry(change: Change) -> HistoryEntry:
    version = change.version
    return {
        "version": version.version,
        "action": version.action,
        "text": version.text,
        "previous_text": change.previous_text,
        "changed_at": iso(version.changed_at),
        "source_fact_ids": list(version.fact_ids),
        "source_facts": [_source(fact, change.quotes.get(fact.fact_id)) for fact in change.facts],
    }


def _source(fact: Fact, quote: str | None) -> dict[str, Any]:
    return {**fact_answer(fact), "quote": quote}


def _preview(found: StrategiesPreview) -> shapes.ConsolidationStrategiesPreview:
    default = _rule(found.default)
    return {
        "strategies": [
            {"active": active, "claimed_count": claimed, "rules": [_rule(rule) for rule in rules]}
            for active, claimed, rules in found.strategies
        ],
        "default": {
            "match_count": default["match_count"],
            "observation_count": default["observation_count"],
            "samples": default["samples"],
        },
        "scopes_scanned": found.scanned,
        "complete": found.complete,
    }


def _rule(rule: RulePreview) -> shapes.StrategyRulePreview:
    return {
        "match_count": rule.matched,
        "taken_count": rule.taken,
        "observation_count": rule.observations,
        "samples": [_sample(sample) for sample in rule.samples],
    }


def _sample(sample: ScopeSample) -> shapes.StrategyScopePreview:
    return {"tags": list(sample.tags), "count": sample.count, "handled_by": sample.handled_by}


HANDLERS = {
    "trigger_consolidation": Handler(trigger, shapes.ConsolidationResponse, wire.ConsolidationRequest),
    "recover_consolidation": Handler(recover, shapes.RecoverConsolidationResponse),
    "clear_observations": Handler(clear, shared.DeleteResponse),
    "clear_memory_observations": Handler(clear_of_memory, shapes.ClearMemoryObservationsResponse),
    "list_observation_scopes": Handler(list_scopes, shapes.ObservationScopesResponse),
    "get_observation_history": Handler(history, list[HistoryEntry]),
    "preview_consolidation_strategies": Handler(
        preview, shapes.ConsolidationStrategiesPreview, wire.ConsolidationStrategiesPreviewRequest
    ),
}
