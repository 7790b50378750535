"""A small thread-safe map that forgets what was not used for longest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["RecentMap"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentMap(Generic[K, V]):
    """At most ``limit`` entries. Copies and pickles start empty."""

    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The entry, or ``None``."""
        with self._lock:
            if key in self._held:
                self._trim(key)
            return self._held.get(key)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The entry; made by ``make`` when there is none, for all that ask at once."""
        with self._lock:
            if key not in self._held:
                self._held[key] = make()
            self._trim(key)
            return self._held[key]

    def put(self, key: K, value: V) -> None:
        """Set the entry."""
        with self._lock:
            self._held[key] = value
            self._trim(key)

    def forget(self, key: K) -> None:
        """Drop the entry, if there is one."""
        with self._lock:
            self._held.pop(key, None)

    def _trim(self, used: K) -> None:
        self._held.move_to_end(used)
        while len(self._held) > self._limit:
            self._held.popitem(last=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> RecentMap[K, V]:
        return RecentMap(self._limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecentMap, (self._limit,)
