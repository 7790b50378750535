"""Memory that is free is given back."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys

import pytest

from hindsight_server.cli import trimming


async def test_memory_is_trimmed_when_some_was_taken_and_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in use when it was trimmed is free by the next time."""
    megabytes = iter([0, 1, 2, 40, 40, 41, 41])
    trimmed_at: list[int] = []
    asked: list[int] = []
    enough, loop = asyncio.Event(), asyncio.get_running_loop()

    def taken() -> int:
        asked.append(next(megabytes, 41))
        if len(asked) == 12:
            loop.call_soon_threadsafe(enough.set)
        return asked[-1] << 20

    monkeypatch.setattr(trimming, "_taken", taken)
    monkeypatch.setattr(trimming, "_malloc_trim", lambda: lambda pad: trimmed_at.append(len(asked)) or 1)
    task = asyncio.create_task(trimming.keep_trimmed({}, seconds=0))
    await asyncio.wait_for(enough.wait(), 10)
    assert trimmed_at == [4, 6], "when 38 MB had been taken, and the time after; not for the first two, nor later"
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_without_glibc_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimming, "_malloc_trim", lambda: None)
    await asyncio.wait_for(trimming.keep_trimmed({}), 10)


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
import os, resource, sys, threading
from hindsight_server.cli import trimming

held = b"x" * (int(sys.argv[1]) << 20)
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
@pytest.mark.parametrize(
    ("variables", "held", "is_kept"),
    [({}, 600, True), ({}, 10, False), ({"MALLOC_MMAP_THRESHOLD_": "131072"}, 600, False)],
)
def test_a_freed_block_is_kept_for_the_next_request_by_a_process_that_holds_much(
    variables: dict[str, str], held: int, is_kept: bool
) -> None:
    command = [sys.executable, "-c", _FAULTS_OF_A_THREAD, str(held)]
    faults = subprocess.run(command, env=variables, capture_output=True, check=True, text=True).stdout
    assert (int(faults) < 1000) is is_kept
