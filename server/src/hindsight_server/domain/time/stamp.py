"""The time at which a turn was said, as sources write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from hindsight_server.domain.time.finder import find_times
from hindsight_server.domain.time.mention import Grain

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s?([AaPp])\.?[Mm]\.?)?")
_MILLISECONDS = 1e11  # seconds since 1970 do not reach this for 3,000 years
_LATEST = 32_503_680_000.0  # the year 3000
_LONGEST = 60
_EXACT = (Grain.DAY, Grain.MOMENT)


def parse_stamp(value: object, anchor: datetime | None) -> datetime | None:
    """Read a turn's own timestamp; None when it is none.

    Args:
        value: ISO 8601, seconds or milliseconds since 1970, a date with or without a clock time, or a clock time alone.
        anchor: the item's time: gives the zone of values without one (else UTC), and the day of a clock time alone.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        if not 0 < value < 1000 * _LATEST:
            return None
        seconds = value / 1000 if value >= _MILLISECONDS else value
        return datetime.fromtimestamp(seconds, UTC) if seconds < _LATEST else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    at = _from_text(value.strip(), anchor)
    return at if at is not None and _has_utc(at) else None


def _has_utc(at: datetime) -> bool:
    """False in the first or last hours of the calendar, where a zone may be outside of it."""
    try:
        at.astimezone(UTC)
    except OverflowError:
        return False
    return True


def _from_text(text: str, anchor: datetime | None) -> datetime | None:
    if not any(char.isdecimal() for char in text):
        return None
    zone = (anchor.tzinfo if anchor else None) or UTC
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return _from_words(text, anchor, zone)
    return at if at.tzinfo else at.replace(tzinfo=zone)


def _from_words(text: str, anchor: datetime | None, zone: tzinfo) -> datetime | None:
    clock = _CLOCK.match(text)
    if clock and clock.end() == len(text):
        return _at_clock(anchor, clock) if anchor else None
    dated = [one for one in find_times(text, anchor or datetime(2000, 1, 1, tzinfo=zone)) if one.grain in _EXACT]
    if len(dated) != 1 or (dated[0].is_relative and anchor is None):
        return None
    at = dated[0].interval.start
    return _at_clock(at, clock) if clock and clock.end() <= dated[0].start else at


def _at_clock(day: datetime, clock: re.Match[str]) -> datetime | None:
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    if clock[4]:
        hour = hour % 12 + (12 if clock[4] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)
