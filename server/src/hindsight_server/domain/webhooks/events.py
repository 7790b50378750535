"""What is told: ids and counts, and no word of what is remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.webhooks.types import CONSOLIDATION_COMPLETED, DEFENSE_TRIGGERED, RETAIN_COMPLETED

COMPLETED, FAILED, TRIGGERED = "completed", "failed", "triggered"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """Something that happened in a bank.

    Args:
        event_id: the same for every receiver and every attempt.
        status: ``completed`` or ``failed``; of memory defence ``triggered``.
        operation_id: of the job or request, where there is one.
        data: what belongs to the type; None values are left out.
    """

    event_type: str
    bank_id: str
    at: datetime
    status: str = COMPLETED
    operation_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    event_id: str = field(default_factory=new_id)

    def payload(self) -> dict[str, Any]:
        """As it is sent, without fields that are null."""
        told = {
            "event": self.event_type,
            "event_id": self.event_id,
            "bank_id": self.bank_id,
            "operation_id": self.operation_id,
            "status": self.status,
            "timestamp": self.at.isoformat(),
            "data": without_nulls(self.data),
        }
        return without_nulls(told)


def without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def retained(
    bank_id: str, document_id: str, at: datetime, *, memories: int | None, operation_id: str | None, status: str
) -> WebhookEvent:
    """A document was retained; `memories` is how many it holds now."""
    return WebhookEvent(
        event_type=RETAIN_COMPLETED,
        bank_id=bank_id,
        at=at,
        status=status,
        operation_id=operation_id,
        data={"document_id": document_id, "memory_unit_count": memories},
    )


def consolidated(
    bank_id: str, operation_id: str, at: datetime, result: Mapping[str, Any], *, status: str
) -> WebhookEvent:
    """A job of consolidation ended; `result` is what it tells of itself."""
    return WebhookEvent(
        event_type=CONSOLIDATION_COMPLETED,
        bank_id=bank_id,
        at=at,
        status=status,
        operation_id=operation_id,
        data={
            "observations_created": result.get("observations_created"),
            "observations_updated": result.get("observations_updated"),
            "observations_deleted": result.get("observations_removed"),
            "memories_processed": result.get("facts_looked_at"),
            "memories_failed": result.get("facts_failed"),
        },
    )


def defended(bank_id: str, event: SecurityEvent) -> WebhookEvent:
    """Memory defence decided something. The event has the id under which the decision is kept."""
    found: Counter[str] = Counter()
    for one in event.found:
        found[one.label] += one.count
    return WebhookEvent(
        event_type=DEFENSE_TRIGGERED,
        bank_id=bank_id,
        at=event.created_at,
        status=TRIGGERED,
        operation_id=event.operation_id,
        event_id=event.event_id,
        data={
            "detector": event.detector,
            "action": event.action,
            "severity": event.severity,
            "source": event.source,
            "item_index": event.item_index,
            "document_id": event.document_id,
            "memory_id": event.memory_id,
            "findings": [{"label": label, "count": count} for label, count in sorted(found.items())] or None,
        },
    )
