"""What a model reads twice: memories that it was shown and repeats, and memories of what is being said anyway."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from .outcomes import RecalledMemory
from .recent import RecentMap

__all__ = ["ShownMemories", "unsaid"]

#: Texts kept for one conversation: those of the last few turns.
_TEXTS = 64
#: ``user:`` or ``Ada (2 March 2026):`` in front of a memory's words.
_SPEAKER = re.compile(r"^\W*[\w .'-]{1,40}?(?:\s*\([^)]*\))?\s*:\s*")


class ShownMemories:
    """The newest memories shown, by conversation. Safe to share between threads; copies and pickles start empty.

    What :meth:`of` gives is for the ``recalled`` argument of ``MemoryOperations.store_turns``.

    Args:
        limit: conversations kept; those not used for longest are forgotten.

    Example:
        >>> shown = ShownMemories()
        >>> shown.add(("ada", "monday"), ["Ada prefers dark mode."])
        >>> shown.of(("ada", "monday"))
        ('Ada prefers dark mode.',)
    """

    def __init__(self, limit: int = 1024) -> None:
        self._texts: RecentMap[Hashable, tuple[str, ...]] = RecentMap(limit)

    def add(self, key: Hashable, texts: Iterable[str]) -> None:
        """Note that the model of conversation ``key`` reads ``texts``."""
        new = dict.fromkeys(texts)
        if new:
            self._texts.change(key, lambda held: (*(one for one in held or () if one not in new), *new)[-_TEXTS:])

    def of(self, key: Hashable) -> tuple[str, ...]:
        """What the model of conversation ``key`` has read, the newest last."""
        return self._texts.get(key) or ()

    def __reduce__(self) -> tuple[object, ...]:
        return ShownMemories, (self._texts.limit,)


def unsaid(memories: Iterable[RecalledMemory], document_id: str | None, said: Iterable[str]) -> tuple[str, ...]:
    """The texts of ``memories`` that the conversation at hand does not hold already, so that nothing is read twice.

    Args:
        memories: what was recalled; blank ones are left out.
        document_id: where the conversation itself is stored; memories of other documents are always kept.
        said: the conversation's texts. One that holds a memory's words, with or without their speaker, says it; case
            and white space do not count.
    """
    spoken = "\n".join(map(_plain, said))  # no plain text holds a line break: what is found lies within one of them

    def is_said(memory: RecalledMemory) -> bool:
        if memory.document_id != document_id:
            return False
        whole, words = _plain(memory.text), _plain(_SPEAKER.sub("", memory.text, count=1))
        return bool(spoken) and (whole in spoken or words in spoken)

    return tuple(memory.text for memory in memories if memory.text.strip() and not is_said(memory))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
