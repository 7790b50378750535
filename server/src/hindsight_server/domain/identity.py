"""Which turns belong together, and which facts are one: the rules of `docs/explanation/identity.md`."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TypeGuard

from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import Interval

SESSION_GAP = timedelta(minutes=30)
"""Turns of one context that lie further apart belong to different sessions."""

ADAPTER_CONTEXTS = frozenset({"haystack", "llamaindex", "langchain", "langgraph"})
"""Contexts that the adapters set by themselves; they tell no session from another."""

_DOCUMENT_NAMESPACE = uuid.UUID("6f0c2a5e-1f0b-5d38-9a55-3c1d6f1d2b47")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlace:
    """Where a turn stands.

    Args:
        document_id, turn_index: its document, and its position there, from 0.
        context: the item's context.
        timestamp: when it was said, aware; None without any time.
        tags, metadata: the item's.
    """

    document_id: str
    turn_index: int
    context: str | None = None
    timestamp: datetime | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def made_document_id(*, bank_id: str, operation_id: str | None, item_index: int) -> str:
    """An id for the document of an item that names none: the same for a replayed operation, fresh without one."""
    if operation_id is None:
        return new_id()
    return str(uuid.uuid5(_DOCUMENT_NAMESPACE, f"{bank_id}\0{operation_id}\0{item_index}"))


def previous_turns(places: Sequence[TurnPlace]) -> list[int | None]:
    """For each turn the position, in `places`, of the turn before it, or None.

    Only the turns given count, in any order: leave out those that made no fact. No turn is before two others.
    """
    previous: list[int | None] = [None] * len(places)
    order = sorted(range(len(places)), key=lambda at: (places[at].document_id, places[at].turn_index))
    for before, at in pairwise(order):
        if places[before].document_id == places[at].document_id:
            previous[at] = before
    followed = set(previous)
    for before, at in _pairs_of_context(places):
        said_before, said = places[before].timestamp, places[at].timestamp
        # Of turns said at the same time none is known to be the first.
        if previous[at] is None and before not in followed and said_before != said and within_gap(said_before, said):
            previous[at] = before
    return previous


def _pairs_of_context(places: Sequence[TurnPlace]) -> Iterator[tuple[int, int]]:
    """Each turn with the one said before it in the same context."""
    last: dict[str, int] = {}
    for at in _by_time(places):
        context = places[at].context
        if places[at].timestamp is not None and context and context.strip():
            if context in last:
                yield last[context], at
            last[context] = at


def session_key(place: TurnPlace, *, turn_count: int) -> str | None:
    """The session a turn belongs to, or None.

    A key that begins with ``context:`` still has to be split at gaps of more than `SESSION_GAP`; `sessions` does it.

    Args:
        place: the turn.
        turn_count: how many turns its document has.
    """
    for prefix in ("session:", "task:"):
        for tag in place.tags:
            if tag.startswith(prefix) and len(tag) > len(prefix):
                return f"tag:{tag}"
    if session_id := place.metadata.get("session_id") or place.metadata.get("task_id"):
        return f"metadata:{session_id}"
    if turn_count > 1:
        return f"document:{place.document_id}"
    if place.timestamp and _tells_apart(place.context):
        return f"context:{place.context}"
    return None


def sessions(places: Sequence[TurnPlace]) -> list[str | None]:
    """The session of each turn; a context is split wherever its turns pause for more than `SESSION_GAP`."""
    turn_counts = Counter(place.document_id for place in places)
    keys = [session_key(place, turn_count=turn_counts[place.document_id]) for place in places]
    last_said: dict[str, datetime] = {}
    started: dict[str, datetime] = {}
    for at in _by_time(places):
        key, said = keys[at], places[at].timestamp
        if key is None or said is None or not key.startswith("context:"):
            continue
        if not within_gap(last_said.get(key), said):
            started[key] = said
        last_said[key] = said
        keys[at] = f"{key}@{started[key].isoformat()}"
    return keys


def within_gap(earlier: datetime | None, later: datetime | None) -> bool:
    """Whether two times of a context are close enough to be one conversation."""
    return earlier is not None and later is not None and timedelta(0) <= later - earlier <= SESSION_GAP


def _tells_apart(context: str | None) -> TypeGuard[str]:
    """Whether a context says which conversation a turn belongs to."""
    return context is not None and context.strip().casefold() not in (*ADAPTER_CONTEXTS, "")


def _by_time(places: Sequence[TurnPlace]) -> list[int]:
    """Positions in the order in which the turns were said; those without time first, otherwise as given."""

    def said(at: int) -> tuple[bool, float]:
        timestamp = places[at].timestamp
        return (timestamp is not None, timestamp.timestamp() if timestamp else 0.0)

    return sorted(range(len(places)), key=said)


_OPENING = re.compile(r"(?:(?:well|so|oh|ah|hey|um|uh|hmm|anyway|actually|yeah|嗯|哦|啊|那个|对了)\s*[,，.!！…]+\s*)+")
# Numbers with their signs; words, with those at the end of C++ and C#; comparisons; signs that say yes or no.
_SIGNIFICANT = re.compile(
    r"[-+]?[$€£¥]?\d[\w.,:/%°$€£¥-]*|[^\W\d_]+(?:['._/@:\-+#]*\w+)*(?:[+#]+(?!\w))?|[<>=≠≤≥]+|[👍👎✓✔✅✗✘❌💔]"
)
# Begins with the capital, so that the search leaps from one to the next.
_CAPITALISED = re.compile(r"[A-Z](?:(?<=[^\W_]\s.)|(?<=[^\W_][,;]\s.))\w*")


def _without_opening(text: str) -> str:
    opening = _OPENING.match(text)
    return text[opening.end() :] if opening else text


def fold_number(
    text: str, *, speaker: str | None, occurred: Interval | None, fact_type: str = "", said: datetime | None = None
) -> int:
    """Facts with equal numbers are one memory: signed, of 64 bits, never 0.

    Args:
        text: the words, which may begin with their speaker.
        speaker: who said them.
        occurred: the time that the fact speaks of, so that two "yesterday" of different days stay apart.
        fact_type: what the agent says is another memory than what others say.
        said: when it was said, for words that speak of a time which nobody could tell.
    """
    if speaker and text.startswith(speaker) and text[len(speaker) :].lstrip()[:1] in (":", "："):
        text = text[len(speaker) :].lstrip()[1:]
    parts = [*_fold_parts(text, speaker, occurred), fact_type, said.date().isoformat() if said else ""]
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) or 1


_USUAL_WORD = 24  # characters; longer stretches would fill the memory


def _significant(stretch: str) -> tuple[str, ...]:
    return tuple(word.rstrip(".,:/-") for word in _SIGNIFICANT.findall(stretch))


_remembered = lru_cache(maxsize=4096)(_significant)


def _fold_parts(text: str, speaker: str | None, occurred: Interval | None) -> list[str]:
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")).strip()
    # No word reaches over white space, so that what a stretch without it holds can be remembered.
    stretches = _without_opening(plain.casefold()).split()
    words: list[str] = []
    for stretch in stretches:
        words += _remembered(stretch) if len(stretch) <= _USUAL_WORD else _significant(stretch)
    names = [name for name in _CAPITALISED.findall(plain) if name != "I"]
    return [
        (speaker or "").strip().casefold(),
        " ".join(words),
        " ".join(names),
        "?" if plain.endswith("?") else "",
        f"{occurred.start.isoformat()}/{occurred.end.isoformat()}" if occurred else "",
    ]
