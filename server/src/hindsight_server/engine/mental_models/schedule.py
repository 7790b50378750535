"""When mental models are refreshed by themselves: by cron, or after consolidation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.pages.trigger import Trigger
from hindsight_server.engine.language import check_schema

_log = logging.getLogger(__name__)


def check_trigger(trigger: Trigger, field: str) -> None:
    """Raises InvalidInput for what could only fail at the next refresh."""
    if trigger.response_schema is not None:
        check_schema(trigger.response_schema, f"{field}.response_schema")
    check_cron(trigger.refresh_cron, f"{field}.refresh_cron")
    check_cron(trigger.full_refresh_cron, f"{field}.full_refresh_cron")


def check_cron(expression: str | None, field: str) -> None:
    """Raises InvalidInput for what is no cron expression of five fields."""
    if expression is None:
        return
    # Not many banks have schedules: the library is imported where one is.
    from cronsim import CronSim, CronSimError

    if len(expression.split()) != 5:
        raise InvalidInput(f"{field} must be a cron expression of five fields, such as '0 3 * * *'.", field=field)
    try:
        CronSim(expression, datetime(2026, 1, 1))
    except CronSimError as problem:
        raise InvalidInput(f"{field} is no cron expression: {problem}", field=field) from None


def next_time(expression: str, after: datetime) -> datetime | None:
    """When a schedule comes due first after a time, in UTC; None for never.

    Example:
        >>> next_time("0 3 * * *", datetime(2026, 3, 1, 12, tzinfo=UTC)).isoformat()
        '2026-03-02T03:00:00+00:00'
    """
    from cronsim import CronSim, CronSimError

    try:
        return next(CronSim(expression, after), None)
    except CronSimError:
        return None


class Ticker:
    """Does something every so often, in a task of the running event loop.

    Args:
        tick: what; its failures are logged.
        seconds: between two ticks.
    """

    def __init__(self, tick: Callable[[], Awaitable[object]], seconds: float) -> None:
        self._tick = tick
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name="mental-model-schedules")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._tick()
            except Exception:  # it outlives whatever the store is going through
                _log.exception("looking at the schedules of mental models failed; trying again")
