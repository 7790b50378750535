"""The turns of one conversation on their way to the server: in order, each once, and none lost while it is down."""

from __future__ import annotations

import concurrent.futures
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_adapter_core import (
    ConversationLog,
    HindsightError,
    MemoryOperations,
    OperationError,
    RetainItem,
    RetainOutcome,
    Turn,
    get_bridge,
    now_iso,
    operation_id_for,
    refused_for_good,
    turn_content,
)
from hindsight_adapter_core.locks import open_in_child

__all__ = ["Outbox"]

logger = logging.getLogger("hindsight_llamaindex")


@dataclass(eq=False)
class _Entry:
    """One turn. Its time and, from the first try on, its place make its request the same at every try.

    ``ticket`` is that of the background queue, once it is there.
    """

    turn: Turn
    index: int | None = None
    ticket: concurrent.futures.Future[RetainOutcome] | None = None

    @property
    def key(self) -> tuple[int | None, Turn]:
        return self.index, self.turn


class Outbox:
    """Turns that were said and are not known to be stored. Safe to use from any thread and loop.

    A turn is sent at once. When the server cannot be reached, or does not answer in time, the turn goes to the
    background queue of the memory, which tries until it succeeds; later turns follow through the queue as long as one
    of this conversation waits there, so that an agent waits for a server that is down once and not at every turn.
    What a server refuses for good is dropped, with a warning.

    Args:
        log: where the turns go.
        waiting: what :meth:`to_list` gave in an earlier process.
    """

    def __init__(self, log: ConversationLog, waiting: Iterable[Mapping[str, Any]] = ()) -> None:
        self._log = log
        self._entries = [_Entry(Turn(**one["turn"]), one["index"]) for one in waiting]
        self._lock = open_in_child()
        self._process_id = os.getpid()

    def put(self, turns: Sequence[Turn]) -> None:
        """Take turns, the oldest first. They count as said now unless they state a time."""
        with self._lock:
            self._entries += [_Entry(replace(turn, timestamp=turn.timestamp or now_iso())) for turn in turns]

    @property
    def document_id(self) -> str:
        """Where the turns go."""
        return self._log.document_id

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def waiting(self) -> list[tuple[int | None, Turn]]:
        """What tells the waiting turns apart, also among the outboxes of copies."""
        with self._lock:
            return [one.key for one in self._entries]

    def adopt(self, other: Outbox) -> None:
        """Wait with another outbox of this process for the turns that both hold and the other one has queued."""
        queued = other._tickets()
        with self._lock:
            taken = [one for one in self._entries if one.ticket is None and one.key in queued]
            for entry in taken:
                entry.ticket = queued[entry.key]
        for entry in taken:
            self._settle_with_ticket(entry)

    def _tickets(self) -> dict[tuple[int | None, Turn], concurrent.futures.Future[RetainOutcome]]:
        with self._lock:
            if self._process_id != os.getpid():
                return {}  # those of the parent are never told here
            return {one.key: one.ticket for one in self._entries if one.index is not None and one.ticket is not None}

    def send(self, operations: MemoryOperations, bank_id: str) -> None:
        """Send what is not sent. Raises nothing that has to do with the server."""
        if self._has_unsent():
            get_bridge().run(lambda: self._send(operations, bank_id))

    async def asend(self, operations: MemoryOperations, bank_id: str) -> None:
        """Async twin of :meth:`send`."""
        if self._has_unsent():
            await get_bridge().arun(lambda: self._send(operations, bank_id))

    def _has_unsent(self) -> bool:
        with self._lock:
            if self._process_id != os.getpid():
                # The parent of this forked process delivers what it took.
                self._process_id, self._entries = os.getpid(), [one for one in self._entries if one.index is None]
            return any(one.ticket is None for one in self._entries)

    async def _send(self, operations: MemoryOperations, bank_id: str) -> None:
        async with self._log.exclusive():
            with self._lock:
                unsent = [one for one in self._entries if one.ticket is None]
            for entry in unsent:
                if entry.index is None:
                    entry.index = self._log.next_index
                    self._log.advance(entry.turn)
            for entry in unsent:
                try:
                    await self._send_one(entry, operations, bank_id)
                except HindsightError as error:
                    if refused_for_good(error):
                        self._settle(entry)
                        logger.warning("%s; the conversation goes on, this turn is not remembered", error)
                    else:
                        logger.warning("%s; the conversation goes on, this turn is tried again with the next", error)

    async def _send_one(self, entry: _Entry, operations: MemoryOperations, bank_id: str) -> None:
        content, item = self._request(entry, operations, bank_id)
        if not (operations.options.retain_async or self._is_queueing()):
            try:
                await operations.aretain(content, **item)
            except OperationError as error:
                if refused_for_good(error):
                    raise
                logger.warning("%s; the conversation goes on, this turn is tried again in the background", error)
            else:
                self._settle(entry)
                return
        entry.ticket = await operations.aretain_in_background(content, **item)
        self._settle_with_ticket(entry)

    def _request(self, entry: _Entry, operations: MemoryOperations, bank_id: str) -> tuple[str, RetainItem]:
        document_id, turn = self._log.document_id, entry.turn
        return turn_content(turn), {
            "bank_id": bank_id,
            "document_id": document_id,
            "timestamp": turn.timestamp,
            "metadata": {"role": turn.role, "source": operations.package.framework},
            "append": True,
            "operation_id": operation_id_for(bank_id, document_id, entry.index or 0, turn.text),
        }

    def _is_queueing(self) -> bool:
        with self._lock:
            return any(one.ticket is not None for one in self._entries)

    def _settle_with_ticket(self, entry: _Entry) -> None:
        assert entry.ticket is not None
        entry.ticket.add_done_callback(lambda _: self._settle(entry))

    def _settle(self, entry: _Entry) -> None:
        with self._lock:
            if entry in self._entries:
                self._entries.remove(entry)

    def to_list(self) -> list[dict[str, Any]]:
        """The waiting turns as plain data, for another process to send."""
        with self._lock:
            return [{"turn": _as_data(one.turn), "index": one.index} for one in self._entries]


def _as_data(turn: Turn) -> dict[str, Any]:
    return {"role": turn.role, "text": turn.text, "name": turn.name, "timestamp": turn.timestamp}
