"""Changes that read what they leave and then write it: one after another in a bank, side by side in several."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class InTurn:
    """A lock for each bank, kept as long as somebody holds it or waits for it; within this process.

    Example:
        >>> async with self._changing.of(bank_id):
        ...     held = await self._store.directive(bank_id, directive_id)
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, bank_id: str) -> asyncio.Lock:
        """The lock of a bank."""
        lock = self._locks.get(bank_id)
        if lock is None:
            lock = self._locks[bank_id] = asyncio.Lock()
        return lock
