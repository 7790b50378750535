"""What everything of this package that holds a connection can do with it."""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import MemoryOperations, Origin

__all__ = ["Connected"]


class Connected:
    """Base of tools, retriever, memory and block. Subclasses set ``_operations``."""

    _operations: MemoryOperations

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """Every setting with where its value came from, e.g. ``{"budget": ("high", "configure()")}``."""
        handle = self._operations.handle
        return {"hindsight_api_url": (handle.url, handle.url_origin), **self._operations.settings.explain()}

    def close(self) -> None:
        """Close the HTTP session in use; the next call opens it again. A client of yours is left alone."""
        self._operations.close()

    async def aclose(self) -> None:
        """Async twin of :meth:`close`."""
        await self._operations.aclose()
