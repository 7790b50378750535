"""What the framework classes that hold a memory can do with it besides remembering."""

from __future__ import annotations

from typing import Any

from .bridge import DRAIN_SECONDS
from .operations import MemoryOperations
from .settings import Origin

__all__ = ["Connected", "Flushed", "explain_memory"]


def explain_memory(operations: MemoryOperations) -> dict[str, tuple[Any, Origin]]:
    """Every setting of a memory with where its value came from, e.g. ``{"budget": ("high", "configure()")}``.

    Of the key it says ``"set"`` or ``"not set"`` only.
    """
    return {**operations.handle.explain(), **operations.settings.explain()}


class Connected:
    """Base of what holds a connection, where async twins are named ``a...``. Subclasses set ``_operations``."""

    _operations: MemoryOperations

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """Every setting with where its value came from, e.g. ``{"budget": ("high", "configure()")}``."""
        return explain_memory(self._operations)

    def close(self) -> None:
        """Close the HTTP session in use; the next call opens it again. A client of yours is left alone."""
        self._operations.close()

    async def aclose(self) -> None:
        """Async twin of :meth:`close`."""
        await self._operations.aclose()


class Flushed(Connected):
    """Base of what stores through the background queue of its memory and nothing else."""

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """With ``retain_async``: wait until all is stored, at most ``timeout`` seconds; returns what still waits."""
        return self._operations.flush(timeout)

    async def aflush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await self._operations.aflush(timeout)
