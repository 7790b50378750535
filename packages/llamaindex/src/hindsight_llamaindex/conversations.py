"""Conversations of LlamaIndex's ``Memory`` as a memory block knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_adapter_core import ConversationLog, RecallOutcome, Turn, new_document_id, new_session_id, unsaid
from hindsight_adapter_core.locks import open_in_child
from hindsight_adapter_core.recent import RecentMap

from .messages import stored_turns
from .outbox import Outbox
from .session import Session

__all__ = ["Conversation", "Conversations", "last_question", "split_unanswered"]

#: Conversations that a block keeps in mind, and messages of each. Beyond, it asks the server again.
_CONVERSATIONS = 1024
_MESSAGES = 1000


class Conversation:
    """One ``session_id`` as a block knows it.

    Attributes:
        document_id: where its turns go; ``None`` until then for a conversation without a name.
        session: its messages and what of them is stored; ``None`` before the first write.
        recalled: the last query, the number of its user turn, and what was found.
    """

    def __init__(self, document_id: str | None) -> None:
        self.document_id = document_id
        self.session: Session | None = None
        self.recalled: tuple[str, int, tuple[str, ...]] | None = None
        self._shown: list[str] = []
        self._lock = open_in_child()

    def begin(self, known: Sequence[Turn], *, template: str) -> None:
        with self._lock:
            if self.session is not None:
                return
            if self.document_id is None:
                self.document_id = new_document_id(new_session_id())
            log = ConversationLog.named(self.document_id)
            messages = [_as_message(turn) for turn in known]
            session = Session(log, limit=_MESSAGES, template=template, messages=messages, complete=False)
            session.show(self._shown)
            self.session = session

    def show(self, texts: Sequence[str]) -> None:
        """Note that the model reads these memories."""
        with self._lock:
            if self.session is None:
                self._shown = [*self._shown, *texts]
            else:
                self.session.show(texts)

    def unsaid(self, outcome: RecallOutcome, messages: Sequence[ChatMessage]) -> tuple[str, ...]:
        """The texts of ``outcome`` that ``messages`` do not hold already."""
        return unsaid(outcome, self.document_id, (message.content or "" for message in messages))


class Conversations:
    """Conversations by ``session_id``; those not used for long are forgotten. Copies and pickles are empty."""

    def __init__(self) -> None:
        self._known: RecentMap[str | None, Conversation] = RecentMap(_CONVERSATIONS)

    def get(self, session_id: str | None) -> Conversation:
        return self._known.get_or_make(session_id, lambda: Conversation(session_id))

    def outboxes(self) -> list[Outbox]:
        return [one.session.outbox for one in self._known.values() if one.session is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        return Conversations, ()


def split_unanswered(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """The exchanges that were answered, and the user's messages that wait for an answer.

    ``Memory`` puts the text that it was asked with behind the history, in which it may stand as the last message.
    """
    end = len(messages)
    while end and messages[end - 1].role == MessageRole.USER:
        end -= 1
    asked = list(messages[end:])
    if len(asked) > 1 and asked[-1].content == asked[-2].content:
        asked.pop()
    return list(messages[:end]), asked


def last_question(messages: Sequence[ChatMessage]) -> str:
    for message in reversed(messages):
        if message.role == MessageRole.USER and (turns := stored_turns([message], "")):
            return turns[0].text
    return ""


def _as_message(turn: Turn) -> ChatMessage:
    extra = {name: value for name, value in (("name", turn.name), ("timestamp", turn.timestamp)) if value}
    return ChatMessage(role=MessageRole(turn.role), content=turn.text, additional_kwargs=extra)
