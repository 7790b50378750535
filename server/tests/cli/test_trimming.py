"""Memory that is free is given back."""

from __future__ import annotations

import asyncio
import contextlib

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
