"""How glibc keeps memory that is free: how much between two requests, and until when.

A long document takes a hundred megabytes while it is stored. They are free afterwards, but lie between blocks that are
in use, so that the C library keeps them; requests of other sizes then take new ones. `malloc_trim` gives back whole
pages wherever they lie. And each thread has an arena of its own, up to eight for each core, with free blocks that no
other thread can use: with ten threads at work a third of the memory was such blocks.

The other way round, a recall makes arrays of a number for each fact and frees them at once. By default they are given
back to the system each time and come back page by page: in a bank of a million facts 4,800 page faults a recall, a
fifth of its time. Blocks up to 32 MB are therefore kept for the next request, until memory is trimmed.
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
_KEPT_BLOCK = 32 << 20  # bytes; the most that glibc takes, half of what an arena grows by
_KEPT_FREE = 128 << 20  # bytes at the end of an arena
_OPTIONS = {  # of mallopt, see malloc.h, by the variable of the environment that says the same
    "MALLOC_TRIM_THRESHOLD_": (-1, _KEPT_FREE),
    "MALLOC_MMAP_THRESHOLD_": (-3, _KEPT_BLOCK),
    "MALLOC_ARENA_MAX": (-8, _ARENAS),
}
_ALL_OPTIONS = "GLIBC_TUNABLES"


def tune_allocator(environment: Mapping[str, str]) -> None:
    """Have threads that begin from now on share two arenas, and keep freed blocks for the next request.

    What the environment sets stays as it is. Does nothing without glibc.
    """
    if _malloc_trim() is None or _ALL_OPTIONS in environment:
        return
    for variable, (option, value) in _OPTIONS.items():
        if variable not in environment:
            ctypes.CDLL(None).mallopt(option, value)


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
