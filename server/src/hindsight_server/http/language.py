"""What language models were asked, and whether they answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import orjson
from fastapi import Query, Request, Response
from pydantic import BaseModel, Field

from hindsight_server.engine.language.health import probe_all
from hindsight_server.http.errors import error_response
from hindsight_server.http.parsing import BankId, PageNumber, last_before, optional_time
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire.responses import language as shapes
from hindsight_server.ports.llm import Usage
from hindsight_server.ports.llm_log import LlmFilter, LlmRequest, LlmSums

_CallType = Literal["llm", "embedding", "rerank", "decision"]
# Period: how far back, and the width and name of a bucket.
_PERIODS = {
    "1d": (timedelta(days=1), timedelta(hours=1), "hour"),
    "7d": (timedelta(days=7), timedelta(days=1), "day"),
    "30d": (timedelta(days=30), timedelta(days=1), "day"),
}


class RequestsQuery(BaseModel):
    """The filters of a listing. `end_date` is not included in the span."""

    status: str | None = None
    operation: str | None = None
    scope: str | None = None
    call_type: _CallType | None = None
    provider: str | None = None
    trace_id: str | None = None
    document_id: str | None = None
    memory_id: str | None = None
    group: bool = False
    start_date: str | None = None
    end_date: str | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    offset: PageNumber = 0


class StatsQuery(BaseModel):
    operation: str | None = None
    call_type: _CallType | None = None
    period: Literal["1d", "7d", "30d"] = "7d"


async def list_llm_requests(request: Request, bank_id: BankId, query: Annotated[RequestsQuery, Query()]) -> Response:
    served = services(request)
    document_id = query.document_id or None
    if query.memory_id:
        # What was asked is kept by document: a memory's questions are those about the document that it came from.
        document_id = (await served.memories.get(bank_id, query.memory_id)).document_id or "-"
    wanted = LlmFilter(
        status=query.status or None,
        operation=query.operation or None,
        scope=query.scope or None,
        provider=query.provider or None,
        run_id=query.trace_id or None,
        document_id=document_id,
        start=optional_time(query.start_date, "start_date"),
        end=last_before(query.end_date, "end_date"),
    )
    page = await served.request_log.list(bank_id, wanted, query.limit, query.offset, by_run=query.group)
    # Only questions to language models are logged here.
    other_calls = query.call_type not in (None, "llm")
    listed: shapes.LLMRequestListResponse = {
        "bank_id": bank_id,
        "total": 0 if other_calls else page.total,
        "limit": query.limit,
        "offset": query.offset,
        "items": [] if other_calls else [_entry(bank_id, one) for one in page.items],
    }
    return answer(listed)


async def llm_request_stats(request: Request, bank_id: BankId, query: Annotated[StatsQuery, Query()]) -> Response:
    served = services(request)
    back, width, name = _PERIODS[query.period]
    now = served.request_log.now()
    start = _floor(now - back, width)
    sums = await served.request_log.sums(bank_id, query.operation or None, start, width)
    told: shapes.LLMRequestStatsResponse = {
        "bank_id": bank_id,
        "period": query.period,
        "trunc": name,
        "start": start.isoformat(),
        "buckets": _buckets([] if query.call_type not in (None, "llm") else sums, start, now, width),
    }
    return answer(told)


async def test_bank_llm(request: Request, bank_id: BankId) -> Response:
    served = services(request)
    if not served.llm_health:
        return error_response(404, "This operation is turned off (HINDSIGHT_API_ENABLE_BANK_LLM_HEALTH).")
    await served.banks.get(bank_id)
    probes = await probe_all(served.models, bank_id)
    told: shapes.BankLlmHealthResponse = {
        "bank_id": bank_id,
        "operations": [
            {
                "operation": probe.operation,
                "ok": probe.status == "connected",
                "status": probe.status,
                "latency_ms": probe.latency_ms,
            }
            for probe in probes
        ],
    }
    return answer(told)


def _entry(bank_id: str, one: LlmRequest) -> shapes.LLMRequestEntry:
    usage = one.usage
    return {
        "id": one.request_id,
        "bank_id": bank_id,
        "operation": one.operation,
        "scope": one.scope,
        "trace_id": one.run_id,
        "span_id": one.request_id,
        "parent_span_id": None,
        "provider": one.provider,
        "model": one.model,
        "status": one.status,
        "started_at": one.started_at.isoformat(),
        "ended_at": (one.started_at + timedelta(milliseconds=one.duration_ms)).isoformat(),
        "duration_ms": one.duration_ms,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "thoughts_tokens": usage.thought_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "input": _text(one.input),
        "output": _text(one.output),
        "error": one.error,
        "llm_info": {},
        "metadata": {"operation_id": one.operation_id, "document_id": one.document_id},
    }


def _text(kept: str | None) -> Any:
    """A kept text as JSON; as it is when it was cut."""
    if kept is None:
        return None
    try:
        return orjson.loads(kept)
    except orjson.JSONDecodeError:
        return kept


def _buckets(
    sums: Sequence[LlmSums], start: datetime, end: datetime, width: timedelta
) -> list[shapes.LLMRequestStatsBucket]:
    """Every stretch from `start` to `end`, empty ones too."""
    statuses: defaultdict[datetime, dict[str, int]] = defaultdict(dict)
    usages: defaultdict[datetime, Usage] = defaultdict(Usage)
    for one in sums:
        statuses[one.start][one.status] = one.count
        usages[one.start] += one.usage
    buckets = []
    while start <= end:
        buckets.append(_bucket(start, statuses[start], usages[start]))
        start += width
    return buckets


def _bucket(start: datetime, statuses: Mapping[str, int], usage: Usage) -> shapes.LLMRequestStatsBucket:
    return {
        "time": start.isoformat(),
        "statuses": dict(statuses),
        "total": sum(statuses.values()),
        "tokens": {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cached": usage.cached_tokens,
            "thoughts": usage.thought_tokens,
            "total": usage.input_tokens + usage.output_tokens,
        },
    }


def _floor(moment: datetime, width: timedelta) -> datetime:
    """The start of the stretch that holds a moment; stretches are counted from 1970."""
    seconds = width.total_seconds()
    return datetime.fromtimestamp(moment.timestamp() // seconds * seconds, moment.tzinfo)


HANDLERS = {
    "list_llm_requests": Handler(list_llm_requests, shapes.LLMRequestListResponse),
    "llm_request_stats": Handler(llm_request_stats, shapes.LLMRequestStatsResponse),
    "test_bank_llm": Handler(test_bank_llm, shapes.BankLlmHealthResponse),
}
