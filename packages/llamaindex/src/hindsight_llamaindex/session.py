"""The state of one conversation in a memory: its messages, what of them is stored, what was recalled for them."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_adapter_core import (
    ConversationLog,
    RecallOutcome,
    ShownMemories,
    Turn,
    clean_turn,
    unsaid,
)
from hindsight_adapter_core.locks import open_in_child

from .compat import AGENTS_KEEP_THE_QUESTION
from .messages import stored_turns, trimmed
from .outbox import Outbox

__all__ = ["Session"]


class Session:
    """A conversation as one memory knows it. Safe to share between threads; knows no client and does no I/O.

    Args:
        log: what is stored of it, and where.
        limit: how many messages are kept.
        template: the prompt template whose filled blocks are recognised.
        messages: the messages so far; they count as stored.
        complete: every stored turn is among ``messages``.
        waiting: turns that an earlier process could not store, as :meth:`Outbox.to_list` gave them.
    """

    def __init__(
        self,
        log: ConversationLog,
        *,
        limit: int,
        template: str,
        messages: Sequence[ChatMessage] = (),
        complete: bool = True,
        waiting: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.log = log
        self.outbox = Outbox(log, waiting)
        self._limit = limit
        self._template = template
        self._complete = complete
        self._messages = trimmed(list(messages), limit)
        self._recalled: dict[str, tuple[str, ...]] = {}
        self._ahead: tuple[int, str, concurrent.futures.Future[RecallOutcome]] | None = None
        self._asked = True
        self._shown = ShownMemories()
        self._lock = open_in_child()

    @property
    def messages(self) -> list[ChatMessage]:
        """The messages kept, the oldest first; a list of your own."""
        with self._lock:
            return list(self._messages)

    def add(self, messages: Sequence[ChatMessage]) -> None:
        """Append messages, and put the genuine turns among them into the outbox."""
        turns = stored_turns(messages, self._template)
        with self._lock:
            if any(turn.role == "user" for turn in turns):
                self._recalled.clear()
            self._keep([*self._messages, *messages])
            self.outbox.put(self._genuine(turns))

    def replace(self, messages: Sequence[ChatMessage]) -> None:
        """Put other messages in place of those kept, and the turns that were not among them into the outbox.

        Where the old messages end inside the new ones is found by the longest run that both have in common, so that a
        history that was trimmed, here or by the caller, is still recognised. When nothing is in common, only the last
        user turn and what follows it count as new: a caller that sends its whole history to a memory made just now
        must not store all of it again.
        """
        new = stored_turns(messages, self._template)
        with self._lock:
            old = stored_turns(self._messages, self._template)
            overlap, end = _overlap(old, new)
            fresh = new[end:] if overlap else self.log.unseen(new)
            self._complete = self._complete and (overlap == len(old) or not self._has_stored())
            self._recalled.clear()
            self._give_up_ahead()
            self._keep(list(messages))
            self.outbox.put(self._genuine(fresh))

    def follow(self, messages: Sequence[ChatMessage], *, dismissed: bool = False) -> None:
        """Put the turns of ``messages`` into the outbox that were not among those kept; for a memory that shows parts.

        Args:
            messages: a later part of the conversation, which may begin anywhere in what is known.
            dismissed: these will not be shown again. Else they are what is kept from now on, and when nothing was
                known before, only their last exchange is new.
        """
        new = stored_turns(messages, self._template)
        with self._lock:
            old = stored_turns(self._messages, self._template)
            if _contains(old, new):
                fresh: Sequence[Turn] = ()
            elif old or dismissed:
                fresh = new[_overlap(old, new)[1] :]
            else:
                fresh = self.log.unseen(new)
            if fresh or not dismissed:
                self._keep([*self._messages, *messages] if dismissed else list(messages))
            self.outbox.put(self._genuine(fresh))

    def clear(self) -> None:
        """Forget the messages. What is stored stays stored, and may now be recalled."""
        with self._lock:
            self._complete = self._complete and not self._has_stored()
            self._messages = []
            self._recalled.clear()
            self._give_up_ahead()

    def _has_stored(self) -> bool:
        return self.log.last is not None or len(self.outbox) > 0

    def _keep(self, messages: list[ChatMessage]) -> None:
        kept = trimmed(messages, self._limit)
        self._complete = self._complete and len(kept) == len(messages)
        self._messages = kept

    def lookup(self, given: str | None) -> tuple[str, tuple[str, ...] | None]:
        """What to search for, and what this turn's search for it found.

        The query is the given text, else the last user message with words. The second value is ``None`` when the
        search is still to be made, and empty when there is nothing to search for.
        """
        query = self._query(given)
        if not query:
            return "", ()
        with self._lock:
            return query, self._recalled.get(query)

    def _query(self, given: str | None) -> str:
        if given is not None and given.strip():
            # Cleaned like a message: an agent asks with the user's words, after asking with the user's message.
            turn = clean_turn(Turn(role="user", text=given), [self._template])
            return turn.text if turn else given.strip()
        for message in reversed(self.messages):
            if message.role == MessageRole.USER and (turns := stored_turns([message], self._template)):
                return turns[0].text
        return ""

    def search_ahead(self, query: str, begin: Callable[[], concurrent.futures.Future[RecallOutcome]]) -> None:
        """Begin a search before it is asked for, unless nobody asked for the last one's."""
        with self._lock:
            asked, self._asked = self._asked, False
            self._give_up_ahead()
            if asked:
                self._ahead = (os.getpid(), query, begin())

    def take_ahead(self, query: str) -> concurrent.futures.Future[RecallOutcome] | None:
        """The search that was begun for this question, once; in a forked process that of its parent is none."""
        with self._lock:
            self._asked = True
            if self._ahead is None or self._ahead[:2] != (os.getpid(), query):
                return None
            search, self._ahead = self._ahead[2], None
        return search

    def _give_up_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == os.getpid():
            ahead[2].cancel()

    def note_recalled(self, query: str, outcome: RecallOutcome) -> tuple[str, ...]:
        """The texts of ``outcome`` that the messages do not hold already; kept until the next user turn.

        Outside a turn (no user message yet) nothing is kept: every question is asked anew.
        """
        with self._lock:
            here = self.log.document_id
            memories = [one for one in outcome if not self._complete or one.document_id != here]
            texts = unsaid(memories, here, (message.content or "" for message in self._messages))
            if AGENTS_KEEP_THE_QUESTION or any(message.role == MessageRole.USER for message in self._messages):
                self._recalled[query] = texts
        self.show(texts)
        return texts

    def show(self, texts: Iterable[str]) -> None:
        """Note that the model reads these memories: answers that only repeat them are not stored."""
        self._shown.add(self.log.document_id, texts)

    def _genuine(self, turns: Sequence[Turn]) -> list[Turn]:
        shown = self._shown.of(self.log.document_id)
        return [clean for turn in turns if (clean := clean_turn(turn, recalled=shown)) is not None]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the messages."""
        return {**self.log.to_dict(), "complete": self._complete, "waiting": self.outbox.to_list()}

    def copy(self) -> Self:
        """An independent session that goes on in the same document. What waits is left to this one."""
        return type(self)(
            ConversationLog.from_dict(self.log.to_dict()),
            limit=self._limit,
            template=self._template,
            messages=[message.model_copy(deep=True) for message in self.messages],
            complete=self._complete,
        )


def _overlap(old: Sequence[Turn], new: Sequence[Turn]) -> tuple[int, int]:
    """The longest run of turns that ends ``old`` and stands in ``new``: its length, and where it ends in ``new``."""
    past, present = [turn.fingerprint for turn in old], [turn.fingerprint for turn in new]
    best = (0, 0)
    for end in range(1, len(present) + 1):
        length = 0
        while length < min(end, len(past)) and present[end - 1 - length] == past[-1 - length]:
            length += 1
        if length and length >= best[0]:
            best = (length, end)
    return best


def _contains(whole: Sequence[Turn], part: Sequence[Turn]) -> bool:
    past, sought = [turn.fingerprint for turn in whole], [turn.fingerprint for turn in part]
    return any(past[at : at + len(sought)] == sought for at in range(len(past) - len(sought) + 1))
