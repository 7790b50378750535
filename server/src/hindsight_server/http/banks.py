"""Banks over HTTP: profile, settings, counts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response

from hindsight_server.engine.banks import BankConfig, BankInput
from hindsight_server.http.memories import deletion
from hindsight_server.http.parsing import BankId, Body, Count
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import banks as shapes
from hindsight_server.http.wire.responses import shared
from hindsight_server.ports.observations import ConsolidationCounts
from hindsight_server.ports.records import Bank, BankStats

BankBody = Annotated[wire.CreateBankRequest, Body(wire.CreateBankRequest)]
_PROFILE = {"name", "mission", "background", "disposition"}


async def list_banks(request: Request, q: str | None = None, limit: Count = 100, offset: Count = 0) -> Response:
    page = await services(request).banks.list(q or None, limit, offset)
    listed: shapes.BankListResponse = {
        "banks": [_list_item(bank) for bank in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def put_bank(request: Request, bank_id: BankId, body: BankBody) -> Response:
    return answer(_profile(await services(request).banks.put(bank_id, bank_input(body))))


async def patch_bank(request: Request, bank_id: BankId, body: BankBody) -> Response:
    return answer(_profile(await services(request).banks.patch(bank_id, bank_input(body))))


async def delete_bank(request: Request, bank_id: BankId) -> Response:
    deleted = await services(request).banks.delete(bank_id)
    return answer(deletion(f"Deleted bank '{bank_id}' with {deleted} memories.", deleted))


async def get_config(request: Request, bank_id: BankId) -> Response:
    return answer(_config(await services(request).banks.config(bank_id)))


async def patch_config(
    request: Request, bank_id: BankId, body: Annotated[wire.BankConfigUpdate, Body(wire.BankConfigUpdate)]
) -> Response:
    return answer(_config(await services(request).banks.update_config(bank_id, body.updates)))


async def reset_config(request: Request, bank_id: BankId) -> Response:
    return answer(_config(await services(request).banks.reset_config(bank_id)))


async def get_stats(request: Request, bank_id: BankId, refresh: bool = False) -> Response:
    """The counts are always exact, so that there is nothing to refresh."""
    served = services(request)
    return answer(_stats(bank_id, await served.banks.stats(bank_id), await served.observations.counts(bank_id)))


def bank_input(body: wire.CreateBankRequest) -> BankInput:
    """What the body sets; a single trait beats the one in `disposition`."""
    config = _traits(body.disposition) if body.disposition else {}
    given = body.model_dump(exclude=_PROFILE, exclude_none=True)
    return BankInput(name=body.name, mission=body.mission, background=body.background, config=config | given)


def _traits(disposition: wire.DispositionTraits) -> dict[str, int]:
    return {f"disposition_{trait}": value for trait, value in disposition.model_dump().items()}


def _disposition(bank: Bank) -> shapes.DispositionTraits:
    return {"skepticism": bank.skepticism, "literalism": bank.literalism, "empathy": bank.empathy}


def _profile(bank: Bank) -> shapes.BankProfileResponse:
    return {
        "bank_id": bank.bank_id,
        "name": bank.name,
        "disposition": _disposition(bank),
        "mission": bank.mission,
        "background": None,
    }


def _list_item(bank: Bank) -> shapes.BankListItem:
    return {
        "bank_id": bank.bank_id,
        "name": bank.name,
        "disposition": _disposition(bank),
        "mission": bank.mission,
        "created_at": iso(bank.created_at),
        "updated_at": iso(bank.updated_at),
        "fact_count": bank.fact_count,
        "last_document_at": iso(bank.last_document_at),
        "last_write_at": iso(bank.last_write_at),
        "display_alias": None,
        "matched_aliases": [],
    }


def _config(config: BankConfig) -> dict[str, object]:
    """`not_applied` is ours: the overrides that are kept but change nothing as this server runs now."""
    shape: shapes.BankConfigResponse = {
        "bank_id": config.bank_id,
        "config": dict(config.config),
        "overrides": dict(config.overrides),
    }
    return {**shape, "not_applied": list(config.not_applied)}


def _stats(bank_id: str, stats: BankStats, counts: ConsolidationCounts) -> shapes.BankStatsResponse:
    by_status = dict(stats.operations_by_status)
    return {
        "bank_id": bank_id,
        "total_nodes": sum(stats.facts_by_type.values()),
        "total_links": stats.entity_links,
        "total_documents": stats.documents,
        "nodes_by_fact_type": dict(stats.facts_by_type),
        "links_by_link_type": {"entity": stats.entity_links},
        "links_by_fact_type": {},
        "links_breakdown": {},
        "pending_operations": by_status.get("pending", 0) + by_status.get("processing", 0),
        "failed_operations": by_status.get("failed", 0),
        "operations_by_status": by_status,
        "last_consolidated_at": iso(counts.last_at),
        "last_memory_write_at": iso(stats.last_write_at),
        "pending_consolidation": counts.pending,
        "failed_consolidation": counts.failed,
        "total_observations": stats.facts_by_type.get("observation", 0),
    }


HANDLERS = {
    "list_banks": Handler(list_banks, shapes.BankListResponse),
    "create_or_update_bank": Handler(put_bank, shapes.BankProfileResponse, wire.CreateBankRequest),
    "update_bank": Handler(patch_bank, shapes.BankProfileResponse, wire.CreateBankRequest),
    "delete_bank": Handler(delete_bank, shared.DeleteResponse),
    "get_bank_config": Handler(get_config, shapes.BankConfigResponse),
    "update_bank_config": Handler(patch_config, shapes.BankConfigResponse, wire.BankConfigUpdate),
    "reset_bank_config": Handler(reset_config, shapes.BankConfigResponse),
    "get_agent_stats": Handler(get_stats, shapes.BankStatsResponse),
}
