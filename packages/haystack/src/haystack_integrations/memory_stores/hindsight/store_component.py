"""What the components over a memory store have in common: its life, its failures, its place in a dump."""

from __future__ import annotations

import logging
from typing import Any, Self

from haystack.core.serialization import default_from_dict

from hindsight_adapter_core import HindsightError

from .memory_store import HindsightMemoryStore

__all__ = ["StoreComponent"]

logger = logging.getLogger("hindsight_haystack")


class StoreComponent:
    """Base of retriever and writer, which set ``memory_store`` and ``raise_on_error``."""

    memory_store: HindsightMemoryStore
    raise_on_error: bool

    def warm_up(self) -> None:
        """Build the store's client; sends nothing."""
        self.memory_store.warm_up()

    def close(self) -> None:
        """Release the HTTP session; it opens again at the next run."""
        self.memory_store.close()

    async def close_async(self) -> None:
        """Async twin of :meth:`close`."""
        await self.memory_store.close_async()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of ``to_dict``."""
        parameters = dict(data["init_parameters"])
        if isinstance(parameters.get("memory_store"), dict):
            parameters["memory_store"] = HindsightMemoryStore.from_dict(parameters["memory_store"])
        loaded: Self = default_from_dict(cls, {**data, "init_parameters": parameters})
        return loaded

    def _note(self, error: HindsightError) -> None:
        """Raise a failure when that was asked for, else log it."""
        if self.raise_on_error:
            raise error
        logger.error("%s", error)
