"""Giving memory back that glibc keeps after a peak, and having it keep less.

A long document takes a hundred megabytes while it is stored. They are free afterwards, but lie between blocks that are
in use, so that the C library keeps them; requests of other sizes then take new ones. `malloc_trim` gives back whole
pages wherever they lie. And each thread has an arena of its own, up to eight for each core, with free blocks that no
other thread can use: with ten threads at work a third of the memory was such blocks.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path

_STATM = Path("/proc/self/statm")
_SECONDS = 10.0
_GROWTH = 4 << 20  # bytes since the last time; giving back costs some milliseconds of a thread
_ARENAS = 2  # Python's lock lets one thread allocate at a time, but for numpy and SQLite
_ARENA_MAX = -8  # of mallopt, see malloc.h
_SET_BY_USER = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")


def share_arenas(environment: Mapping[str, str]) -> None:
    """Have all threads that begin from now on share two arenas, unless the environment says how many.

    Does nothing without glibc.
    """
    if _malloc_trim() is None or any(name in environment for name in _SET_BY_USER):
        return
    ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


async def keep_trimmed(*, seconds: float = _SECONDS) -> None:
    """Look every few seconds whether memory has grown, and give back what is free; ends at once without glibc."""
    trim = _malloc_trim()
    if trim is None:
        return
    page = os.sysconf("SC_PAGE_SIZE")
    held = _resident(page)
    while True:
        await asyncio.sleep(seconds)
        if _resident(page) - held > _GROWTH:
            await asyncio.to_thread(trim, 0)
            held = _resident(page)


def _resident(page: int) -> int:
    return int(_STATM.read_text().split()[1]) * page


def _malloc_trim() -> Callable[[int], int] | None:
    if not _STATM.exists():
        return None
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library, or none that is asked this way
        return None
    return trim
