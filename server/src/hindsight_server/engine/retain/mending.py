"""Reading documents again that the language model could not be used for, and telling how far that is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hindsight_server.engine.jobs import WAITED
from hindsight_server.engine.retain.outcome import added, without_failure
from hindsight_server.engine.together import together
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

_AT_ONCE = 32  # documents; the model bounds how many of their chunks it reads
_TOLD_SECONDS = 0.5  # between two writes of how far it is: each of them holds all that is told


class Mending:
    """One job's documents, read again side by side. What is told counts those alone as failed that still are.

    Args:
        read_again: reads what could not be read of a document and stores it; what came of it.
    """

    def __init__(
        self, store: Store, clock: Clock, operation: Operation, read_again: Callable[[str], Awaitable[dict[str, Any]]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._operation = operation
        self._read_again = read_again
        before = dict(operation.result or {})
        self._kept = {WAITED: before[WAITED]} if WAITED in before else {}
        self._result = {name: value for name, value in before.items() if name != "progress"}
        self._error: str | None = None
        self._done = 0
        self._told_at = float("-inf")
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def run(self, document_ids: Sequence[str]) -> dict[str, Any]:
        """What came of all of them, added to what the job had told before."""
        await self._tell(len(document_ids))
        await together(self._mend(document_id, len(document_ids)) for document_id in document_ids)
        return self._result

    async def _mend(self, document_id: str, total: int) -> None:
        async with self._free:
            more = await self._read_again(document_id)
            self._result = self._after(document_id, more)
            self._done += 1
            await self._tell(total)

    def _after(self, document_id: str, more: Mapping[str, Any]) -> dict[str, Any]:
        self._error = self._error or more.get("extraction_error")
        result = added(without_failure(self._result, document_id), more)
        if self._error and "extraction_error" in result:
            result["extraction_error"] = self._error
        return result

    async def _tell(self, total: int) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._told_at < _TOLD_SECONDS:
            return
        self._told_at = now
        progress = {
            "stage": "reading_again",
            "at": self._clock.now().isoformat(),
            "processed": self._done,
            "total": total,
        }
        result = {**self._kept, **self._result, "progress": progress}
        await self._store.note_result(self._operation, result, self._clock.now())
