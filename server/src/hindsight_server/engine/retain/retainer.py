"""The retain use case."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.errors import BankNotFound, InvalidInput, StaleDocument
from hindsight_server.domain.identity import made_document_id
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import FactState, UpdateMode
from hindsight_server.engine import config as settings
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.items import CheckedItem, check_bank_id, check_items, fingerprint
from hindsight_server.engine.retain.payload import (
    document_to_reprocess,
    from_payload,
    reprocess_payload,
    to_payload,
)
from hindsight_server.engine.retain.prepare import (
    Part,
    Prepared,
    prepare,
    settle_modes,
    stored_chunks,
    texts_to_encode,
    with_encodings,
)
from hindsight_server.engine.retain.source import from_source
from hindsight_server.engine.retain.types import ItemInput, RetainLimits, RetainOutcome
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.extractor import ExtractionOptions, Extractor
from hindsight_server.ports.records import Bank, DocumentWrite, Operation, RetainWrite
from hindsight_server.ports.store import Store

RETAIN = "retain"  # the type of operations and jobs

_CHARS = 20_000  # of content that are as much work to check as an item
_EXTRACT_AT_ONCE = 200  # items; between two such slices a cancelled request stops
_TRIES = 5  # against writers of the same document; the last one keeps no chunk, so that it can't be stale


class Retainer:
    """Stores items: checks, extracts, indexes and encodes them, and writes everything in one transaction.

    Args:
        on_job: called after a job was added, so that a worker looks at once.
        defender: what items go through before anything else is done with them; None lets all in as they are.

    Example:
        >>> outcome = await retainer.retain("ann", [ItemInput(content="Ann moved to Oslo in 2015.")])
        >>> outcome.fact_count
        1
    """

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        indexer: Indexer,
        clock: Clock,
        *,
        on_job: Callable[[], None] = lambda: None,
        defender: Defender | NoDefence | None = None,
    ) -> None:
        self._defender = defender or NoDefence()
        self._store = store
        self._extractor = extractor
        self._indexer = indexer
        self._clock = clock
        self._on_job = on_job

    async def retain(
        self,
        bank_id: str,
        items: Sequence[ItemInput],
        *,
        run_async: bool = False,
        operation_id: str | None = None,
        document_tags: Sequence[str] = (),
    ) -> RetainOutcome:
        """Store items into a bank, which is created when it is not there. All of them are stored, or none.

        Those that the bank's memory defence keeps out count as not given.

        Args:
            run_async: store the words at once and leave extraction and vectors to a job.
            operation_id: a UUID that names this request. The same request again returns the first one's outcome and
                writes nothing.
            document_tags: tags added to every item.

        Raises:
            InvalidInput: an item can't be stored; the error names it and its field.
            Blocked: memory defence keeps all of them out.
            Conflict: the operation id names a different request, or the bank was deleted meanwhile.
        """
        check_bank_id(bank_id)
        operation_id = _operation_id(operation_id)

        def new_document_id(index: int) -> str:
            return made_document_id(bank_id=bank_id, operation_id=operation_id, item_index=index)

        def check() -> list[CheckedItem]:
            return check_items(items, document_tags, new_document_id, self._clock.now(), RetainLimits())

        checked = await offloaded(_size(items), check)
        bank = await _bank(self._store, bank_id)
        screened = await self._defender.screen(bank, checked)
        # Taken of what defence leaves, so that not even the hash of a secret is kept.
        asked = await offloaded(_size(items), lambda: fingerprint(screened.items)) if operation_id else ""
        if operation_id and (known := await _known(self._store, bank_id, operation_id)) and known.fingerprint == asked:
            return _replayed(bank_id, known, run_async)
        if run_async:
            operation_id = operation_id or new_id()
        allowed = await self._defender.settle(bank_id, screened, operation_id)
        planned = await offloaded(len(checked), lambda: _plan(bank, allowed.items))
        request = _Request(bank_id, bank.created_at if bank else None, asked, operation_id, run_async, allowed.events)
        return await self._persist(request, planned)

    async def reprocess(self, bank_id: str, document_id: str) -> Operation:
        """Add a job that extracts a stored document again, with the bank's settings of then.

        Raises:
            NotFound: the bank or the document does not exist.
        """
        document = await self._store.get_document(bank_id, document_id)
        now = self._clock.now()
        operation = Operation(
            bank_id=bank_id,
            operation_id=new_id(),
            type=RETAIN,
            status="pending",
            fingerprint=document.content_hash,
            payload=reprocess_payload(document_id),
            items_count=1,
            created_at=now,
            updated_at=now,
        )
        added = await self._store.add_operation(operation)
        self._on_job()
        return added

    async def run_job(self, operation: Operation) -> Mapping[str, Any]:
        """Do the work of a retain job, in one transaction. Doing it twice equals doing it once."""
        payload = operation.payload or {}
        document_id = document_to_reprocess(payload)
        if document_id is not None:
            return await self._extract_again(operation.bank_id, document_id)
        for attempt in range(1, _TRIES + 1):
            parts = await self._waiting_parts(operation, payload)
            if attempt > 1:
                # Chunks that were to be kept have lost their facts meanwhile, or words were forgotten.
                parts = [replace(part, stored_hashes=()) for part in parts]
            try:
                return await self._finish(operation, parts)
            except StaleDocument:
                if attempt == _TRIES:
                    raise
        raise AssertionError("unreachable")

    async def _waiting_parts(self, operation: Operation, payload: Mapping[str, Any]) -> list[Part]:
        waiting = await self._store.waiting_parts(operation.bank_id, operation.operation_id)
        return await offloaded(len(waiting), lambda: from_payload(payload, waiting))

    async def _finish(self, operation: Operation, parts: Sequence[Part]) -> Mapping[str, Any]:
        prepared = await self._prepared(parts)
        documents, unencoded = await self._encoded(prepared.documents)
        result = _result(documents, prepared, unencoded)
        write = RetainWrite(
            bank_id=operation.bank_id,
            documents=tuple(documents),
            now=self._clock.now(),
            operation=replace(operation, result=result),
            finishes=operation.operation_id,
        )
        await self._store.retain(write)
        return result

    async def _extract_again(self, bank_id: str, document_id: str) -> Mapping[str, Any]:
        for attempt in range(1, _TRIES + 1):
            parts = await self._stored_parts(bank_id, document_id)
            prepared = await self._prepared(parts)
            documents, unencoded = await self._encoded(prepared.documents)
            try:
                await self._store.retain(
                    RetainWrite(bank_id=bank_id, documents=tuple(documents), now=self._clock.now())
                )
            except StaleDocument:
                if attempt == _TRIES:
                    raise
            else:
                return _result(documents, prepared, unencoded)
        raise AssertionError("unreachable")

    async def _stored_parts(self, bank_id: str, document_id: str) -> list[Part]:
        """A document's parts as they were retained, to replace it with; tags given to it later win over theirs."""
        document = await self._store.get_document(bank_id, document_id)
        stored = await self._store.document_parts(bank_id, document_id)
        items = [from_source(part.text, document_id, part.source) for part in stored]
        if {tag for one in items for tag in one.item.tags} != set(document.tags):
            items = [replace(one, item=replace(one.item, tags=document.tags)) for one in items]
        parts = _plan(await _bank(self._store, bank_id), items)
        return [replace(parts[0], expected_hash=document.content_hash), *parts[1:]]

    async def _persist(self, request: _Request, planned: Sequence[Part]) -> RetainOutcome:
        """Write the parts, again when another writer changed their documents meanwhile."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(StaleDocument):
                return await self._write(request, await self._with_stored_hashes(request.bank_id, planned))
        return await self._write(request, planned)

    async def _write(self, request: _Request, parts: Sequence[Part]) -> RetainOutcome:
        bank_id, operation_id, run_async = request.bank_id, request.operation_id, request.run_async
        state = FactState.PENDING if run_async else FactState.VALID
        prepared = await self._prepared(parts, state)
        documents, unencoded = (list(prepared.documents), 0) if run_async else await self._encoded(prepared.documents)
        now = self._clock.now()
        result = _result(documents, prepared, unencoded)
        payload = await offloaded(len(parts), lambda: to_payload(parts)) if run_async else None
        operation = None
        if operation_id:
            operation = Operation(
                bank_id=bank_id,
                operation_id=operation_id,
                type=RETAIN,
                status="pending" if run_async else "completed",
                fingerprint=request.fingerprint,
                payload=payload,
                result=result,
                items_count=len(parts),
                created_at=now,
                updated_at=now,
                completed_at=None if run_async else now,
            )
        stored = await self._store.retain(
            RetainWrite(
                bank_id=bank_id,
                documents=tuple(documents),
                now=now,
                operation=operation,
                bank_created_at=request.bank_created_at,
                security_events=request.events,
            )
        )
        if stored.replayed and stored.operation:
            return _replayed(bank_id, stored.operation, run_async)
        self._defender.told(request.events)
        if run_async:
            self._on_job()
        return _outcome(bank_id, len(parts), run_async, operation_id, result)

    async def _with_stored_hashes(self, bank_id: str, parts: Sequence[Part]) -> list[Part]:
        with_hashes: list[Part] = []
        stored: dict[str, tuple[str, ...]] = {}
        for part in parts:
            item = part.checked.item
            if part.mode is UpdateMode.REPLACE and item.document_given:
                state = await self._store.document_state(bank_id, item.document_id)
                if state is not None:
                    stored[item.document_id] = state.chunk_hashes
            if part.checked.item.document_id in stored:
                part = replace(part, stored_hashes=stored[part.checked.item.document_id])
            with_hashes.append(part)
        return with_hashes

    async def _prepared(self, parts: Sequence[Part], state: FactState = FactState.VALID) -> Prepared:
        """The parts extracted and indexed in worker threads, a slice at a time."""
        stored = stored_chunks(parts)
        slices = [
            await asyncio.to_thread(
                prepare, parts[start : start + _EXTRACT_AT_ONCE], self._extractor, self._indexer, stored, state
            )
            for start in range(0, len(parts), _EXTRACT_AT_ONCE)
        ]
        return Prepared(
            tuple(document for one in slices for document in one.documents),
            sum(one.input_tokens for one in slices),
            sum(one.output_tokens for one in slices),
        )

    async def _encoded(self, documents: Sequence[DocumentWrite]) -> tuple[list[DocumentWrite], int]:
        """The documents with vectors, and the number of facts that got none because the model is away."""
        count = sum(len(document.facts) for document in documents)
        texts = await offloaded(count, lambda: texts_to_encode(documents))
        encodings = await self._indexer.encode(texts)
        encoded = await offloaded(count, lambda: with_encodings(documents, encodings))
        return encoded, sum(encoding is None for encoding in encodings)


@dataclass(frozen=True, slots=True)
class _Request:
    """What the tries to write one request share."""

    bank_id: str
    bank_created_at: datetime | None
    fingerprint: str
    operation_id: str | None
    run_async: bool
    events: tuple[SecurityEvent, ...]


async def _known(store: Store, bank_id: str, operation_id: str) -> Operation | None:
    try:
        return await store.get_operation(bank_id, operation_id)
    except BankNotFound:
        return None


async def _bank(store: Store, bank_id: str) -> Bank | None:
    try:
        return await store.get_bank(bank_id)
    except BankNotFound:
        return None


def _size(items: Sequence[ItemInput]) -> int:
    """How many items of usual length these are as much work as."""
    return sum(1 + len(item.content) // _CHARS for item in items)


def _plan(bank: Bank | None, items: Sequence[CheckedItem]) -> list[Part]:
    config = settings.resolve(bank.config if bank else {})
    by_strategy: dict[str | None, ExtractionOptions] = {}
    for index, one in enumerate(items):
        strategy = one.item.strategy
        if strategy not in by_strategy:
            by_strategy[strategy] = settings.extraction_options(config, strategy, f"items[{index}].strategy")
    options = [by_strategy[one.item.strategy] for one in items]
    return [Part(*planned) for planned in zip(items, options, settle_modes(items), strict=True)]


def _operation_id(given: str | None) -> str | None:
    if given is None or not given.strip():
        return None
    try:
        return str(uuid.UUID(given.strip()))
    except ValueError:
        raise InvalidInput("operation_id must be a UUID.", field="operation_id") from None


def _result(documents: Sequence[DocumentWrite], prepared: Prepared, unencoded: int) -> dict[str, Any]:
    with_facts = {document.document_id for document in documents if document.facts or document.kept_hashes}
    return {
        "document_ids": [document.document_id for document in documents],
        "fact_count": sum(len(document.facts) for document in documents),
        "unencoded_count": unencoded,
        "no_fact_documents": len({document.document_id for document in documents} - with_facts),
        "input_tokens": prepared.input_tokens,
        "output_tokens": prepared.output_tokens,
    }


def _outcome(
    bank_id: str, items_count: int, run_async: bool, operation_id: str | None, result: Mapping[str, Any]
) -> RetainOutcome:
    return RetainOutcome(
        bank_id=bank_id,
        items_count=items_count,
        run_async=run_async,
        operation_id=operation_id,
        document_ids=tuple(result.get("document_ids", ())),
        fact_count=result.get("fact_count", 0),
        unencoded_count=result.get("unencoded_count", 0),
        no_fact_documents=result.get("no_fact_documents", 0),
        input_tokens=result.get("input_tokens", 0),
        output_tokens=result.get("output_tokens", 0),
    )


def _replayed(bank_id: str, operation: Operation, run_async: bool) -> RetainOutcome:
    outcome = _outcome(bank_id, operation.items_count, run_async, operation.operation_id, operation.result or {})
    return replace(outcome, replayed=True)
