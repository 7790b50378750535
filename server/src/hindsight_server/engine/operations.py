"""Operations: work that was asked for and what became of it."""

from __future__ import annotations

from collections.abc import Callable

from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Operation, Page
from hindsight_server.ports.store import Store

STATUSES = ("pending", "processing", "completed", "failed", "cancelled")
NOT_FOUND = "not_found"
_FINISHED = ("completed", "failed", "cancelled")


class Operations:
    """Use cases on operations; all raise BankNotFound for an unknown bank.

    Args:
        on_job: called after an operation became pending again, so that a worker looks at once.
        on_cancel: called after an operation was cancelled, so that a worker that is at it stops at once.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        on_job: Callable[[], None] = lambda: None,
        on_cancel: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_job = on_job
        self._on_cancel = on_cancel

    async def list(
        self, bank_id: str, *, status: str | None = None, type_: str | None = None, limit: int = 20, offset: int = 0
    ) -> Page[Operation]:
        """Newest first. Raises InvalidInput for an unknown status."""
        if status is not None and status not in STATUSES:
            raise InvalidInput(f"status must be one of: {', '.join(STATUSES)}.", field="status")
        return await self._store.list_operations(bank_id, status, type_, limit, offset)

    async def status(self, bank_id: str, operation_id: str) -> Operation:
        """The operation; one of status ``not_found`` (and no type) when the bank has none of that id."""
        await self._store.get_bank(bank_id)
        known = await self._store.get_operation(bank_id, operation_id)
        return known or Operation(bank_id=bank_id, operation_id=operation_id, type="", status=NOT_FOUND)

    async def cancel(self, bank_id: str, operation_id: str) -> None:
        """Stop an operation that is waiting or being done. Raises NotFound, Conflict when it is finished."""
        if not await self._store.cancel_operation(bank_id, operation_id, self._clock.now()):
            known = await self._existing(bank_id, operation_id)
            raise Conflict(f"Operation '{operation_id}' is {known.status}; only unfinished ones can be cancelled.")
        self._on_cancel()

    async def retry(self, bank_id: str, operation_id: str) -> None:
        """Have an operation that failed, was cancelled or waits for its next try done now.

        Raises NotFound, Conflict in any other state.
        """
        if not await self._store.requeue_operation(bank_id, operation_id, self._clock.now()):
            status = (await self._existing(bank_id, operation_id)).status
            gone = status in ("failed", "cancelled")
            remedy = (
                "what it was to do was deleted"
                if gone
                else "only failed or cancelled ones, and those that wait for their next try, are retried"
            )
            raise Conflict(f"Operation '{operation_id}' is {status}; {remedy}.")
        self._on_job()

    async def delete(self, bank_id: str, operation_id: str) -> None:
        """Forget a finished operation. Raises NotFound, Conflict when it is not finished."""
        known = await self._existing(bank_id, operation_id)
        if known.status not in _FINISHED or not await self._store.delete_operation(bank_id, operation_id):
            raise Conflict(f"Operation '{operation_id}' is {known.status}; cancel it before deleting it.")

    async def _existing(self, bank_id: str, operation_id: str) -> Operation:
        known = await self.status(bank_id, operation_id)
        if known.status == NOT_FOUND:
            raise NotFound(f"Operation '{operation_id}' not found.")
        return known
