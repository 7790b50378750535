"""Banks do not wait for one another."""

from __future__ import annotations

import asyncio
import gc

from hindsight_server.engine.in_turn import InTurn


async def test_one_at_a_time_in_a_bank_and_side_by_side_in_several() -> None:
    changing, done = InTurn(), list[str]()

    async def change(bank_id: str, name: str) -> None:
        async with changing.of(bank_id):
            done.append(name)

    async with changing.of("ann"):
        waiting = asyncio.create_task(change("ann", "waits"))
        await asyncio.wait_for(change("bob", "goes on"), 5)
        await asyncio.sleep(0)
        assert done == ["goes on"]
    await asyncio.wait_for(waiting, 5)
    assert done == ["goes on", "waits"]
    del waiting
    gc.collect()
    assert not list(changing._locks), "nothing is kept of banks that nobody changes"
