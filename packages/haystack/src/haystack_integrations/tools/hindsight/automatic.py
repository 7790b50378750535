"""Automatic memory around a run: recall before, store after. Used by the wrapper and by the hook."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from haystack.dataclasses import ChatMessage

from hindsight_adapter_core import (
    ConversationLog,
    ConversationLogs,
    HindsightError,
    MemoryOperations,
    SettingsError,
    check_template,
)

from .messages import DEFAULT_MEMORY_PROMPT, last_user_text, memory_block, turns_of

__all__ = ["AutomaticMemory"]

logger = logging.getLogger("hindsight_haystack")


@dataclass(kw_only=True)
class AutomaticMemory:
    """Recall for the last user text, and storing of what is new in a conversation.

    Failures are logged and never reach the run: an agent without its memory still answers.

    Attributes:
        memory: the memory.
        auto_recall, auto_retain: what is done.
        max_recall_results: how many memories a prompt gets at most.
        memory_prompt_template: holds ``{memories}``.
    """

    memory: MemoryOperations
    auto_recall: bool = True
    auto_retain: bool = True
    max_recall_results: int = 10
    memory_prompt_template: str = DEFAULT_MEMORY_PROMPT
    _own_log: ConversationLog = field(init=False, repr=False)
    _named_logs: ConversationLogs = field(init=False, repr=False, default_factory=ConversationLogs)

    def __post_init__(self) -> None:
        check_template(self.memory_prompt_template)
        if isinstance(self.max_recall_results, bool) or not self.max_recall_results > 0:
            raise SettingsError(
                f"max_recall_results must be a positive whole number, not {self.max_recall_results!r}; "
                "to recall nothing, set auto_recall=False"
            )
        document_id = self.memory.options.retain_document_id
        self._own_log = ConversationLog.named(document_id) if document_id else self.memory.new_log()

    def recall_block(self, messages: Sequence[ChatMessage], bank_id: str | None = None) -> str | None:
        """The block for the prompt, or ``None``: switched off, no user text, nothing found, or the search failed."""
        query = last_user_text(messages)
        if not self.auto_recall or query is None:
            return None
        try:
            found = self.memory.recall(query, bank_id=bank_id)
        except HindsightError as error:
            self._note(error)
            return None
        return memory_block(found, self.memory_prompt_template, self.max_recall_results)

    async def recall_block_async(self, messages: Sequence[ChatMessage], bank_id: str | None = None) -> str | None:
        """Async twin of :meth:`recall_block`."""
        query = last_user_text(messages)
        if not self.auto_recall or query is None:
            return None
        try:
            found = await self.memory.arecall(query, bank_id=bank_id)
        except HindsightError as error:
            self._note(error)
            return None
        return memory_block(found, self.memory_prompt_template, self.max_recall_results)

    def store(
        self, messages: Sequence[ChatMessage], *, conversation_id: str | None = None, bank_id: str | None = None
    ) -> None:
        """Append the new turns among ``messages`` to the conversation's document."""
        if not self.auto_retain:
            return
        try:
            self.memory.store_turns(
                self._log(conversation_id, bank_id),
                turns_of(messages),
                bank_id=bank_id,
                templates=(self.memory_prompt_template,),
            )
        except HindsightError as error:
            self._note(error)

    async def store_async(
        self, messages: Sequence[ChatMessage], *, conversation_id: str | None = None, bank_id: str | None = None
    ) -> None:
        """Async twin of :meth:`store`."""
        if not self.auto_retain:
            return
        try:
            await self.memory.astore_turns(
                self._log(conversation_id, bank_id),
                turns_of(messages),
                bank_id=bank_id,
                templates=(self.memory_prompt_template,),
            )
        except HindsightError as error:
            self._note(error)

    def __reduce__(self) -> tuple[object, ...]:
        # A copy is another holder with a conversation of its own: two writers of one document would be taken for one.
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return _rebuild, (values,)

    def _log(self, conversation_id: str | None, bank_id: str | None) -> ConversationLog:
        bank = self.memory.settings.bank(bank_id)
        if conversation_id is not None:
            return self._named_logs.get(bank, conversation_id)
        if bank == self.memory.settings.bank_id:
            return self._own_log
        # Another bank is another conversation; its document is this memory's, in that bank.
        return self._named_logs.get(bank, self._own_log.document_id, fresh=True)

    def _note(self, error: HindsightError) -> None:
        logger.error("%s", error)


def _rebuild(values: dict[str, Any]) -> AutomaticMemory:
    return AutomaticMemory(**values)
