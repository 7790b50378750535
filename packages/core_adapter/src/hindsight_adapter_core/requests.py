"""Memory requests as they are made on the bridge: client, bank, deadline, retries, failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .bank import ensure_bank, forget_bank
from .calls import (
    RecallCall,
    ReflectCall,
    RetainCall,
    call_delete_document,
    call_get_document,
    call_recall,
    call_reflect,
    call_retain,
)
from .checks import check_id
from .clients import AdapterPackage, ClientHandle
from .errors import OperationError
from .failures import describe_failure, log_traceback, without_key
from .outcomes import RecalledMemory, RecallOutcome, ReflectOutcome, RetainOutcome
from .retry import standing_after, with_retries
from .settings import MemorySettings
from .shaping import RetainItem, recall_call, reflect_call, retain_call
from .tools import Operation
from .turns import ConversationLog, Turn, now_iso, operation_id_for, turn_content

__all__ = ["Requests"]

T = TypeVar("T")


class Requests:
    """What one memory asks of its server. The coroutines run on the bridge's loop only.

    Args:
        package, handle, settings: who asks, through which client, with which settings.
        session_id: first part of the document ids made here.
    """

    def __init__(
        self, package: AdapterPackage[Any], handle: ClientHandle, settings: MemorySettings, session_id: str
    ) -> None:
        self._package = package
        self._handle = handle
        self._settings = settings
        self._session_id = session_id
        self._logger = logging.getLogger(package.import_name)

    @property
    def logger_name(self) -> str:
        """The framework package's logger."""
        return self._package.import_name

    def retain_call(self, content: str, item: RetainItem) -> RetainCall:
        """The request of one write, ids included."""
        return retain_call(self._settings, self._package.framework, self._session_id, content, item)

    def recall_call(self, query: str, bank_id: str | None, tags: Sequence[str] | None = None) -> RecallCall:
        """The request of one search."""
        return recall_call(self._settings, query, bank_id=bank_id, tags=tags)

    def reflect_call(self, query: str, bank_id: str | None) -> ReflectCall:
        """The request of one question."""
        return reflect_call(self._settings, query, bank_id=bank_id)

    async def retain(self, call: RetainCall) -> RetainOutcome:
        """Store one item."""
        try:
            response = await self._send(
                "retain", call.bank_id, lambda client: call_retain(client, call), repeatable=call.repeatable
            )
        except OperationError as error:
            if not call.once or not _stored_before(error):
                raise
            return RetainOutcome(document_id=call.document_id, operation_id=call.operation_id, items=0)
        items = getattr(response, "items_count", 1)
        return RetainOutcome(
            document_id=call.document_id,
            operation_id=call.operation_id,
            items=items if isinstance(items, int) else 1,
        )

    async def recall(self, call: RecallCall) -> RecallOutcome:
        """Search; a blank query and a bank that the server does not know find nothing."""
        if not call.query.strip():
            return RecallOutcome()
        try:
            response = await self._send("recall", call.bank_id, lambda client: call_recall(client, call))
        except OperationError as error:
            if getattr(error.__cause__, "status", None) != 404:
                raise
            self._logger.debug("memory bank %r is unknown to the server: no memories", call.bank_id)
            forget_bank(self._handle, call.bank_id)
            return RecallOutcome()
        results = getattr(response, "results", None) or ()
        self._logger.debug("%d memories found in bank %r", len(results), call.bank_id)
        return RecallOutcome(memories=tuple(RecalledMemory.from_result(one) for one in results), raw=response)

    async def reflect(self, call: ReflectCall) -> ReflectOutcome:
        """Ask."""
        response = await self._send("reflect", call.bank_id, lambda client: call_reflect(client, call))
        text = getattr(response, "text", None)
        structured = getattr(response, "structured_output", None) if call.response_schema else None
        return ReflectOutcome(text=text if isinstance(text, str) else "", structured_output=structured, raw=response)

    async def store_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        bank_id: str | None,
        delta: bool,
        *,
        clean: Callable[[Turn], Turn | None],
        put: Callable[[RetainCall], Awaitable[object]],
    ) -> int:
        """Append what is new, in order: each turn as ``clean`` makes it, by ``put``. The first failure stops."""
        bank = self._settings.bank(bank_id)
        stored = 0
        async with log.exclusive():
            new = log.unseen(turns) if delta else turns
            if new:
                log.met(turns[: len(turns) - len(new)])
            waiting = [(turn, genuine) for turn in new if (genuine := clean(turn)) is not None]
            for position, (turn, genuine) in enumerate(waiting):
                log.owe([later for later, _ in waiting[position:]])
                try:
                    await put(self._turn_call(log, genuine, bank))
                except OperationError as error:
                    # The id is made of place and words: a write of ours whose answer was lost has it stored.
                    if not _stored_before(error):
                        raise
                log.advance(turn)
                stored += 1
        return stored

    def _turn_call(self, log: ConversationLog, turn: Turn, bank_id: str) -> RetainCall:
        # Offered again, a turn must be the same request to the second, or a server would take it for another.
        log.owed_at = turn.timestamp or log.owed_at or now_iso()
        timed = replace(turn, timestamp=log.owed_at)
        return self.retain_call(
            turn_content(timed),
            {
                "bank_id": bank_id,
                "document_id": log.document_id,
                "timestamp": timed.timestamp,
                "metadata": {"role": turn.role, "source": self._package.framework},
                "append": True,
                "operation_id": operation_id_for(bank_id, log.document_id, log.next_index, turn.text),
            },
        )

    async def document_text(self, bank_id: str | None, document_id: str) -> str | None:
        """The text of a document as it was stored; ``None`` when there is none."""
        bank, document_id = self._settings.bank(bank_id), check_id("document_id", document_id)
        return await self._of_document("recall", bank, lambda client: call_get_document(client, bank, document_id))

    async def delete_document(self, bank_id: str | None, document_id: str) -> None:
        """Delete a document and its memories; no error when there is none."""
        bank, document_id = self._settings.bank(bank_id), check_id("document_id", document_id)
        seconds = self._settings.deadlines.other
        await self._of_document("retain", bank, lambda client: call_delete_document(client, bank, document_id), seconds)

    async def _of_document(
        self, operation: Operation, bank_id: str, call: Callable[[Any], Awaitable[T]], seconds: float | None = None
    ) -> T | None:
        try:
            return await self._send(operation, bank_id, call, seconds=seconds)
        except OperationError as error:
            if getattr(error.__cause__, "status", None) != 404:
                raise
            return None

    async def _send(
        self,
        operation: Operation,
        bank_id: str,
        call: Callable[[Any], Awaitable[T]],
        *,
        repeatable: bool = True,
        seconds: float | None = None,
    ) -> T:
        self._handle.check()
        # Whoever made the request: the name goes into its path.
        check_id("bank_id", bank_id)
        deadlines = self._settings.deadlines
        if self._handle.url:
            self._package.config.announce(self._handle.url, self._handle.url_origin, bank_id)
        await ensure_bank(self._handle, bank_id, self._settings.mission, deadline=deadlines.bank)
        if seconds is None:
            seconds = getattr(deadlines, operation)
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline_at = started + seconds
        try:
            async with asyncio.timeout_at(deadline_at):
                # The client anew at each try: its session may have been closed meanwhile.
                answer = await with_retries(
                    lambda: call(self._handle.live()), repeatable=repeatable, deadline_at=deadline_at
                )
            self._handle.standing = "answers"
            self._logger.debug("%s in bank %r took %.3f s", operation, bank_id, loop.time() - started)
            return answer
        except Exception as error:
            # Whatever a client can raise becomes the one documented failure, with its cause.
            self._handle.standing = standing_after(error)
            log_traceback(self._logger, operation, error, secret=self._handle.secret)
            failure = describe_failure(operation, error, seconds=seconds, secret=self._handle.secret)
            failure.__cause__ = without_key(error, self._handle.secret)
        # Not within the handler: the error would be in the failure's context, key and all.
        raise failure


def _stored_before(error: OperationError) -> bool:
    """True when the server refused a write because its operation id stands for one that it has done."""
    cause = error.__cause__
    return getattr(cause, "status", None) == 409 and "used before" in f"{getattr(cause, 'body', '')}{cause}"
