"""What of which conversation is stored, over the runs of one process."""

from __future__ import annotations

from collections.abc import Sequence

from haystack.dataclasses import ChatMessage

from hindsight_adapter_core import ConversationLog, ConversationLogs, ShownMemories

from .messages import turns_of
from .scope import RunScope, ScopedMemories

__all__ = ["Conversations"]


class Conversations:
    """The conversations of one holder: a wrapper, a hook or a memory store.

    Without a ``conversation_id`` everything that one holder stores in one bank is one conversation.

    Args:
        memories: where to.
    """

    def __init__(self, memories: ScopedMemories) -> None:
        self._memories = memories
        document_id = memories.memory.options.retain_document_id
        self._own = ConversationLog.named(document_id) if document_id else memories.memory.new_log()
        self._others = ConversationLogs()
        self._shown = ShownMemories()

    def show(self, memories: Sequence[str], scope: RunScope) -> None:
        """Note what the conversation's model reads: answers that only repeat it are not stored.

        Raises:
            HindsightError: the scope is unusable.
        """
        self._shown.add(self._key(scope), memories)

    def store(
        self,
        messages: Sequence[ChatMessage],
        scope: RunScope,
        *,
        templates: Sequence[str] = (),
        only_new: bool = True,
    ) -> int:
        """Append turns of ``messages`` to the conversation's document, and return how many.

        Args:
            messages: the conversation as it is now, or the end of it.
            scope: whose it is.
            templates: prompt templates whose filled blocks must not be stored.
            only_new: compare with what is stored, and add the rest; ``False`` adds all.

        Raises:
            HindsightError: a write failed, or the scope is unusable.
        """
        memory = self._memories.tagged(scope.tag_names())
        return memory.store_turns(
            self._log(scope),
            turns_of(messages),
            bank_id=scope.bank(),
            templates=templates,
            delta=only_new,
            recalled=self._shown.of(self._key(scope)),
        )

    async def store_async(
        self,
        messages: Sequence[ChatMessage],
        scope: RunScope,
        *,
        templates: Sequence[str] = (),
        only_new: bool = True,
    ) -> int:
        """Async twin of :meth:`store`."""
        memory = self._memories.tagged(scope.tag_names())
        return await memory.astore_turns(
            self._log(scope),
            turns_of(messages),
            bank_id=scope.bank(),
            templates=templates,
            delta=only_new,
            recalled=self._shown.of(self._key(scope)),
        )

    def _key(self, scope: RunScope) -> tuple[str, str]:
        return self._memories.memory.settings.bank(scope.bank()), self._log(scope).document_id

    def _log(self, scope: RunScope) -> ConversationLog:
        settings = self._memories.memory.settings
        bank, conversation_id = settings.bank(scope.bank()), scope.conversation()
        if conversation_id is not None:
            return self._others.get(bank, conversation_id)
        if bank == settings.bank_id:
            return self._own
        # Another bank is another conversation; its document is this holder's, in that bank.
        return self._others.get(bank, self._own.document_id, fresh=True)
