"""Automatic memory around a run: recall before, store after. Used by the wrapper and by the hook."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from haystack.dataclasses import ChatMessage

from hindsight_adapter_core import HindsightError, RecallOutcome, check_positive, check_template

from .conversations import Conversations
from .messages import DEFAULT_MEMORY_PROMPT, last_user_text, memory_block
from .scope import RunScope, ScopedMemories

__all__ = ["AutomaticMemory"]

logger = logging.getLogger("hindsight_haystack")

#: A run that says nothing of its memory.
_CONFIGURED = RunScope()


@dataclass(kw_only=True)
class AutomaticMemory:
    """Recall for the last user text, and storing of what is new in a conversation.

    Failures are logged and never reach the run: an agent without its memory still answers.

    Attributes:
        scoped: the memory.
        auto_recall, auto_retain: what is done.
        max_recall_results: how many memories a prompt gets at most.
        memory_prompt_template: holds ``{memories}``.
    """

    scoped: ScopedMemories
    auto_recall: bool = True
    auto_retain: bool = True
    max_recall_results: int = 10
    memory_prompt_template: str = DEFAULT_MEMORY_PROMPT
    conversations: Conversations = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_template(self.memory_prompt_template)
        check_positive(
            "max_recall_results", self.max_recall_results, instead="to recall nothing, set auto_recall=False"
        )
        self.conversations = Conversations(self.scoped)

    def recall_block(self, messages: Sequence[ChatMessage], scope: RunScope = _CONFIGURED) -> str | None:
        """The block for the prompt, or ``None``: switched off, no user text, nothing found, or the search failed."""
        query = last_user_text(messages)
        if not self.auto_recall or query is None:
            return None
        try:
            found = self.scoped.tagged(scope.tag_names()).recall(query, bank_id=scope.bank())
            return self._shown(found, scope)
        except HindsightError as error:
            self._note(error)
            return None

    async def recall_block_async(self, messages: Sequence[ChatMessage], scope: RunScope = _CONFIGURED) -> str | None:
        """Async twin of :meth:`recall_block`."""
        query = last_user_text(messages)
        if not self.auto_recall or query is None:
            return None
        try:
            found = await self.scoped.tagged(scope.tag_names()).arecall(query, bank_id=scope.bank())
            return self._shown(found, scope)
        except HindsightError as error:
            self._note(error)
            return None

    def _shown(self, found: RecallOutcome, scope: RunScope) -> str | None:
        self.conversations.show(found.texts[: self.max_recall_results], scope)
        return memory_block(found, self.memory_prompt_template, self.max_recall_results)

    def store(self, messages: Sequence[ChatMessage], scope: RunScope = _CONFIGURED) -> None:
        """Append the new turns among ``messages`` to the conversation's document."""
        if not self.auto_retain:
            return
        try:
            self.conversations.store(messages, scope, templates=(self.memory_prompt_template,))
        except HindsightError as error:
            self._note(error)

    async def store_async(self, messages: Sequence[ChatMessage], scope: RunScope = _CONFIGURED) -> None:
        """Async twin of :meth:`store`."""
        if not self.auto_retain:
            return
        try:
            await self.conversations.store_async(messages, scope, templates=(self.memory_prompt_template,))
        except HindsightError as error:
            self._note(error)

    def __reduce__(self) -> tuple[object, ...]:
        # A copy is another holder with a conversation of its own: two writers of one document would be taken for one.
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return _rebuild, (values,)

    def _note(self, error: HindsightError) -> None:
        logger.error("%s", error)


def _rebuild(values: dict[str, Any]) -> AutomaticMemory:
    return AutomaticMemory(**values)
