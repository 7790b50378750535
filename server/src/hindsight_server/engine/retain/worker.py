"""The jobs of retain: extracting what was stored as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from hindsight_server.domain.errors import NotFound, StaleDocument
from hindsight_server.engine.extract import Outage
from hindsight_server.engine.jobs import JobIncomplete
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.batching import Batching
from hindsight_server.engine.retain.extracting import Extracting, Prepared
from hindsight_server.engine.retain.mending import Mending
from hindsight_server.engine.retain.outcome import kept_of, result_of, told
from hindsight_server.engine.retain.payload import document_to_reprocess, documents_to_repair, from_payload
from hindsight_server.engine.retain.pipeline import Pipeline
from hindsight_server.engine.retain.planning import stored_parts, with_stored_hashes
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.engine.retain.said_before import with_said_before
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.llm import ChatReply
from hindsight_server.ports.records import Operation, RetainWrite
from hindsight_server.ports.store import Store

TRIES = 5  # against writers of the same document; the last one keeps no chunk, so that it can't be stale


class RetainWorker:
    """Does the jobs of retain. Doing one twice equals doing it once.

    Attributes:
        batching: leaves the questions of a job with the provider as one batch; None puts them singly.
    """

    def __init__(self, store: Store, extracting: Extracting, clock: Clock) -> None:
        self._store = store
        self._extracting = extracting
        self._clock = clock
        self.batching: Batching | None = None

    async def run(self, operation: Operation) -> Mapping[str, Any]:
        """Do a job; its result.

        Raises:
            JobIncomplete: there are chunks that the language model could not be used for. Their documents are stored
                as they were written, and the next try reads those chunks again.
            JobWaits: its questions were left with the provider, and are not answered yet.
        """
        payload = operation.payload or {}
        before = dict(operation.result or {})
        outage = Outage()
        failed = list(dict.fromkeys([*before.get("failed_documents", ()), *documents_to_repair(payload)]))
        document_id = document_to_reprocess(payload)
        if failed:
            read_again = partial(self._repaired, operation, outage)
            result = await Mending(self._store, self._clock, operation, read_again).run(failed)
        elif document_id is not None:
            result = await self._extract_again(operation, document_id, outage, keep=False)
        else:
            result = await self._extract_waiting(operation, outage)
        if result.get("failed_documents"):
            raise _incomplete(result, outage)
        return result

    async def _extract_waiting(self, operation: Operation, outage: Outage) -> dict[str, Any]:
        answers = await self.batching.collected(operation) if self.batching is not None else None
        for attempt in range(1, TRIES + 1):
            parts = await self._waiting_parts(operation)
            if attempt > 1:
                # Chunks that were to be kept have lost their facts meanwhile, or words were forgotten.
                parts = [replace(part, stored_hashes=()) for part in parts]
            parts = await self._extracting.filled(operation.bank_id, parts, operation.operation_id)
            parts = await with_said_before(self._store, operation.bank_id, parts, operation.operation_id)
            try:
                if any(self._extracting.is_read(part) for part in parts) or "read" in (operation.result or {}):
                    result = await self._read(operation, parts, answers, outage)
                else:
                    result = await self._finish(operation, parts)
            except StaleDocument:
                if attempt == TRIES:
                    raise
                held = await self._store.get_operation(operation.bank_id, operation.operation_id)
                operation = replace(operation, result=held.result if held else None)
            else:
                if self.batching is not None:
                    await self.batching.discard(operation)
                return result
        raise AssertionError("unreachable")

    async def _read(
        self, operation: Operation, parts: Sequence[Part], answers: Mapping[str, ChatReply] | None, outage: Outage
    ) -> dict[str, Any]:
        """Have the model read the parts, by the answers of a batch as far as there are any."""
        if self.batching is not None and answers is None:
            questions = await self._extracting.questions(parts)
            if questions:
                await self.batching.submit(operation, questions)
        extracting = self._extracting.answered(answers) if answers else self._extracting
        return await Pipeline(self._store, extracting, self._clock).run(operation, parts, outage)

    async def _waiting_parts(self, operation: Operation) -> list[Part]:
        payload = operation.payload or {}
        waiting = await self._store.waiting_parts(operation.bank_id, operation.operation_id)
        possible = self._extracting.possible
        return await offloaded(len(waiting), lambda: [possible(part) for part in from_payload(payload, waiting)])

    async def _finish(self, operation: Operation, parts: Sequence[Part]) -> dict[str, Any]:
        """All of it in one transaction, which is quick without a model."""
        prepared = await self._extracting.prepared(operation.bank_id, parts, operation_id=operation.operation_id)
        made: dict[str, Any] = {}

        def result(passed_over: Set[str]) -> dict[str, Any]:
            nonlocal made
            made = result_of(kept_of(prepared, passed_over))
            return made

        await self._store.retain(
            RetainWrite(
                bank_id=operation.bank_id,
                documents=prepared.documents,
                now=self._clock.now(),
                operation=operation,
                finishes=operation.operation_id,
                result=result,
            )
        )
        return made

    async def _repaired(self, operation: Operation, outage: Outage, document_id: str) -> dict[str, Any]:
        """Read again what could not be read of a document; nothing when it is gone."""
        try:
            result = await self._extract_again(operation, document_id, outage, keep=True)
        except NotFound:
            return {}
        return {**result, "document_ids": []}

    async def _extract_again(
        self, operation: Operation, document_id: str, outage: Outage, *, keep: bool
    ) -> dict[str, Any]:
        """Extract a stored document again, with the bank's settings of now.

        Args:
            keep: leave chunks alone whose facts are as they should be.
        """
        bank_id = operation.bank_id
        for attempt in range(1, TRIES + 1):
            parts = await stored_parts(self._store, bank_id, document_id, self._extracting.reader)
            parts = await self._extracting.filled(bank_id, parts, operation.operation_id)
            if keep and attempt < TRIES:
                parts = await with_stored_hashes(self._store, bank_id, parts)
            parts = await with_said_before(self._store, bank_id, parts)
            prepared: Prepared = await self._extracting.prepared(
                bank_id, parts, operation_id=operation.operation_id, outage=outage
            )
            try:
                now, job = self._clock.now(), operation.operation_id
                await self._store.retain(RetainWrite(bank_id=bank_id, documents=prepared.documents, now=now, job=job))
            except StaleDocument:
                if attempt == TRIES:
                    raise
                await asyncio.sleep(0)
            else:
                return result_of(prepared)
        raise AssertionError("unreachable")


def _incomplete(result: Mapping[str, Any], outage: Outage) -> JobIncomplete:
    error = told(result["failed_documents"], result["failed_chunks"], result["extraction_error"])
    return JobIncomplete(error, result=result, waits=outage.failures > 0)
