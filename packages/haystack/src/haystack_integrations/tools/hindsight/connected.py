"""What every object of this package that holds a memory can do with it besides remembering."""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import MemoryOperations, Origin, explain_memory
from hindsight_adapter_core.bridge import DRAIN_SECONDS

__all__ = ["Connected"]


class Connected:
    """Base of tools, wrapper and hooks; async twins have Haystack's names. Subclasses set ``_operations``."""

    _operations: MemoryOperations

    @property
    def memory(self) -> MemoryOperations:
        """The memory below, for what this class has no method for (``memory.reflect(...)``)."""
        return self._operations

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """Every setting with where its value came from, e.g. ``{"budget": ("high", "configure()")}``."""
        return explain_memory(self.memory)

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait for what is stored in the background (``retain_async=True``), at most ``timeout`` seconds.

        Returns:
            How many writes still wait.
        """
        return self.memory.flush(timeout)

    async def flush_async(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await self.memory.aflush(timeout)

    def close(self) -> None:
        """Release the HTTP session; it opens again at the next call."""
        self.memory.close()

    async def close_async(self) -> None:
        """Async twin of :meth:`close`."""
        await self.memory.aclose()
