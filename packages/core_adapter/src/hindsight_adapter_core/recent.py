"""A map that forgets what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from .locks import open_in_child

__all__ = ["RecentMap"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentMap(Generic[K, V]):
    """At most ``limit`` entries; reading one counts as use. Safe to share between threads, and in a
    forked child.

    Copies and pickles start empty: what is held here belongs to this process and can be had again.

    Args:
        limit: entries kept; those not used for longest are forgotten.

    Example:
        >>> colours = RecentMap(limit=2)
        >>> colours.put("ann", "red")
        >>> colours.put("bob", "blue")
        >>> colours.get("ann")
        'red'
        >>> colours.put("eve", "green")
        >>> colours.values()
        ['red', 'green']
    """

    def __init__(self, limit: int = 1024) -> None:
        self.limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()
        self._lock = open_in_child()

    def get(self, key: K) -> V | None:
        """The entry, or ``None``."""
        with self._lock:
            return self._used(key, self._held[key]) if key in self._held else None

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The entry; made by ``make`` when there is none, once for all that ask at the same time.

        Others wait while ``make`` runs; it must not use this map.
        """
        with self._lock:
            return self._used(key, self._held[key] if key in self._held else make())

    def put(self, key: K, value: V) -> None:
        """Set the entry."""
        with self._lock:
            self._used(key, value)

    def change(self, key: K, changed: Callable[[V | None], V]) -> V:
        """Set the entry to what ``changed`` makes of it, or of ``None``; nobody else can set it in between.

        Others wait while ``changed`` runs; it must not use this map.
        """
        with self._lock:
            return self._used(key, changed(self._held.get(key)))

    def forget(self, key: K) -> None:
        """Drop the entry, if there is one."""
        with self._lock:
            self._held.pop(key, None)

    def values(self) -> list[V]:
        """All entries as they are now, the one used last at the end. None of them counts as used."""
        with self._lock:
            return list(self._held.values())

    def _used(self, key: K, value: V) -> V:
        self._held[key] = value
        self._held.move_to_end(key)
        while len(self._held) > self.limit:
            self._held.popitem(last=False)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return RecentMap, (self.limit,)
