"""Which memories a model was shown in a conversation, so that its repeating one is not taken for news."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable

__all__ = ["ShownMemories"]

#: Texts kept for one conversation: those of the last few turns.
_TEXTS = 64


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
        self._limit = limit
        self._texts: OrderedDict[Hashable, dict[str, None]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, key: Hashable, texts: Iterable[str]) -> None:
        """Note that the model of conversation ``key`` reads ``texts``."""
        new = dict.fromkeys(texts)
        if not new:
            return
        with self._lock:
            held = [one for one in self._texts.get(key, ()) if one not in new]
            self._texts[key] = dict.fromkeys([*held, *new][-_TEXTS:])
            self._texts.move_to_end(key)
            while len(self._texts) > self._limit:
                self._texts.popitem(last=False)

    def of(self, key: Hashable) -> tuple[str, ...]:
        """What the model of conversation ``key`` has read, the newest last."""
        with self._lock:
            return tuple(self._texts.get(key, ()))

    def __deepcopy__(self, memo: dict[int, object]) -> ShownMemories:
        return ShownMemories(self._limit)

    def __reduce__(self) -> tuple[object, ...]:
        return ShownMemories, (self._limit,)
