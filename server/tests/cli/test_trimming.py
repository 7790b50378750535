"""Memory that is free is given back."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys

import pytest

from hindsight_server.cli import trimming


async def test_memory_is_trimmed_when_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([0, 1 << 20, 2 << 20, 40 << 20])
    trimmed, loop = asyncio.Event(), asyncio.get_running_loop()
    monkeypatch.setattr(trimming, "_resident", lambda page: next(sizes, 3 << 20))
    monkeypatch.setattr(trimming, "_malloc_trim", lambda: lambda pad: loop.call_soon_threadsafe(trimmed.set) and 1)
    task = asyncio.create_task(trimming.keep_trimmed(seconds=0))
    await asyncio.wait_for(trimmed.wait(), 10)
    assert list(sizes) == [], "not before it had grown"
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_without_glibc_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimming, "_malloc_trim", lambda: None)
    await asyncio.wait_for(trimming.keep_trimmed(), 10)


# Threads that hold memory at the same time, each of an arena of its own as long as there may be more.
_ARENAS_OF_THREADS = """
import ctypes, os, threading
from hindsight_server.cli import trimming

trimming.tune_allocator(os.environ)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
held, together = [], threading.Barrier(8)

def hold():
    together.wait()
    held.append(libc.malloc(1000) >> 26)
    together.wait()

threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(set(held)))
"""


@pytest.mark.skipif(trimming._malloc_trim() is None, reason="only glibc has arenas")
@pytest.mark.parametrize(("variables", "is_few"), [({}, True), ({"MALLOC_ARENA_MAX": "8"}, False)])
def test_threads_tune_allocator_unless_the_user_says_otherwise(variables: dict[str, str], is_few: bool) -> None:
    command = [sys.executable, "-c", _ARENAS_OF_THREADS]
    counted = subprocess.run(command, env=variables, capture_output=True, check=True, text=True).stdout
    assert (int(counted) <= 2) is is_few


# A thread that takes and frees eight megabytes again and again, as recalls in a big bank do.
_FAULTS_OF_A_THREAD = """
import os, resource, threading
from hindsight_server.cli import trimming

trimming.tune_allocator(os.environ)

def faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

def take_and_free():
    block = b"x" * (8 << 20)
    del block
    before = faults()
    for _ in range(10):
        block = b"x" * (8 << 20)
        del block
    print(faults() - before)

thread = threading.Thread(target=take_and_free)
thread.start()
thread.join()
"""


@pytest.mark.skipif(trimming._malloc_trim() is None, reason="other libraries keep blocks by rules of their own")
@pytest.mark.parametrize(("variables", "is_kept"), [({}, True), ({"MALLOC_MMAP_THRESHOLD_": "131072"}, False)])
def test_a_freed_block_is_kept_for_the_next_request(variables: dict[str, str], is_kept: bool) -> None:
    command = [sys.executable, "-c", _FAULTS_OF_A_THREAD]
    faults = subprocess.run(command, env=variables, capture_output=True, check=True, text=True).stdout
    assert (int(faults) < 1000) is is_kept
