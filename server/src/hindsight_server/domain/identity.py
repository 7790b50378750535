"""Which session a caller named, and which facts are one: rules of `docs/explanation/identity.md`.

The turn before a turn, and sessions that nobody named, are found by `engine.recall.neighbours`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import Interval

SESSION_GAP = timedelta(minutes=30)
"""Turns of one context that lie further apart belong to different sessions."""

ADAPTER_CONTEXTS = frozenset({"haystack", "llamaindex", "langchain", "langgraph"})
"""Contexts that the adapters set by themselves; they tell no session from another."""

_DOCUMENT_NAMESPACE = uuid.UUID("6f0c2a5e-1f0b-5d38-9a55-3c1d6f1d2b47")


def made_document_id(*, bank_id: str, operation_id: str | None, item_index: int) -> str:
    """An id for the document of an item that names none: the same for a replayed operation, fresh without one."""
    if operation_id is None:
        return new_id()
    return str(uuid.uuid5(_DOCUMENT_NAMESPACE, f"{bank_id}\0{operation_id}\0{item_index}"))


def named_session(tags: Sequence[str], metadata: Mapping[str, str]) -> str | None:
    """The session that the caller named, by a tag before the metadata; None for none.

    Example:
        >>> named_session(["session:7"], {"session_id": "9"})
        'tag:session:7'
    """
    for prefix in ("session:", "task:"):
        for tag in tags:
            if tag.startswith(prefix) and len(tag) > len(prefix):
                return f"tag:{tag}"
    if session_id := metadata.get("session_id") or metadata.get("task_id"):
        return f"metadata:{session_id}"
    return None


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
