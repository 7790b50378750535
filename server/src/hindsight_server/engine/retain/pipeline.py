"""A job of many documents: read by the model side by side, each batch stored as soon as it is ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from hindsight_server.domain.errors import StaleDocument
from hindsight_server.engine.extract import Outage
from hindsight_server.engine.jobs import WAITED
from hindsight_server.engine.language import CallAbout
from hindsight_server.engine.retain.extracting import Extracting, Prepared, Read
from hindsight_server.engine.retain.outcome import added, kept_of, result_of
from hindsight_server.engine.retain.prepare import Extracted, Part
from hindsight_server.engine.together import first_of
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Operation, RetainWrite
from hindsight_server.ports.store import Store

_IN_FLIGHT = 256  # documents that are being read or wait to be stored
_STORED_AT_ONCE = 32  # documents; encoding so many takes less time than reading them
_BATCHES_AT_ONCE = 2  # one is encoded while the other is written; both are encoded when reading is the quicker part
_GATHERING_SECONDS = 0.5  # that the first document of a batch waits for more: small batches cost as much as large ones
_EXTRACTED_AT_ONCE = 16  # documents that are split into chunks in one go


class Pipeline:
    """Reads and stores the documents of one job.

    What is stored is finished: after a crash only the rest is read. The operation tells how far it is.
    """

    def __init__(self, store: Store, extracting: Extracting, clock: Clock) -> None:
        self._store = store
        self._extracting = extracting
        self._clock = clock
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._ready: asyncio.Queue[Read | None] = asyncio.Queue()
        self._batches = asyncio.Semaphore(_BATCHES_AT_ONCE)
        self._writing = asyncio.Lock()
        self._stale = False

    async def run(self, operation: Operation, parts: Sequence[Part], outage: Outage) -> dict[str, Any]:
        """Do the job; its result, which is stored with it unless chunks could not be read.

        Raises:
            StaleDocument: a document changed meanwhile; the others are stored.
            NotFound, Conflict: the job was deleted or cancelled.
        """
        documents: defaultdict[str, list[Part]] = defaultdict(list)
        for part in parts:
            documents[part.checked.item.document_id].append(part)
        so_far: Mapping[str, Any] = (operation.result or {}).get("read", {})
        progress = _Progress(operation, so_far, self._clock)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_all(operation, list(documents.values()), outage))
                storing = tasks.create_task(self._store_all(progress))
        except ExceptionGroup as group:
            raise first_of(group) from None
        if self._stale:
            raise StaleDocument("Documents changed while they were being extracted.")
        result = storing.result()
        if not result.get("failed_documents"):
            await self._write(operation, [], lambda _: result, goes_on=False)
        return result

    async def _read_all(self, operation: Operation, documents: Sequence[Sequence[Part]], outage: Outage) -> None:
        about = CallAbout(bank_id=operation.bank_id, purpose="retain", operation_id=operation.operation_id)
        async with asyncio.TaskGroup() as tasks:
            for start in range(0, len(documents), _EXTRACTED_AT_ONCE):
                some = documents[start : start + _EXTRACTED_AT_ONCE]
                for _ in some:
                    await self._room.acquire()
                following = iter(await self._extracting.extracted([part for parts in some for part in parts]))
                for parts in some:
                    tasks.create_task(self._read([next(following) for _ in parts], about, outage))
        await self._ready.put(None)

    async def _read(self, extracted: Sequence[Extracted], about: CallAbout, outage: Outage) -> None:
        await self._ready.put(await self._extracting.distilled(extracted, about, outage))

    async def _store_all(self, progress: _Progress) -> dict[str, Any]:
        async with asyncio.TaskGroup() as tasks:
            more = True
            while more:
                await self._batches.acquire()
                batch, more = await self._next_batch()
                tasks.create_task(self._keep(batch, progress))
        return dict(progress.result)

    async def _keep(self, batch: Sequence[Read], progress: _Progress) -> None:
        if batch:
            prepared = await self._extracting.indexed(batch)
            async with self._writing:
                await self._store_batch(batch, prepared, progress)
            for _ in batch:
                self._room.release()
        self._batches.release()

    async def _next_batch(self) -> tuple[list[Read], bool]:
        """What is ready to be stored, with what follows at once; and whether there may be more after it."""
        batch: list[Read] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                while len(batch) < _STORED_AT_ONCE:
                    read = await self._ready.get()
                    if read is None:
                        return batch, False
                    if not batch:
                        limit.reschedule(asyncio.get_running_loop().time() + _GATHERING_SECONDS)
                    batch.append(read)
        return batch, True

    async def _store_batch(self, batch: Sequence[Read], prepared: Prepared, progress: _Progress) -> None:
        made: dict[str, Any] = {}

        def result(passed_over: Set[str]) -> Mapping[str, Any]:
            nonlocal made
            made = progress.after(result_of(kept_of(prepared, passed_over)))
            return progress.told(made)

        try:
            await self._write(progress.operation, prepared.documents, result, goes_on=True)
        except StaleDocument:
            if len(batch) == 1:
                self._stale = True
                return
            for one in batch:
                await self._store_batch([one], await self._extracting.indexed([one]), progress)
        else:
            progress.result = made

    async def _write(
        self,
        operation: Operation,
        documents: Sequence[Any],
        result: Callable[[Set[str]], Mapping[str, Any]],
        *,
        goes_on: bool,
    ) -> None:
        await self._store.retain(
            RetainWrite(
                bank_id=operation.bank_id,
                documents=tuple(documents),
                now=self._clock.now(),
                operation=operation,
                finishes=operation.operation_id,
                result=result,
                goes_on=goes_on,
            )
        )


class _Progress:
    """How far a job is."""

    def __init__(self, operation: Operation, so_far: Mapping[str, Any], clock: Clock) -> None:
        self.result: Mapping[str, Any] = dict(so_far)
        self.operation = operation
        known = operation.result or {}
        # Of a job that has waited for a batch: it is the same one after a crash.
        self._kept = {name: known[name] for name in ("batch", WAITED) if name in known}
        self._clock = clock

    def after(self, more: Mapping[str, Any]) -> dict[str, Any]:
        return added(self.result, more)

    def told(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """What the operation tells: how far it is, and what was done so far."""
        at = {
            "stage": "extracting",
            "at": self._clock.now().isoformat(),
            "processed": len(result["document_ids"]),
            "total": self.operation.items_count,
        }
        return {**self._kept, "progress": at, "read": dict(result)}
