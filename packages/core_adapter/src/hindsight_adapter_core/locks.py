"""Locks that a forked child finds open.

A lock that another thread holds at the moment of a fork stays locked in the child for ever, for the child has no such
thread. What the lock guards is Python data that the child has a copy of, changed in steps each of which is whole.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

__all__ = ["open_in_child", "open_locks"]

if TYPE_CHECKING:
    _locks: weakref.WeakSet[threading.Lock]

_locks = weakref.WeakSet()


def open_in_child() -> threading.Lock:
    """A lock that is open in a forked child, whoever held it in the parent."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def open_locks() -> None:
    """Called in a forked child before it has threads of its own; the bridge sees to it."""
    for lock in list(_locks):
        # What the standard library's own locks do; it has no public name.
        lock._at_fork_reinit()  # type: ignore[attr-defined]
