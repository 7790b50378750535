"""Retain, recall and reflect: request shaping, result text and failures, written once for sync and async callers.

Every operation is one coroutine on the bridge. Its sync and async faces differ only in how they wait for it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack

from .bank import ensure_bank, forget_bank
from .bridge import get_bridge
from .calls import (
    RecallCall,
    ReflectCall,
    RetainCall,
    call_recall,
    call_reflect,
    call_retain,
)
from .clients import AdapterPackage, ClientHandle, connect
from .errors import HindsightError, OperationError
from .failures import describe_failure
from .outcomes import RETAINED_TEXT, RecalledMemory, RecallOutcome, ReflectOutcome, RetainOutcome
from .retry import with_retries
from .settings import MemoryOptions, MemorySettings, resolve_settings
from .shaping import RetainItem, recall_call, reflect_call, retain_call
from .tools import Operation
from .turns import (
    ConversationLog,
    Turn,
    clean_turn,
    new_document_id,
    new_session_id,
    now_iso,
    operation_id_for,
    turn_content,
)

__all__ = ["MemoryOperations", "open_memory"]

T = TypeVar("T")


def open_memory(
    package: AdapterPackage[Any],
    options: MemoryOptions,
    *,
    client: Any = None,
    api_key: str | None = None,
    raise_on_error: bool = False,
) -> MemoryOperations:
    """The usual way to a :class:`MemoryOperations`: resolve the client and the settings, send nothing.

    Args:
        package: the framework package.
        options: the user's arguments; ``options.hindsight_api_url`` is the URL argument.
        client: a client of the caller's.
        api_key: bearer key argument.
        raise_on_error: see :class:`MemoryOperations`.
    """
    handle = connect(package, client=client, hindsight_api_url=options.hindsight_api_url, api_key=api_key)
    return MemoryOperations(package, handle, options, raise_on_error=raise_on_error)


class MemoryOperations:
    """The memory of one tool set: every operation in a sync and an async form, for any bank.

    Methods that return outcomes raise :class:`OperationError` when the operation fails; ``answer`` and ``aanswer``
    return the sentence that a model should read, and raise only with ``raise_on_error=True``. Safe to share between
    threads and loops; copies share the client; pickles hold no key and reconnect from the environment.

    Args:
        package: the framework package.
        handle: the client.
        options: the arguments; precedence is settled here, once.
        raise_on_error: failures of ``answer`` are raised instead of returned.
    """

    def __init__(
        self,
        package: AdapterPackage[Any],
        handle: ClientHandle,
        options: MemoryOptions,
        *,
        raise_on_error: bool = False,
    ) -> None:
        self.package = package
        self.handle = handle
        self.options = options
        self.raise_on_error = raise_on_error
        self.settings: MemorySettings = resolve_settings(
            options, package.config.get_config(), default_context=package.framework
        )
        self.session_id = new_session_id()
        self._logger = logging.getLogger(package.import_name)

    # -- text for models ---------------------------------------------------------------------------------------

    def answer(self, operation: Operation, text: str, *, bank_id: str | None = None) -> str:
        """Run a tool call and return what the model should read.

        Raises:
            OperationError: it failed and ``raise_on_error`` is set.
        """
        return get_bridge().run(lambda: self._answer(operation, text, bank_id))

    async def aanswer(self, operation: Operation, text: str, *, bank_id: str | None = None) -> str:
        """Async twin of :meth:`answer`."""
        return await get_bridge().arun(lambda: self._answer(operation, text, bank_id))

    # -- outcomes ----------------------------------------------------------------------------------------------

    def retain(self, content: str, **item: Unpack[RetainItem]) -> RetainOutcome:
        """Store one text.

        Args:
            content: what to store.
            **item: see :class:`RetainItem`.

        Raises:
            OperationError: the write failed; ``outcome_unknown`` tells whether it may have happened all the same.
            MissingBankError: no bank is known.
            MissingCredentialsError: nothing was sent for want of a key.
        """
        call = self._retain_call(content, item)
        return get_bridge().run(lambda: self._retain(call))

    async def aretain(self, content: str, **item: Unpack[RetainItem]) -> RetainOutcome:
        """Async twin of :meth:`retain`."""
        call = self._retain_call(content, item)
        return await get_bridge().arun(lambda: self._retain(call))

    def retain_in_background(
        self, content: str, **item: Unpack[RetainItem]
    ) -> concurrent.futures.Future[RetainOutcome | None]:
        """Start storing without waiting. A failure is logged; the end of the process waits, within a bound."""
        call = self._retain_call(content, item)
        return get_bridge().in_background(lambda: self._logged(self._retain(call), "retain"))

    def recall(self, query: str, *, bank_id: str | None = None, tags: Sequence[str] | None = None) -> RecallOutcome:
        """Search the bank. A blank query and an unknown bank find nothing.

        Args:
            query: what to look for.
            bank_id: instead of the configured bank.
            tags: instead of the configured recall tags.

        Raises:
            OperationError: the search failed.
        """
        call = self._recall_call(query, bank_id, tags)
        return get_bridge().run(lambda: self._recall(call))

    async def arecall(
        self, query: str, *, bank_id: str | None = None, tags: Sequence[str] | None = None
    ) -> RecallOutcome:
        """Async twin of :meth:`recall`."""
        call = self._recall_call(query, bank_id, tags)
        return await get_bridge().arun(lambda: self._recall(call))

    def reflect(self, query: str, *, bank_id: str | None = None) -> ReflectOutcome:
        """Ask for a reasoned answer.

        Raises:
            OperationError: it failed.
        """
        call = self._reflect_call(query, bank_id)
        return get_bridge().run(lambda: self._reflect(call))

    async def areflect(self, query: str, *, bank_id: str | None = None) -> ReflectOutcome:
        """Async twin of :meth:`reflect`."""
        call = self._reflect_call(query, bank_id)
        return await get_bridge().arun(lambda: self._reflect(call))

    # -- conversations -----------------------------------------------------------------------------------------

    def store_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        *,
        bank_id: str | None = None,
        templates: Sequence[str] = (),
        delta: bool = True,
    ) -> int:
        """Append what is new of a conversation to its document, one write per turn, in order.

        Each write carries metadata ``role`` and ``source: <framework>`` and the operation id of its turn, so that a
        repetition is recognised. The first failure stops; the turns not stored are offered again next time.

        Args:
            log: what of the conversation is stored; moved forward.
            turns: the conversation as the framework holds it now, or a part of it.
            bank_id: instead of the configured bank.
            templates: prompt templates whose filled blocks must not be stored.
            delta: ``False`` when ``turns`` are known to be new and must not be compared with the log.

        Returns:
            How many turns were stored.

        Raises:
            OperationError: a write failed.
        """
        return get_bridge().run(lambda: self._store_turns(log, turns, bank_id, templates, delta))

    async def astore_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        *,
        bank_id: str | None = None,
        templates: Sequence[str] = (),
        delta: bool = True,
    ) -> int:
        """Async twin of :meth:`store_turns`."""
        return await get_bridge().arun(lambda: self._store_turns(log, turns, bank_id, templates, delta))

    def new_log(self) -> ConversationLog:
        """A log for a conversation that begins now, with a document id of its own."""
        return ConversationLog(document_id=new_document_id(self.session_id))

    # -- life cycle --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the HTTP session in use; the next operation opens it again. A caller's client is left alone."""
        self.handle.close()

    async def aclose(self) -> None:
        """Async twin of :meth:`close`."""
        await self.handle.aclose()

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryOperations:
        return MemoryOperations(
            self.package, self.handle, copy.deepcopy(self.options, memo), raise_on_error=self.raise_on_error
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_operations, (self.package, self.handle, self.options, self.raise_on_error)

    def __repr__(self) -> str:
        return f"MemoryOperations(bank_id={self.settings.bank_id!r}, url={self.handle.url!r})"

    # -- request shaping ---------------------------------------------------------------------------------------

    def _retain_call(self, content: str, item: RetainItem) -> RetainCall:
        return retain_call(self.settings, self.package.framework, self.session_id, content, item)

    def _recall_call(self, query: str, bank_id: str | None, tags: Sequence[str] | None = None) -> RecallCall:
        return recall_call(self.settings, query, bank_id=bank_id, tags=tags)

    def _reflect_call(self, query: str, bank_id: str | None) -> ReflectCall:
        return reflect_call(self.settings, query, bank_id=bank_id)

    # -- on the bridge -----------------------------------------------------------------------------------------

    async def _answer(self, operation: Operation, text: str, bank_id: str | None) -> str:
        try:
            if operation == "retain":
                await self._retain(self._retain_call(text, {"bank_id": bank_id}))
                return RETAINED_TEXT
            if operation == "recall":
                return (await self._recall(self._recall_call(text, bank_id))).as_answer()
            return (await self._reflect(self._reflect_call(text, bank_id))).as_answer()
        except OperationError as error:
            failure = error
        except HindsightError as error:
            failure = describe_failure(operation, error, secret=self.handle.secret)
        if self.raise_on_error:
            raise failure
        self._logger.error("%s", failure)
        return str(failure)

    async def _retain(self, call: RetainCall) -> RetainOutcome:
        response = await self._send(
            "retain", call.bank_id, lambda client: call_retain(client, call), repeatable=call.repeatable
        )
        items = getattr(response, "items_count", 1)
        return RetainOutcome(
            document_id=call.document_id,
            operation_id=call.operation_id,
            items=items if isinstance(items, int) else 1,
        )

    async def _recall(self, call: RecallCall) -> RecallOutcome:
        if not call.query.strip():
            return RecallOutcome()
        try:
            response = await self._send("recall", call.bank_id, lambda client: call_recall(client, call))
        except OperationError as error:
            if getattr(error.__cause__, "status", None) != 404:
                raise
            self._logger.debug("memory bank %r is unknown to the server: no memories", call.bank_id)
            forget_bank(self.handle, call.bank_id)
            return RecallOutcome()
        results = getattr(response, "results", None) or ()
        return RecallOutcome(memories=tuple(RecalledMemory.from_result(one) for one in results), raw=response)

    async def _reflect(self, call: ReflectCall) -> ReflectOutcome:
        response = await self._send("reflect", call.bank_id, lambda client: call_reflect(client, call))
        text = getattr(response, "text", None)
        structured = getattr(response, "structured_output", None) if call.response_schema else None
        return ReflectOutcome(text=text if isinstance(text, str) else "", structured_output=structured, raw=response)

    async def _store_turns(
        self, log: ConversationLog, turns: Sequence[Turn], bank_id: str | None, templates: Sequence[str], delta: bool
    ) -> int:
        bank = self.settings.bank(bank_id)
        stored = 0
        async with log.exclusive():
            new = log.unseen(turns) if delta else turns
            if new:
                log.met(turns[: len(turns) - len(new)])
            waiting = [(turn, clean) for turn in new if (clean := clean_turn(turn, templates)) is not None]
            for position, (turn, clean) in enumerate(waiting):
                log.owe([later for later, _ in waiting[position:]])
                await self._retain(self._turn_call(log, clean, bank))
                log.advance(turn)
                stored += 1
        return stored

    def _turn_call(self, log: ConversationLog, turn: Turn, bank_id: str) -> RetainCall:
        timed = turn if turn.timestamp else replace(turn, timestamp=now_iso())
        return self._retain_call(
            turn_content(timed),
            {
                "bank_id": bank_id,
                "document_id": log.document_id,
                "timestamp": timed.timestamp,
                "metadata": {"role": turn.role, "source": self.package.framework},
                "append": True,
                "operation_id": operation_id_for(bank_id, log.document_id, log.next_index, turn.text),
            },
        )

    async def _send(
        self, operation: Operation, bank_id: str, call: Callable[[Any], Awaitable[T]], *, repeatable: bool = True
    ) -> T:
        client = self.handle.live()
        deadlines = self.settings.deadlines
        if self.handle.url:
            self.package.config.announce(self.handle.url, self.handle.url_origin, bank_id)
        await ensure_bank(self.handle, bank_id, self.settings.mission, deadline=deadlines.bank)
        seconds: float = getattr(deadlines, operation)
        deadline_at = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline_at):
                return await with_retries(lambda: call(client), repeatable=repeatable, deadline_at=deadline_at)
        except Exception as error:
            self._logger.debug("%s failed", operation, exc_info=True)
            raise describe_failure(operation, error, seconds=seconds, secret=self.handle.secret) from error

    async def _logged(self, work: Awaitable[T], operation: Operation) -> T | None:
        try:
            return await work
        except HindsightError as error:
            self._logger.error("%s", error)
            return None


def _rebuild_operations(
    package: AdapterPackage[Any], handle: ClientHandle, options: MemoryOptions, raise_on_error: bool
) -> MemoryOperations:
    return MemoryOperations(package, handle, options, raise_on_error=raise_on_error)
