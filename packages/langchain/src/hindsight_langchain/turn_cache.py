"""What was recalled for the user turn that is being answered: searched for once, however often the model is called."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

__all__ = ["TurnCache", "TurnKey"]


@dataclass(frozen=True, kw_only=True)
class TurnKey:
    """One user turn: whose, of which conversation, which message, and its words."""

    bank_id: str
    thread_id: str | None
    message_id: str
    query: str


class TurnCache:
    """A small thread-safe map of turns; the least recently used are forgotten beyond ``limit``."""

    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._held: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: TurnKey | None) -> str | None:
        """What was kept for ``key``; ``None`` for nothing, or without a key."""
        with self._lock:
            return self._held.get(key) if key is not None else None

    def put(self, key: TurnKey | None, block: str) -> None:
        """Keep ``block``, which may be empty. Without a key nothing is kept."""
        if key is None:
            return
        with self._lock:
            self._held[key] = block
            self._held.move_to_end(key)
            while len(self._held) > self._limit:
                self._held.popitem(last=False)

    def forget(self, key: TurnKey | None) -> None:
        """The turn is over, or begins anew."""
        with self._lock:
            self._held.pop(key, None)

    def __deepcopy__(self, memo: dict[int, Any]) -> TurnCache:
        return TurnCache(self._limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return TurnCache, (self._limit,)
