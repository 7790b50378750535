"""Decisions of memory defence over HTTP; an extension of ours."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.http.parsing import BankId, PageNumber, last_before, optional_time
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.ports.security import EventFilter


class EventsQuery(BaseModel):
    """The filters of a listing. `end_date` is not included in the span."""

    detector: (
        Literal["sensitive_data", "prompt_injection", "size_anomaly", "protected_tags", "immutable_tags"] | None
    ) = None
    action: Literal["redact", "block"] | None = None
    severity: Literal["low", "medium", "high", "critical"] | None = None
    document_id: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    limit: PageNumber = 100
    offset: PageNumber = 0


class FoundShape(TypedDict):
    """A kind of thing that was found in a field, how often, and the first places in a plain text."""

    label: str
    field: str
    count: int
    positions: list[int]


class SecurityEventShape(TypedDict):
    """One decision about one item. Nothing in it holds what was found."""

    id: str
    created_at: str
    detector: str
    action: str
    severity: str
    source: str
    message: str
    findings: list[FoundShape]
    item_index: int | None
    document_id: str | None
    memory_id: str | None
    operation_id: str | None
    receipt_uri: str | None


class SecurityEventsAnswer(TypedDict):
    items: list[SecurityEventShape]
    total: int
    limit: int
    offset: int


async def list_security_events(request: Request, bank_id: BankId, query: Annotated[EventsQuery, Query()]) -> Response:
    wanted = EventFilter(
        detector=query.detector,
        action=query.action,
        severity=query.severity,
        document_id=query.document_id or None,
        start=optional_time(query.start_date, "start_date"),
        end=last_before(query.end_date, "end_date"),
    )
    page = await services(request).defender.list(bank_id, wanted, query.limit, query.offset)
    listed: SecurityEventsAnswer = {
        "items": [_event(event) for event in page.items],
        "total": page.total,
        "limit": query.limit,
        "offset": query.offset,
    }
    return answer(listed)


def _event(event: SecurityEvent) -> SecurityEventShape:
    return {
        "id": event.event_id,
        "created_at": event.created_at.isoformat(),
        "detector": event.detector,
        "action": event.action,
        "severity": event.severity,
        "source": event.source,
        "message": event.message,
        "findings": [
            {"label": found.label, "field": found.field, "count": found.count, "positions": list(found.positions)}
            for found in event.found
        ],
        "item_index": event.item_index,
        "document_id": event.document_id,
        "memory_id": event.memory_id,
        "operation_id": event.operation_id,
        "receipt_uri": event.receipt_uri,
    }


HANDLERS = {"list_security_events": Handler(list_security_events, SecurityEventsAnswer)}
