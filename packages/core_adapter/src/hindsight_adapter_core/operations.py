"""Retain, recall and reflect: request shaping, result text and failures, written once for sync and async callers.

Every operation is one coroutine on the bridge. Its sync and async faces differ only in how they wait for it.
"""

from __future__ import annotations

import concurrent.futures
import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from .bridge import DRAIN_SECONDS, get_bridge
from .clients import AdapterPackage, ClientHandle, connect
from .delivery import Delivery
from .documents import Documents
from .errors import HindsightError, OperationError
from .failures import describe_failure
from .outcomes import QUEUED_TEXT, RETAINED_TEXT, RecallOutcome, ReflectOutcome, RetainOutcome
from .requests import Requests
from .serialization import safe_url
from .settings import MemoryOptions, MemorySettings, resolve_settings
from .shaping import RetainItem
from .tools import Operation
from .turns import (
    ConversationLog,
    Turn,
    clean_turn,
    new_document_id,
    new_session_id,
)

__all__ = ["MemoryOperations", "open_memory"]


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
        delivery: the background queue of another memory with the same client, to share it; by default one of its own.
    """

    def __init__(
        self,
        package: AdapterPackage[Any],
        handle: ClientHandle,
        options: MemoryOptions,
        *,
        raise_on_error: bool = False,
        delivery: Delivery | None = None,
    ) -> None:
        self.package = package
        self.handle = handle
        self.options = options
        self.raise_on_error = raise_on_error
        self.settings: MemorySettings = resolve_settings(
            options, package.config.get_config(), default_context=package.framework
        )
        self.session_id = new_session_id()
        self._requests = Requests(package, handle, self.settings, self.session_id)
        self._delivery = delivery or Delivery(self._requests, options.delivery)
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
        call = self._requests.retain_call(content, item)
        return get_bridge().run(lambda: self._requests.retain(call))

    async def aretain(self, content: str, **item: Unpack[RetainItem]) -> RetainOutcome:
        """Async twin of :meth:`retain`."""
        call = self._requests.retain_call(content, item)
        return await get_bridge().arun(lambda: self._requests.retain(call))

    def retain_in_background(
        self, content: str, **item: Unpack[RetainItem]
    ) -> concurrent.futures.Future[RetainOutcome]:
        """Queue a text to be stored (:mod:`~hindsight_adapter_core.delivery`); nobody needs to wait for the future.

        Raises:
            DeliveryFullError: the queue had no room in time; the text was not taken.
        """
        return self.delivery.put(self._requests.retain_call(content, item))

    async def aretain_in_background(
        self, content: str, **item: Unpack[RetainItem]
    ) -> concurrent.futures.Future[RetainOutcome]:
        """Async twin of :meth:`retain_in_background`."""
        return await self.delivery.aput(self._requests.retain_call(content, item))

    @property
    def delivery(self) -> Delivery:
        """The background queue of this memory; see :mod:`~hindsight_adapter_core.delivery`."""
        return self._delivery

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait until the background queue is empty, at most ``timeout`` seconds; returns how many writes still wait."""
        return self._delivery.flush(timeout)

    async def aflush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await self._delivery.aflush(timeout)

    def recall(self, query: str, *, bank_id: str | None = None, tags: Sequence[str] | None = None) -> RecallOutcome:
        """Search the bank. A blank query and an unknown bank find nothing.

        Args:
            query: what to look for.
            bank_id: instead of the configured bank.
            tags: instead of the configured recall tags.

        Raises:
            OperationError: the search failed.
        """
        call = self._requests.recall_call(query, bank_id, tags)
        return get_bridge().run(lambda: self._requests.recall(call))

    async def arecall(
        self, query: str, *, bank_id: str | None = None, tags: Sequence[str] | None = None
    ) -> RecallOutcome:
        """Async twin of :meth:`recall`."""
        call = self._requests.recall_call(query, bank_id, tags)
        return await get_bridge().arun(lambda: self._requests.recall(call))

    def reflect(self, query: str, *, bank_id: str | None = None) -> ReflectOutcome:
        """Ask for a reasoned answer.

        Raises:
            OperationError: it failed.
        """
        call = self._requests.reflect_call(query, bank_id)
        return get_bridge().run(lambda: self._requests.reflect(call))

    async def areflect(self, query: str, *, bank_id: str | None = None) -> ReflectOutcome:
        """Async twin of :meth:`reflect`."""
        call = self._requests.reflect_call(query, bank_id)
        return await get_bridge().arun(lambda: self._requests.reflect(call))

    # -- conversations -----------------------------------------------------------------------------------------

    def store_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        *,
        bank_id: str | None = None,
        templates: Sequence[str] = (),
        delta: bool = True,
        recalled: Sequence[str] = (),
    ) -> int:
        """Append what is new of a conversation to its document, one write per turn, in order.

        Each write carries metadata ``role`` and ``source: <framework>`` and the operation id of its turn, so that a
        repetition is recognised. The first failure stops; the turns not stored are offered again next time. With
        ``retain_async`` the writes are queued (see :attr:`delivery`), and count as stored from then on.

        Args:
            log: what of the conversation is stored; moved forward.
            turns: the conversation as the framework holds it now, or a part of it.
            bank_id: instead of the configured bank.
            templates: prompt templates whose filled blocks must not be stored.
            delta: ``False`` when ``turns`` are known to be new and must not be compared with the log.
            recalled: memories that the model was shown; answers that only repeat them are not stored again.

        Returns:
            How many turns were stored.

        Raises:
            OperationError: a write failed.
        """
        clean = partial(clean_turn, templates=templates, recalled=recalled)
        return get_bridge().run(lambda: self._store_turns(log, turns, bank_id, delta, clean))

    async def astore_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        *,
        bank_id: str | None = None,
        templates: Sequence[str] = (),
        delta: bool = True,
        recalled: Sequence[str] = (),
    ) -> int:
        """Async twin of :meth:`store_turns`."""
        clean = partial(clean_turn, templates=templates, recalled=recalled)
        return await get_bridge().arun(lambda: self._store_turns(log, turns, bank_id, delta, clean))

    def new_log(self) -> ConversationLog:
        """A log for a conversation that begins now, with a document id of its own."""
        return ConversationLog(document_id=new_document_id(self.session_id))

    @property
    def documents(self) -> Documents:
        """Documents as a whole: their text, and their end."""
        return Documents(self._requests)

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
        # An address may carry a user name and a password; a pickle must not.
        url = self.options.hindsight_api_url
        options = replace(self.options, hindsight_api_url=safe_url(url) if url else None)
        return _rebuild_operations, (self.package, self.handle, options, self.raise_on_error)

    def __repr__(self) -> str:
        return f"MemoryOperations(bank_id={self.settings.bank_id!r}, url={self.handle.url!r})"

    # -- on the bridge -----------------------------------------------------------------------------------------

    async def _store_turns(
        self,
        log: ConversationLog,
        turns: Sequence[Turn],
        bank_id: str | None,
        delta: bool,
        clean: Callable[[Turn], Turn | None],
    ) -> int:
        put = self.delivery.aput if self.options.retain_async else self._requests.retain
        return await self._requests.store_turns(log, turns, bank_id, delta, clean=clean, put=put)

    async def _answer(self, operation: Operation, text: str, bank_id: str | None) -> str:
        try:
            if operation == "retain" and self.options.retain_async:
                await self.delivery.aput(self._requests.retain_call(text, {"bank_id": bank_id}))
                return QUEUED_TEXT
            if operation == "retain":
                await self._requests.retain(self._requests.retain_call(text, {"bank_id": bank_id}))
                return RETAINED_TEXT
            if operation == "recall":
                return (await self._requests.recall(self._requests.recall_call(text, bank_id))).as_answer()
            return (await self._requests.reflect(self._requests.reflect_call(text, bank_id))).as_answer()
        except OperationError as error:
            failure = error
        except HindsightError as error:
            failure = describe_failure(operation, error, secret=self.handle.secret)
        if self.raise_on_error:
            raise failure
        self._logger.error("%s", failure)
        return str(failure)


def _rebuild_operations(
    package: AdapterPackage[Any], handle: ClientHandle, options: MemoryOptions, raise_on_error: bool
) -> MemoryOperations:
    return MemoryOperations(package, handle, options, raise_on_error=raise_on_error)
