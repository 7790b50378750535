"""Memories for a pipeline."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.core.serialization import default_to_dict
from haystack.dataclasses import ChatMessage

from haystack_integrations.memory_stores.hindsight import HindsightMemoryStore
from haystack_integrations.memory_stores.hindsight.store_component import StoreComponent
from haystack_integrations.tools.hindsight.messages import DEFAULT_MEMORY_PROMPT, last_user_text
from hindsight_adapter_core import (
    HindsightError,
    SettingsError,
    check_positive,
    check_template,
    fence_memories,
    fill_template,
    memory_lines,
)

__all__ = ["HindsightMemoryRetriever"]


@component
class HindsightMemoryRetriever(StoreComponent):
    """Retrieves the memories that fit a query, or the last user message of a conversation.

    Outputs ``memories`` (system messages, see :meth:`HindsightMemoryStore.search_memories`) and ``prompt``: the same
    as one text for a prompt, between marks, empty when there are none. A memory in ``prompt`` cannot end the block,
    pass for another entry or speak as a chat template; give it to a ``ChatPromptBuilder`` as a variable. Should the
    block come back in a message that is written to memory, it is recognised by its marks and left out.

    Args:
        memory_store: where to look.
        top_k: how many memories at most.
        memory_prompt_template: what surrounds them in ``prompt``; must hold ``{memories}``.
        raise_on_error: raise when the search fails; by default it is logged, and nothing is found.

    Raises:
        SettingsError: a value is out of its range.

    Example::

        retriever = HindsightMemoryRetriever(memory_store=HindsightMemoryStore())
        retriever.run(query="Which mode does she like?", bank_id="user-123")["memories"]
    """

    def __init__(
        self,
        *,
        memory_store: HindsightMemoryStore,
        top_k: int = 5,
        memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
        raise_on_error: bool = False,
    ) -> None:
        check_positive("top_k", top_k)
        self.memory_store = memory_store
        self.top_k = top_k
        self.memory_prompt_template = check_template(memory_prompt_template)
        self.raise_on_error = raise_on_error

    @component.output_types(memories=list[ChatMessage], prompt=str)
    def run(
        self,
        query: str | None = None,
        messages: list[ChatMessage] | None = None,
        bank_id: str | None = None,
        tags: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, Any]:
        """Retrieve memories.

        Args:
            query: what to look for.
            messages: a conversation, whose last user message is the query when there is no other.
            bank_id: instead of the store's bank.
            tags: instead of the store's ``recall_tags``.
            filters: Haystack's filter syntax, over ``tags`` and ``type``.
            top_k: instead of the component's.

        Raises:
            HindsightError: the search failed and ``raise_on_error`` is set.
        """
        try:
            memories = self.memory_store.search_memories(
                query=_query(query, messages), bank_id=bank_id, tags=tags, filters=filters, top_k=top_k or self.top_k
            )
        except HindsightError as error:
            self._note(error)
            memories = []
        return self._found(memories)

    @component.output_types(memories=list[ChatMessage], prompt=str)
    async def run_async(
        self,
        query: str | None = None,
        messages: list[ChatMessage] | None = None,
        bank_id: str | None = None,
        tags: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, Any]:
        """Async twin of :meth:`run`."""
        try:
            memories = await self.memory_store.search_memories_async(
                query=_query(query, messages), bank_id=bank_id, tags=tags, filters=filters, top_k=top_k or self.top_k
            )
        except HindsightError as error:
            self._note(error)
            memories = []
        return self._found(memories)

    def _found(self, memories: list[ChatMessage]) -> dict[str, Any]:
        lines = memory_lines(message.text or "" for message in memories)
        prompt = fence_memories(fill_template(self.memory_prompt_template, lines)) if lines else ""
        return {"memories": memories, "prompt": prompt}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key."""
        dumped: dict[str, Any] = default_to_dict(
            self,
            memory_store=self.memory_store.to_dict(),
            top_k=self.top_k,
            memory_prompt_template=self.memory_prompt_template,
            raise_on_error=self.raise_on_error,
        )
        return dumped


def _query(query: str | None, messages: list[ChatMessage] | None) -> str:
    if query is None and messages is None:
        raise SettingsError("the memory retriever needs a query, or messages to take it from")
    return query if query is not None else last_user_text(messages or ()) or ""
