"""A memory and its copies in this process: what they share that no dump may hold, and what waits of them together."""

from __future__ import annotations

import weakref
from dataclasses import replace
from uuid import uuid4

from hindsight_adapter_core import MemoryOperations, MemoryOptions, resolve_connection
from hindsight_adapter_core.locks import open_in_child

from ._client import PACKAGE
from .outbox import Outbox

__all__ = ["Family"]


class Family:
    """The client, the time limits and the background queue of a memory and of all its copies in this process.

    A dump holds the family's name and no key. Whoever restores it while a member lives finds the key here; LlamaIndex's
    ``Context`` does so between two runs. In another process, or after the last member, a name finds nothing.

    Args:
        operations: what its first member was made with.
    """

    def __init__(self, operations: MemoryOperations) -> None:
        self.name = uuid4().hex
        self._operations = operations
        self._outboxes: weakref.WeakKeyDictionary[Outbox, tuple[MemoryOperations, str]] = weakref.WeakKeyDictionary()
        self._lock = open_in_child()
        _families[self.name] = self

    @staticmethod
    def find(name: str | None, hindsight_api_url: str | None) -> Family | None:
        """The family of that name, if a memory restored at that address would talk to the server as its members do.

        A key or a client that the program gave counts for the copies. What came from ``configure()`` or the environment
        is read again at each restoring; when it has changed since, the restored memory is on its own.
        """
        family = _families.get(name) if name else None
        if family is None or family._operations.handle.url != hindsight_api_url:
            return None
        handle = family._operations.handle
        if handle.given or handle.explain()["api_key"][1] == "argument":
            return family
        now = resolve_connection(hindsight_api_url, None, PACKAGE.config.get_config())
        return family if now.api_key == handle.secret else None

    def open(self, options: MemoryOptions) -> MemoryOperations:
        """The operations of one more member, with options of its own."""
        first = self._operations
        own = replace(options, deadlines=options.deadlines or first.options.deadlines, delivery=first.options.delivery)
        return MemoryOperations(first.package, first.handle, own, delivery=first.delivery)

    def add(self, outbox: Outbox, operations: MemoryOperations, bank_id: str) -> None:
        """Take in a member's outbox. What another one has queued already, it does not queue again."""
        for other in self._outboxes_of(outbox.document_id):
            outbox.adopt(other)
        with self._lock:
            self._outboxes[outbox] = operations, bank_id

    def send(self, document_id: str) -> None:
        """Send what no member has sent of a document."""
        for outbox, (operations, bank_id) in self._outboxes_of(document_id).items():
            outbox.send(operations, bank_id)

    async def asend(self, document_id: str) -> None:
        """Async twin of :meth:`send`."""
        for outbox, (operations, bank_id) in self._outboxes_of(document_id).items():
            await outbox.asend(operations, bank_id)

    def waiting(self, document_id: str) -> int:
        """How many turns of a document wait, those that several members hold counted once."""
        return len({turn for outbox in self._outboxes_of(document_id) for turn in outbox.waiting()})

    def _outboxes_of(self, document_id: str) -> dict[Outbox, tuple[MemoryOperations, str]]:
        with self._lock:
            return {one: how for one, how in self._outboxes.items() if one.document_id == document_id}


#: Weak: a family lasts as long as its members.
_families: weakref.WeakValueDictionary[str, Family] = weakref.WeakValueDictionary()
