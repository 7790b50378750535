"""The retain use case."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.errors import BankNotFound, InvalidInput, StaleDocument
from hindsight_server.domain.identity import made_document_id
from hindsight_server.domain.ids import new_id
from hindsight_server.engine.attachments.attaching import Attaching, check_attachments
from hindsight_server.engine.attachments.blocks import content_length
from hindsight_server.engine.attachments.extracting import AttachmentExtractor
from hindsight_server.engine.changes import OnChange, nobody
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.batching import Batching
from hindsight_server.engine.retain.extracting import Extracting
from hindsight_server.engine.retain.items import CheckedItem, check_bank_id, check_items, fingerprint
from hindsight_server.engine.retain.outcome import outcome_of, replayed, result_of
from hindsight_server.engine.retain.payload import repair_payload, reprocess_payload, to_payload
from hindsight_server.engine.retain.planning import bank_of, plan, with_stored_hashes
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.engine.retain.said_before import with_said_before
from hindsight_server.engine.retain.types import ItemInput, RetainLimits, RetainOutcome
from hindsight_server.engine.retain.worker import TRIES, RetainWorker
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.extractor import Extractor
from hindsight_server.ports.records import Operation, RetainWrite
from hindsight_server.ports.store import Store

if TYPE_CHECKING:
    from hindsight_server.engine.extract.distiller import Distiller

RETAIN = "retain"  # the type of operations and jobs

_CHARS = 20_000  # of content that are as much work to check as an item
_REPAIR_SECONDS = 10.0  # after which a model that failed is asked again


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
        self._clock = clock
        self._on_job = on_job
        self._on_change: OnChange = nobody
        self._extracting = Extracting(AttachmentExtractor(extractor), indexer)
        self._limits = RetainLimits()
        self._worker = RetainWorker(store, self._extracting, clock)

    def read_with(self, distiller: Distiller) -> None:
        """Have a language model read items for facts from now on."""
        self._extracting.distiller = distiller

    def batch_with(self, batching: Batching) -> None:
        """Leave the questions of jobs with the provider as batches from now on."""
        self._worker.batching = batching

    def tell(self, on_change: OnChange) -> None:
        """Have somebody told of each bank whose facts were changed."""
        self._on_change = on_change

    def attach_with(self, attaching: Attaching) -> None:
        """Take items with images and files from now on."""
        self._extracting.attaching = attaching
        self._limits = RetainLimits(attachments=attaching.limits)

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
            return check_items(items, document_tags, new_document_id, self._clock.now(), self._limits)

        checked = await offloaded(_size(items), check)
        self._check_attachments(checked, run_async)
        bank = await bank_of(self._store, bank_id)
        screened = await self._defender.screen(bank, checked)
        # Taken of what defence leaves, so that not even the hash of a secret is kept.
        asked = await offloaded(_size(items), lambda: fingerprint(screened.items)) if operation_id else ""
        if operation_id and (known := await _known(self._store, bank_id, operation_id)) and known.fingerprint == asked:
            return replayed(bank_id, known, run_async)
        if run_async:
            operation_id = operation_id or new_id()
        allowed = await self._defender.settle(bank_id, screened, operation_id)
        planned = await offloaded(len(checked), lambda: plan(bank, allowed.items, self._extracting.reader))
        request = _Request(bank_id, bank.created_at if bank else None, asked, operation_id, run_async, allowed.events)
        if any(one.item.attachments for one in allowed.items):
            return await self._persist_attached(request, planned)
        return await self._persist(request, planned)

    async def reprocess(self, bank_id: str, document_id: str) -> Operation:
        """Add a job that extracts a stored document again, with the bank's settings of then.

        Raises:
            NotFound: the bank or the document does not exist.
        """
        document = await self._store.get_document(bank_id, document_id)
        return await self._add_job(bank_id, reprocess_payload(document_id), 1, fingerprint=document.content_hash)

    async def run_job(self, operation: Operation) -> Mapping[str, Any]:
        """Do the work of a retain job. Doing it twice equals doing it once.

        Raises:
            JobIncomplete: the language model could not be used for all of it.
            JobWaits: its questions were left with the model's provider.
        """
        result = await self._worker.run(operation)
        await self._on_change(operation.bank_id)
        return result

    async def _add_job(
        self, bank_id: str, payload: Mapping[str, Any], items: int, *, fingerprint: str = "", wait: float = 0.0
    ) -> Operation:
        now = self._clock.now()
        operation = Operation(
            bank_id=bank_id,
            operation_id=new_id(),
            type=RETAIN,
            status="pending",
            fingerprint=fingerprint,
            payload=payload,
            items_count=items,
            next_attempt_at=now + timedelta(seconds=wait) if wait else None,
            created_at=now,
            updated_at=now,
        )
        added = await self._store.add_operation(operation)
        self._on_job()
        return added

    def _check_attachments(self, items: Sequence[CheckedItem], run_async: bool) -> None:
        """Raises InvalidInput for an attachment that can't be read."""
        check_attachments(items, self._extracting.attaching)
        if not run_async or self._worker.batching is None:
            return
        for index, one in enumerate(items):
            if one.uploads or one.item.attachments:
                raise InvalidInput(
                    "Images and files can't be retained with async=true while HINDSIGHT_API_RETAIN_BATCH_ENABLED is "
                    "set; retain the item with async=false.",
                    field=f"items[{index}].content",
                )

    async def _persist_attached(self, request: _Request, planned: Sequence[Part]) -> RetainOutcome:
        """The same for parts with attachments: their bytes come first, and those of a job are read by it."""
        attaching, bank_id = self._extracting.attaching, request.bank_id
        assert attaching is not None
        async with attaching.keeping(bank_id, [part.checked for part in planned]):
            if not request.run_async:
                planned = await self._extracting.filled(bank_id, planned, request.operation_id)
            return await self._persist(request, planned)

    async def _persist(self, request: _Request, planned: Sequence[Part]) -> RetainOutcome:
        """Write the parts, again when another writer changed their documents meanwhile."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(StaleDocument):
                return await self._write(request, await with_stored_hashes(self._store, request.bank_id, planned))
        return await self._write(request, planned)

    async def _write(self, request: _Request, parts: Sequence[Part]) -> RetainOutcome:
        bank_id, operation_id, run_async = request.bank_id, request.operation_id, request.run_async
        if run_async:
            prepared = await self._extracting.pending(parts)
        else:
            parts = await with_said_before(self._store, bank_id, parts)
            prepared = await self._extracting.prepared(bank_id, parts, operation_id=operation_id)
        now = self._clock.now()
        result = await offloaded(len(parts), lambda: result_of(prepared))
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
                documents=prepared.documents,
                now=now,
                operation=operation,
                bank_created_at=request.bank_created_at,
                security_events=request.events,
            )
        )
        if stored.replayed and stored.operation:
            return replayed(bank_id, stored.operation, run_async)
        self._defender.told(request.events)
        if run_async:
            self._on_job()
        else:
            await self._on_change(bank_id)
        outcome = outcome_of(bank_id, len(parts), run_async, operation_id, result)
        if prepared.unread and not run_async:
            failed = [one.document_id for one in prepared.unread]
            repair = await self._add_job(bank_id, repair_payload(failed), len(failed), wait=_REPAIR_SECONDS)
            outcome = replace(outcome, repair_operation_id=repair.operation_id)
        return outcome


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


def _size(items: Sequence[ItemInput]) -> int:
    """How many items of usual length these are as much work as."""
    return sum(1 + content_length(item.content) // _CHARS for item in items)


def _operation_id(given: str | None) -> str | None:
    if given is None or not given.strip():
        return None
    try:
        return str(uuid.UUID(given.strip()))
    except ValueError:
        raise InvalidInput("operation_id must be a UUID.", field="operation_id") from None
