"""Where a worker takes its jobs from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from hindsight_server.ports.records import Operation


class JobQueue(Protocol):
    """Jobs in the order in which they are due, each in the hands of one worker. Every `Store` is one."""

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation | None: ...

    async def claim_operation(self, types: Sequence[str], now: datetime, lease_seconds: float) -> Operation | None:
        """Take the oldest pending operation, or one whose lease has run out; it is `processing` from then on.

        A refresh of a mental model is left where it is while another one of that model is `processing`.
        """
        ...

    async def finish_operation(
        self,
        operation: Operation,
        status: str,
        now: datetime,
        *,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
        retry_at: datetime | None = None,
    ) -> None:
        """Set the outcome; `pending` hands it back for another try, not before `retry_at`.

        A cancelled operation stays cancelled.
        """
        ...

    async def renew_operation(self, operation: Operation, now: datetime, lease_seconds: float) -> bool:
        """Lengthen the lease of a claimed operation; False when it is not `processing` any more."""
        ...
