"""Which messages become memories, and in what shape.

Stored are genuine turns only: what a user wrote and what the assistant answered in the end. Not stored are system
and tool messages, recalled memories that came back inside a prompt, reasoning traces, heartbeats, and whatever was
stored before. A conversation is one document; each turn is appended to it as one JSON element
``{"role", "name"?, "content", "timestamp"}``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from .recent import RecentMap
from .rendering import FENCE_CLOSE, FENCE_OPEN, MEMORIES_PLACEHOLDER

__all__ = [
    "ConversationLog",
    "ConversationLogs",
    "Turn",
    "clean_turn",
    "new_document_id",
    "new_session_id",
    "now_iso",
    "operation_id_for",
    "stated_time",
    "strip_injected",
    "strip_quoted",
    "turn_content",
]

STORED_ROLES = frozenset({"user", "assistant"})

_OPERATION_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "hindsight-adapter-core/operation")
_FENCED = re.compile(
    f"{re.escape(FENCE_OPEN)}.*?(?:{re.escape(FENCE_CLOSE)}|\\Z)|<MEMORY_SNAPSHOT>.*?(?:</MEMORY_SNAPSHOT>|\\Z)",
    re.DOTALL,
)
_REASONING = re.compile(r"<(think|thinking|reasoning|system-reminder)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TRACE_LINE = re.compile(r"^[ \t]*(?:Thought|Action|Action Input|Observation)[ \t]*:", re.MULTILINE)
_ANSWER_LINE = re.compile(r"^[ \t]*(?:Final[ \t]+)?Answer[ \t]*:", re.MULTILINE)
#: Where a block without words of its own in front or behind begins and ends, as ``memory_lines`` writes it: further
#: lines of a memory are indented.
_FIRST_MEMORY, _BLOCK_END = r"^(?:- |1\. )", r"(?=\n[^\S\n]*\n(?!  )|\Z)"
#: Pieces of an answer that may be a quotation: lines and sentences, with what ends them.
_PIECE = re.compile(r"(?<=\n)|(?<=[!?。！？])(?=[^\S\n]*\S)|(?<=[^\d\s][.])(?=[^\S\n]+\S)")
_MARKER = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_SPEAKER = re.compile(r"^[\w .-]{1,40}[:：]\s")
_WORDLESS = re.compile(r"[\W_]+")
_SHORT = 6  # characters; for scripts that put no space between words
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_HEARTBEAT = re.compile(r"^\W*(?:heart[ _-]?beat(?:[ _-]?ok)?|keep[ _-]?alive|ping|no[_-]reply)\W*$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One utterance of a conversation.

    Attributes:
        role: ``"user"``, ``"assistant"``, or another role, which is never stored.
        text: what was said.
        name: who said it, when the framework knows.
        timestamp: ISO 8601 with offset; when it was said. ``None``: now, at the time of storing.
        message_id: the framework's id of the message, kept with the turn so that another process knows it again.
    """

    role: str
    text: str
    name: str | None = None
    timestamp: str | None = None
    message_id: str | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for equal utterances; holds no text."""
        return hashlib.sha256(f"{self.role}\x00{self.name or ''}\x00{self.text.strip()}".encode()).hexdigest()


def now_iso() -> str:
    """The local time with its offset, to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def stated_time(value: object) -> str | None:
    """The time that a message states of itself, as a :class:`Turn` takes it.

    Args:
        value: ISO text, or a ``datetime`` (without an offset it is taken as local time); anything else is no time.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.astimezone()).isoformat()
    return value if isinstance(value, str) and value.strip() else None


def new_session_id() -> str:
    """Eight hex digits."""
    return uuid.uuid4().hex[:8]


def new_document_id(session_id: str) -> str:
    """``<session>-<12 hex digits>``, new at every call: make it before the first try and keep it for retries."""
    return f"{session_id}-{uuid.uuid4().hex[:12]}"


def operation_id_for(bank_id: str, document_id: str, index: int | str, text: str) -> str:
    """The id that makes a repeated write a no-op: UUIDv5 of (bank, document, turn index, text)."""
    return str(uuid.uuid5(_OPERATION_NAMESPACE, "\x00".join((bank_id, document_id, str(index), text))))


def strip_injected(text: str, templates: Iterable[str] = ()) -> str:
    """``text`` without fenced memory blocks and without blocks filled from one of the ``templates``."""
    text = _FENCED.sub("", text)
    for template in templates:
        filled = _filled(template)
        if filled is not None:
            text = filled.sub("", text)
    return text.strip()


@lru_cache(maxsize=64)
def _filled(template: str) -> re.Pattern[str] | None:
    """What a block filled from the template looks like; ``None`` for a template that ordinary text would match."""
    before, _, after = template.partition(MEMORIES_PLACEHOLDER)
    if len(before.strip()) + len(after.strip()) < 16:  # little more than the placeholder
        return None
    head = re.escape(before.strip()) if before.strip() else _FIRST_MEMORY
    tail = re.escape(after.strip()) if after.strip() else _BLOCK_END
    return re.compile(head + r".*?" + tail, re.DOTALL | re.MULTILINE)


def strip_quoted(text: str, memories: Iterable[str]) -> str:
    """``text`` without the lines and sentences that only repeat one of the ``memories`` word by word.

    Case, white space, list marks and a leading speaker do not count. Memories of one or two words are no quotation.
    """
    known = {plain for memory in memories if len((plain := _plain(memory)).split()) > 2 or len(plain) > _SHORT}
    if not known or _plain(text) in known:
        return "" if known else text
    pieces = _PIECE.split(text)
    kept = [piece for piece in pieces if _plain(piece) not in known]
    return text if len(kept) == len(pieces) else "".join(kept).strip()


def _plain(text: str) -> str:
    return _WORDLESS.sub(" ", _SPEAKER.sub("", _MARKER.sub("", text.strip()))).strip().casefold()


def clean_turn(turn: Turn, templates: Iterable[str] = (), *, recalled: Iterable[str] = ()) -> Turn | None:
    """The turn as it is to be stored, or ``None`` when there is nothing genuine in it.

    Args:
        turn: the utterance as the framework holds it.
        templates: the prompt templates in use, whose filled blocks are recognised.
        recalled: texts of the memories that the model was shown: where the assistant only repeats one of them, that is
            not stored again.
    """
    if turn.role not in STORED_ROLES:
        return None
    text = strip_injected(turn.text, templates)
    if turn.role == "assistant":
        text = strip_quoted(_final_answer(_REASONING.sub("", text)), recalled)
    elif _HEARTBEAT.match(text):
        return None
    else:
        text = _REMINDER.sub("", text).strip()
    return replace(turn, text=text) if text else None


def _final_answer(text: str) -> str:
    if not _TRACE_LINE.search(text):
        return text.strip()
    answers = list(_ANSWER_LINE.finditer(text))
    if not answers:
        return ""
    answer = text[answers[-1].end() :]
    following = _TRACE_LINE.search(answer)
    return answer[: following.start() if following else None].strip()


def turn_content(turn: Turn) -> str:
    """The turn as retained: a JSON array of one element that carries role, name, words, time and message id."""
    element: dict[str, str] = {"role": turn.role}
    if turn.name:
        element["name"] = turn.name
    element["content"] = turn.text
    element["timestamp"] = turn.timestamp or now_iso()
    if turn.message_id:
        element["id"] = turn.message_id
    return json.dumps([element], ensure_ascii=False)


#: Fingerprints of stored turns that a log keeps, to find its place again in a history.
_REMEMBERED = 32


@dataclass(eq=False)
class ConversationLog:
    """What of one conversation is stored already: how many turns, and which were the last.

    It holds no text, so it may be dumped (:meth:`to_dict`).

    Attributes:
        document_id: the document that the conversation's turns are appended to.
        next_index: index of the next turn to be stored.
        recent: fingerprints of the newest turns stored (or met before the first), the oldest first.
        owed: fingerprint of the first turn that should have been stored but was not.
        owed_at: the time given to that turn when it was first offered, so that it is offered again unchanged.
    """

    document_id: str
    next_index: int = 0
    recent: tuple[str, ...] = ()
    owed: str | None = None
    owed_at: str | None = None
    _guard: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = field(default=None, init=False, repr=False)
    _process_id: int = field(default_factory=os.getpid, init=False, repr=False)

    @property
    def last(self) -> str | None:
        """Fingerprint of the newest stored turn; ``None`` before the first."""
        return self.recent[-1] if self.recent else None

    def exclusive(self) -> asyncio.Lock:
        """The lock under which one run at a time compares and stores. Call it on the loop that waits for it."""
        if self._process_id != os.getpid():
            # After a fork parent and child write on, each from the same index: equal words must not pass for one.
            self._process_id = os.getpid()
            self.next_index = _clock_index()
        loop = asyncio.get_running_loop()
        if self._guard is None or self._guard[0] is not loop:
            self._guard = (loop, asyncio.Lock())
        return self._guard[1]

    @classmethod
    def named(cls, document_id: str) -> ConversationLog:
        """A log for a document that others may have written to before.

        Its indices start at the clock (milliseconds), so that an utterance equal to an earlier one is not taken for
        a repetition of that write.
        """
        return cls(document_id=document_id, next_index=_clock_index())

    def unseen(self, turns: Sequence[Turn]) -> list[Turn]:
        """What of ``turns``, the conversation up to now, is not stored.

        New are the turns after the newest stored one. The last user turn is new in any case, even when its words
        were said before: a run is made to answer it. With nothing stored yet, or when the newest stored turn is not
        among the earlier ones (the caller passes no history), new are the last user turns in a row and what follows
        them. Turns that an earlier failure left behind come first.

        A list of three or more turns that equals the end of what is stored is the same run once more: nothing is new.
        """
        prints = [turn.fingerprint for turn in turns]
        if len(prints) > 2 and tuple(prints) == self.recent[-len(prints) :]:
            return []
        last_user = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=None)
        if last_user is None:
            place = self._place_in(prints)
            start = 0 if place is None else place + 1
        else:
            place = self._place_in(prints[:last_user])
            start = _first_in_a_row(turns, last_user) if place is None else place + 1
        if self.owed in prints:
            owed = len(prints) - 1 - prints[::-1].index(self.owed)
            # Right behind the newest stored turn: the same run again, of which the first turns are stored.
            same_run = owed > 0 and prints[owed - 1] == self.last
            start = owed if same_run else min(start, owed)
        return list(turns[start:])

    def _place_in(self, prints: Sequence[str]) -> int | None:
        """Where the newest stored turn is: the place before which most of the stored turns agree, else the latest."""
        best: tuple[int, int] | None = None
        for place, fingerprint in enumerate(prints):
            if fingerprint == self.last:
                agreeing = _common_suffix(prints[: place + 1], self.recent)
                best = max(best or (0, 0), (agreeing, place))
        return None if best is None else best[1]

    def met(self, turns: Sequence[Turn]) -> None:
        """Note turns that were there before the first stored one, so that the same run is known again."""
        if not self.recent:
            self.recent = tuple(turn.fingerprint for turn in turns)[-_REMEMBERED:]

    def resume(self, stored: Sequence[Turn]) -> None:
        """Go on after ``stored``, the turns that the document holds already: whoever wrote them."""
        prints = tuple(turn.fingerprint for turn in stored)
        if prints:
            self.recent = prints[-_REMEMBERED:]
        if self.owed in prints:
            self.owed = self.owed_at = None

    def owe(self, turns: Sequence[Turn]) -> None:
        """Note that ``turns`` are to be stored, so that they are offered again if that fails."""
        first = turns[0].fingerprint if turns else None
        if first != self.owed:
            self.owed, self.owed_at = first, None

    def advance(self, turn: Turn) -> None:
        """Note that ``turn`` is stored."""
        self.next_index += 1
        self.recent = (*self.recent, turn.fingerprint)[-_REMEMBERED:]
        self.owed = self.owed_at = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a framework's own state."""
        return {
            "document_id": self.document_id,
            "next_index": self.next_index,
            "recent": list(self.recent),
            "owed": self.owed,
            "owed_at": self.owed_at,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ConversationLog:
        """The inverse of :meth:`to_dict`."""
        return cls(
            document_id=data["document_id"],
            next_index=data["next_index"],
            recent=tuple(data.get("recent") or ()),
            owed=data.get("owed"),
            owed_at=data.get("owed_at"),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> ConversationLog:
        return self.from_dict(self.to_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return ConversationLog.from_dict, (self.to_dict(),)


def _clock_index() -> int:
    return time.time_ns() // 1_000_000


def _common_suffix(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(reversed(left), reversed(right), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _first_in_a_row(turns: Sequence[Turn], last_user: int) -> int:
    first = last_user
    while first > 0 and turns[first - 1].role == "user":
        first -= 1
    return first


class ConversationLogs:
    """The logs of many conversations, the least recently used forgotten beyond ``limit``."""

    def __init__(self, limit: int = 1024) -> None:
        self._logs: RecentMap[tuple[str, str], ConversationLog] = RecentMap(limit)

    def get(self, bank_id: str, conversation_id: str, *, fresh: bool = False) -> ConversationLog:
        """The log of a conversation in a bank.

        Args:
            bank_id: the bank.
            conversation_id: also the document id.
            fresh: True when the id was made just now, so that nobody can have written to it before.
        """
        begin: Callable[[str], ConversationLog] = ConversationLog if fresh else ConversationLog.named
        return self._logs.get_or_make((bank_id, conversation_id), lambda: begin(conversation_id))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConversationLogs, (self._logs.limit,)
