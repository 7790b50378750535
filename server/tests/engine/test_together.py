"""Work side by side: one failure ends the rest."""

from __future__ import annotations

import asyncio

import pytest

from hindsight_server.domain.errors import ModelRefused
from hindsight_server.engine.together import together


async def test_the_first_failure_ends_the_rest_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def asks(name: str) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(name)
            raise
        return name

    async def fails() -> str:
        await asyncio.sleep(0)
        raise ModelRefused("the key is refused")

    async def several() -> str:
        return " ".join(await together([asks("inner"), fails()]))

    with pytest.raises(ModelRefused, match="the key is refused"):
        await together([asks("outer"), several()])
    assert sorted(ended) == ["inner", "outer"]


async def test_results_keep_their_order() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await together(after(turns) for turns in (3, 1, 2)) == [3, 1, 2]
    assert await together([]) == []
