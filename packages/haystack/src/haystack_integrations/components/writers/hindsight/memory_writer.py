"""Memories of a pipeline's messages."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.core.serialization import default_to_dict
from haystack.dataclasses import ChatMessage

from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore
from haystack_integrations.memory_stores.hindsight.store_component import StoreComponent
from hindsight_adapter_core import HindsightError

__all__ = ["HindsightMemoryWriter"]


@component
class HindsightMemoryWriter(StoreComponent):
    """Writes chat messages into memory, for instance those that an agent gives back.

    Args:
        memory_store: where to.
        only_new: the messages may hold earlier turns of the conversation, as an agent's do: what this component
            stored before is not stored again, and with nothing stored yet the last user message and what follows is.
            ``False`` stores everything that each run is given.
        raise_on_error: raise when a write fails; by default it is logged, and the pipeline goes on. What failed is
            offered again with the next run of the same conversation, if it is still among the messages.

    Example::

        writer = HindsightMemoryWriter(memory_store=HindsightMemoryStore())
        writer.run(messages=[ChatMessage.from_user("I prefer dark mode")], bank_id="user-123")
    """

    def __init__(
        self, *, memory_store: HindsightMemoryStore, only_new: bool = True, raise_on_error: bool = False
    ) -> None:
        self.memory_store = memory_store
        self.only_new = only_new
        self.raise_on_error = raise_on_error

    @component.output_types(memories_written=int)
    def run(
        self,
        messages: list[ChatMessage],
        bank_id: str | None = None,
        tags: list[str] | None = None,
        conversation_id: str | None = None,
    ) -> dict[str, int]:
        """Write the new turns among ``messages``.

        Args:
            messages: the conversation as it is now; system and tool messages are left out.
            bank_id: instead of the store's bank.
            tags: added to the store's tags.
            conversation_id: which conversation this is; by default one for each bank.

        Returns:
            ``memories_written``: how many turns were stored.

        Raises:
            HindsightError: a write failed and ``raise_on_error`` is set.
        """
        try:
            count = self.memory_store.add_memories(
                messages=messages, bank_id=bank_id, tags=tags, conversation_id=conversation_id, only_new=self.only_new
            )
        except HindsightError as error:
            self._note(error)
            count = 0
        return {"memories_written": count}

    @component.output_types(memories_written=int)
    async def run_async(
        self,
        messages: list[ChatMessage],
        bank_id: str | None = None,
        tags: list[str] | None = None,
        conversation_id: str | None = None,
    ) -> dict[str, int]:
        """Async twin of :meth:`run`."""
        try:
            count = await self.memory_store.add_memories_async(
                messages=messages, bank_id=bank_id, tags=tags, conversation_id=conversation_id, only_new=self.only_new
            )
        except HindsightError as error:
            self._note(error)
            count = 0
        return {"memories_written": count}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key."""
        dumped: dict[str, Any] = default_to_dict(
            self,
            memory_store=self.memory_store.to_dict(),
            only_new=self.only_new,
            raise_on_error=self.raise_on_error,
        )
        return dumped
