"""The searches of one turn run side by side: they meet, they fail together, they end with the reflect that asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_server.domain.errors import ReflectFailed
from hindsight_server.engine.recall.types import RecallOutcome, RecallQuery

from .conftest import Desk, calls, done

TWO = calls(("recall", {"query": "dog"}), ("recall", {"query": "Oslo"}))
pytestmark = pytest.mark.feature("F2")


class Waiting:
    """Recalls that begin and wait; which ones were ended instead of answered is kept.

    Args:
        recaller: answers once they may go on.
        fails: the query whose recall fails as soon as the other has begun.
    """

    def __init__(self, recaller: Any, fails: str | None = None) -> None:
        self._recaller = recaller
        self._fails = fails
        self.may_go_on = asyncio.Event()
        self.began: asyncio.Queue[str] = asyncio.Queue()
        self.ended: list[str] = []

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome:
        self.began.put_nowait(query.query)
        if query.query == self._fails:
            await asyncio.sleep(0)
            raise RuntimeError("the disk is gone")
        try:
            await self.may_go_on.wait()
        except asyncio.CancelledError:
            self.ended.append(query.query)
            raise
        return await self._recaller.recall(bank_id, query)

    async def both(self) -> set[str]:
        """The two searches of a turn, once both have begun."""
        return {await asyncio.wait_for(self.began.get(), 10) for _ in range(2)}


async def test_two_searches_of_a_turn_run_at_the_same_time(desk: Desk) -> None:
    waiting = desk.recaller = Waiting(desk.recaller)  # type: ignore[assignment]
    asked = asyncio.create_task(desk.ask([TWO, done("Luna.", "m1")]))
    assert await waiting.both() == {"dog", "Oslo"}, "the second begins before the first has answered"
    waiting.may_go_on.set()
    assert (await asked).text == "Luna."


async def test_a_search_that_fails_ends_the_other_and_is_the_failure_that_is_told(desk: Desk) -> None:
    waiting = desk.recaller = Waiting(desk.recaller, fails="Oslo")  # type: ignore[assignment]
    with pytest.raises(ReflectFailed, match=r"recall: RuntimeError"):
        await asyncio.wait_for(desk.ask([TWO, done("Luna.", "m1")]), 10)
    assert waiting.ended == ["dog"]
    assert len(desk.provider.requests) == 1, "no model is asked for nothing"


async def test_a_reflect_that_is_cancelled_ends_its_searches_and_no_others(desk: Desk) -> None:
    waiting = desk.recaller = Waiting(desk.recaller)  # type: ignore[assignment]
    first, second = (asyncio.create_task(desk.ask([TWO, done("Luna.", "m1")])) for _ in range(2))
    await waiting.both()
    await waiting.both()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert sorted(waiting.ended) == ["Oslo", "dog"]
    waiting.may_go_on.set()
    assert (await second).text == "Luna."
