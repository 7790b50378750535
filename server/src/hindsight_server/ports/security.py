"""What keeps the decisions of memory defence. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.defence.events import SecurityEvent

MOST_EVENTS = 10_000
"""Events kept of a bank; the oldest go first, so that a flood of refused items fills no disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events a listing holds; None is any. `start` and `end` are included."""

    detector: str | None = None
    action: str | None = None
    severity: str | None = None
    document_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of events; `total` counts all that match."""

    items: tuple[SecurityEvent, ...]
    total: int


class SecurityStore(Protocol):
    async def add_security_events(self, bank_id: str, events: Sequence[SecurityEvent], now: datetime) -> None:
        """Keep events of what stored nothing, creating the bank when needed.

        Those of what is stored come with it, in the same transaction (`RetainWrite.security_events`).
        """
        ...

    async def list_security_events(self, bank_id: str, wanted: EventFilter, limit: int, offset: int) -> EventPage:
        """The newest first; of one request, in the order in which they were given, reversed. Raises BankNotFound."""
        ...

    async def document_tags(self, bank_id: str, document_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tags of those documents that exist; nothing for a bank that does not."""
        ...
