"""What ends with forgotten words."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_server.engine.transfer.withdrawal import forgetting


async def test_what_began_during_a_write_ends_although_the_caller_went_away() -> None:
    told: list[str] = []
    begun = asyncio.Event()

    async def forget(bank_id: str) -> None:
        told.append(bank_id)

    async def delete() -> None:
        async with forgetting(forget, "b"):
            begun.set()
            await asyncio.sleep(60)

    deleting = asyncio.create_task(delete())
    await begun.wait()
    deleting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deleting
    assert told == ["b", "b"]


async def test_a_write_that_fails_forgets_nothing() -> None:
    told: list[str] = []

    async def forget(bank_id: str) -> None:
        told.append(bank_id)

    with pytest.raises(OSError, match="full"):
        async with forgetting(forget, "b"):
            raise OSError("full")
    assert told == ["b"]
