"""The day of a moment, up to the ends of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hindsight_server.domain.time.events import day_of


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_the_first_and_the_last_day_are_days(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    for moment in (datetime(1, 1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)):
        day = day_of(moment, zone)
        assert day.start <= moment <= day.end
        assert day.end - day.start < timedelta(days=1)
