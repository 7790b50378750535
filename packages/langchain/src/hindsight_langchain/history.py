"""The messages of a session, kept in a memory bank."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NoReturn

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from hindsight_adapter_core import (
    Connected,
    ConversationLog,
    Deadlines,
    HindsightError,
    MemoryOptions,
    OperationError,
    Turn,
    check_id,
    describe_failure,
    open_memory,
    turns_of,
)
from hindsight_adapter_core.locks import open_in_child

from ._client import PACKAGE
from .failures import reworded
from .messages import said_in
from .run_context import BankChoice, BankId, RunContext, static_bank

__all__ = ["HindsightChatMessageHistory"]

_READ, _WRITE, _CLEAR = "Failed to read the session: ", "Failed to store the session: ", "Failed to clear the session: "


class HindsightChatMessageHistory(Connected, BaseChatMessageHistory):
    """What a user and the assistant said in one session, word for word, kept where memories are made of it.

    A session is one document of the bank, named by ``session_id``: each message is appended to it once, and
    ``messages`` is that document read back, by any process. Its memories are found by every recall in the bank, also
    from other sessions.

    It holds words, not machinery: system and tool messages, tool calls, reasoning and recalled memories are left out,
    so a history never ends in half a tool call. Message ids, names and times (``additional_kwargs["timestamp"]``) come
    back; other ``additional_kwargs``, response metadata and parts that are no text do not.

    A call that fails ends nothing, unless ``raise_on_error``: it is logged, messages that could not be stored are kept
    by this object and stored with the next ones, and ``messages`` answers with what the object knows.
    ``clear`` raises in any case, since nobody should believe in a deletion that did not happen.

    Args:
        session_id: the session, and its document. The same as a run's ``thread_id`` when an agent with
            ``HindsightMiddleware`` stores the same conversation: nothing is stored twice then.
        bank_id: the memory bank, or a function from :class:`RunContext` to one. By default the bank is what the run
            says under ``bank_id_from_config``, else ``HINDSIGHT_BANK_ID``. Found at the first use, then kept.
        client, hindsight_api_url, api_key, tags, mission, source_tag, bank_id_from_config, deadlines: as for
            :func:`create_hindsight_tools`.
        metadata: metadata put on everything stored.
        context: label of where the text comes from; default ``langchain``.
        raise_on_error: raise :class:`HindsightError` when a call fails.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> history = HindsightChatMessageHistory("monday", bank_id="ada", hindsight_api_url="http://localhost:8888")
        >>> history.add_user_message("I prefer dark mode.")                           # doctest: +SKIP
        >>> history.messages                                                          # doctest: +SKIP
        [HumanMessage(content='I prefer dark mode.', ...)]
    """

    def __init__(  # noqa: PLR0913 - one argument an option, as everywhere in this package
        self,
        session_id: str,
        *,
        bank_id: BankId = None,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, str] | None = None,
        context: str | None = None,
        mission: str | None = None,
        source_tag: bool = False,
        bank_id_from_config: str = "user_id",
        deadlines: Deadlines | None = None,
        raise_on_error: bool = False,
    ) -> None:
        check_id("session_id", session_id)
        options = MemoryOptions(
            bank_id=static_bank(bank_id),
            hindsight_api_url=hindsight_api_url,
            tags=tags,
            retain_metadata=metadata,
            retain_document_id=session_id,
            retain_context=context,
            mission=mission,
            source_tag=source_tag,
            deadlines=deadlines,
        )
        self._operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
        self._choice = BankChoice.make(bank_id, bank_id_from_config, self._operations)
        self._bank: str | None = None
        self._log = ConversationLog.named(session_id)
        self._known: list[Turn] = []
        self._waiting: list[Turn] = []
        self._lock = open_in_child()

    @property
    def session_id(self) -> str:
        """The session, and its document."""
        return self._log.document_id

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The session's messages as the server has them, and those that still wait to be stored."""
        try:
            self._read(self._operations.documents.text(self.session_id, bank_id=self._bank_id()))
        except HindsightError as error:
            self._failed(_READ, error)
        return self._messages()

    async def aget_messages(self) -> list[BaseMessage]:
        """Async twin of :attr:`messages`."""
        try:
            self._read(await self._operations.documents.atext(self.session_id, bank_id=self._bank_id()))
        except HindsightError as error:
            self._failed(_READ, error)
        return self._messages()

    def _read(self, text: str | None) -> None:
        self._known = turns_of(text)

    def _messages(self) -> list[BaseMessage]:
        return [_message(turn) for turn in (*self._known, *self._waiting)]

    # -- writing -------------------------------------------------------------------------------------------------

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages to the session.

        Raises:
            HindsightError: a write failed and ``raise_on_error`` is set; what was not stored goes with the next ones.
        """
        turns = self._taken(messages)
        if not turns:
            return
        before = self._log.next_index
        try:
            self._operations.store_turns(self._log, turns, bank_id=self._bank_id(), delta=False)
        except HindsightError as error:
            self._failed(_WRITE, error)
        finally:
            self._settled(turns, self._log.next_index - before)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Async twin of :meth:`add_messages`."""
        turns = self._taken(messages)
        if not turns:
            return
        before = self._log.next_index
        try:
            await self._operations.astore_turns(self._log, turns, bank_id=self._bank_id(), delta=False)
        except HindsightError as error:
            self._failed(_WRITE, error)
        finally:
            self._settled(turns, self._log.next_index - before)

    def _taken(self, messages: Sequence[BaseMessage]) -> list[Turn]:
        """What is to be stored now. Who takes it gives back what it could not store."""
        new = [one.turn for one in said_in(messages)]
        with self._lock:
            turns, self._waiting = [*self._waiting, *new], []
        return turns

    def _settled(self, turns: list[Turn], stored: int) -> None:
        with self._lock:
            self._known = [*self._known, *turns[:stored]]
            self._waiting = [*turns[stored:], *self._waiting]

    def clear(self) -> None:
        """Delete the session: its document, and the memories made of it.

        Raises:
            HindsightError: it could not be deleted. Raised without ``raise_on_error`` too: what is not stored waits for
                the next time, but a user who asked to be forgotten and was not would never hear of it.
        """
        try:
            self._operations.documents.delete(self.session_id, bank_id=self._bank_id())
        except HindsightError as error:
            self._raise(_CLEAR, error)
        self._forget()

    async def aclear(self) -> None:
        """Async twin of :meth:`clear`."""
        try:
            await self._operations.documents.adelete(self.session_id, bank_id=self._bank_id())
        except HindsightError as error:
            self._raise(_CLEAR, error)
        self._forget()

    def _forget(self) -> None:
        with self._lock:
            self._known, self._waiting = [], []

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles carry what waits to be stored, and a lock of their own.
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = open_in_child()

    # -- what they share -----------------------------------------------------------------------------------------

    def _bank_id(self) -> str:
        if self._bank is None:
            self._bank = self._choice.of(RunContext.current())
        return self._bank

    def _failed(self, prefix: str, error: HindsightError) -> None:
        if self._operations.raise_on_error:
            self._raise(prefix, error)
        logging.getLogger(PACKAGE.import_name).warning("%s", self._sentence(prefix, error))

    def _raise(self, prefix: str, error: HindsightError) -> NoReturn:
        raise self._sentence(prefix, error) from error

    def _sentence(self, prefix: str, error: HindsightError) -> OperationError:
        if not isinstance(error, OperationError):
            error = describe_failure("retain", error, secret=self._operations.handle.secret)
        return reworded(prefix, error)


def _message(turn: Turn) -> BaseMessage:
    fields: dict[str, Any] = {"content": turn.text, "name": turn.name, "id": turn.message_id}
    if turn.timestamp:
        fields["additional_kwargs"] = {"timestamp": turn.timestamp}
    return AIMessage(**fields) if turn.role == "assistant" else HumanMessage(**fields)
