"""How glibc keeps memory that is free: how much between two requests, and until when.

A long document takes a hundred megabytes while it is stored. They are free afterwards, but lie between blocks that are
in use, so that the C library keeps them; requests of other sizes then take new ones. `malloc_trim` gives back whole
pages wherever they lie. And each thread has an arena of its own, up to eight for each core, with free blocks that no
other thread can use: with ten threads at work a third of the memory was such blocks.

The other way round, a recall makes arrays of a number for each fact and frees them at once. By default they are given
back to the system each time and come back page by page: in a bank of a million facts 4,800 page faults a recall, a
fifth of its time. What is kept for the next request, until memory is trimmed, is therefore a share of what the process
holds: a server of small banks that meets a long document gives its blocks back at once.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path

_SECONDS = 2.0
_MUCH = 4 << 20  # bytes; giving back costs some milliseconds of a thread
_ARENAS = 2  # Python's lock lets one thread allocate at a time, but for numpy and SQLite
# A bank of a million facts takes some 800 bytes each, and its widest arrays 8.
_BLOCK_SHARE = 64
_BLOCKS_KEPT = 8
_LEAST_BLOCK = 1 << 20  # bytes
_MOST_BLOCK = 32 << 20  # half of what an arena grows by; glibc takes no more
_ALL_OPTIONS = "GLIBC_TUNABLES"


def tune_allocator(environment: Mapping[str, str]) -> None:
    """Have threads that begin from now on share two arenas, and keep freed blocks for the next request.

    Blocks up to a 64th of what the process holds are kept, 1 to 32 MB, and eight times as much at the end of an arena.
    What the environment sets stays as it is. Does nothing without glibc.
    """
    if _malloc_trim() is None or _ALL_OPTIONS in environment:
        return
    block = min(max(_held() // _BLOCK_SHARE, _LEAST_BLOCK), _MOST_BLOCK)
    options = {  # of mallopt, see malloc.h, by the variable of the environment that says the same
        "MALLOC_TRIM_THRESHOLD_": (-1, _BLOCKS_KEPT * block),
        "MALLOC_MMAP_THRESHOLD_": (-3, block),
        "MALLOC_ARENA_MAX": (-8, _ARENAS),
    }
    for variable, (option, value) in options.items():
        if variable not in environment:
            ctypes.CDLL(None).mallopt(option, value)


async def keep_trimmed(environment: Mapping[str, str], *, seconds: float = _SECONDS) -> None:
    """Every few seconds in which memory was taken, and once after them, give back what is free; ends without glibc.

    Each time the allocator is tuned to what the process holds then.
    """
    trim = _malloc_trim()
    if trim is None:
        return
    taken, is_in_use = _taken(), False
    while True:
        await asyncio.sleep(seconds)
        was_in_use, is_in_use = is_in_use, _taken() - taken > _MUCH
        if is_in_use or was_in_use:
            await asyncio.to_thread(trim, 0)
            tune_allocator(environment)
            taken = _taken()


def _held() -> int:
    """Bytes of this process that lie in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _taken() -> int:
    """Bytes that this process has taken from the system since it began, whatever of it was given back."""
    import resource  # which Windows has not, nor glibc

    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt * os.sysconf("SC_PAGE_SIZE")


def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library, or none that is asked this way
        return None
    return trim
