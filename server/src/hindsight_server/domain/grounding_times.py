"""Whether the dates of a statement are those of the texts it was drawn from, worked out by our own calendar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import Grain, Relation, TimeMention, find_times

NO_ANCHOR = datetime(2000, 1, 1, tzinfo=UTC)
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_HAN = re.compile("[\u3400-\u9fff]")
_TICK = timedelta(microseconds=1)


def times_told(text: str, said: datetime | None) -> list[TimeMention]:
    """The times that a text names; of one that nobody dated, those that need no date to be understood.

    Example:
        >>> [mention.text for mention in times_told("yesterday and on 5 May 2023", None)]
        ['5 May 2023']
    """
    mentions = find_times(text, said or NO_ANCHOR)
    return mentions if said is not None else [one for one in mentions if not one.is_relative and not one.is_yearless]


def is_told(interval: Interval, told: Iterable[TimeMention]) -> bool:
    """Whether a time follows from told ones: it is one of them, or covers one of them.

    "2023" follows from "5 May 2023", and "5 May 2023" does not follow from "May 2023".
    """
    return any(
        interval.start <= mention.interval.start and mention.interval.end <= interval.end + _slack(interval, mention)
        for mention in told
    )


def _slack(interval: Interval, mention: TimeMention) -> timedelta:
    # A moment is written without its zone or its seconds; a bare date of it stands for its day.
    return timedelta(minutes=1) if mention.grain in (Grain.MOMENT, Grain.HOUR) else _TICK


def untold(text: str, said: datetime | None, told: Sequence[TimeMention]) -> TimeMention | None:
    """The first time in a statement that does not follow from the told ones."""
    for mention in times_told(text, said):
        if not is_told(mention.interval, told) and not any(_same_words(mention, one) for one in told):
            return mention
    return None


def _same_words(one: TimeMention, other: TimeMention) -> bool:
    return one.is_yearless and other.is_yearless and one.text.casefold() == other.text.casefold()


def matching(interval: Interval, told: Sequence[TimeMention]) -> TimeMention | None:
    """The told time that a claimed one means: the shortest that lies within it, or in which it lies."""
    near = [
        mention
        for mention in told
        if mention.interval.start <= interval.end + _TICK and interval.start <= mention.interval.end + _TICK
    ]
    near = [
        mention
        for mention in near
        if is_told(interval, [mention])
        or (mention.interval.start <= interval.start and interval.end <= mention.interval.end + _TICK)
    ]
    return min(near, key=lambda mention: mention.interval.end - mention.interval.start, default=None)


def quoted(words: str, told: Sequence[TimeMention]) -> TimeMention | None:
    """The told time whose expression some words quote, whole or in part."""
    folded = words.strip().casefold()
    if not folded:
        return None
    for mention in told:
        text = mention.text.casefold()
        if text in folded or (len(folded) > 2 and folded in text):
            return mention
    return None


def claimed(start: str, end: str, zone: tzinfo = UTC) -> Interval | None:
    """A time as ISO dates give it, whole days (months, years) covered; None when it can't be read.

    Example:
        >>> claimed("2023-05", "").end.day
        31
    """
    first = _span(start, zone)
    if first is None:
        return None
    last = _span(end, zone) or first
    return Interval(start=first.start, end=last.end) if last.end >= first.start else first


def happened(told: TimeMention | None) -> Interval | None:
    """When something happened that a told time belongs to; a mere limit ("before 2020") is no such time."""
    if told is None or told.relation not in (Relation.AT, Relation.SINCE):
        return None
    return told.interval


def written_out(interval: Interval, like: str) -> str:
    """A time in words, in the language of a text: ``5 May 2023``, ``May 2023``, ``2023年5月5日``."""
    han = _HAN.search(like) is not None
    start, end = interval.start, interval.end
    if (start.month, start.day, end.month, end.day) == (1, 1, 12, 31):
        years = str(start.year) if start.year == end.year else f"{start.year}-{end.year}"
        return f"{years}年" if han else years
    if start.day == 1 and (end + _TICK).day == 1 and (start.year, start.month) == (end.year, end.month):
        return f"{start.year}年{start.month}月" if han else f"{_MONTHS[start.month - 1]} {start.year}"
    if start.date() == end.date():
        return _day(start, han=han)
    return f"{_day(start, han=han)}{'至' if han else ' to '}{_day(end, han=han)}"


def _day(moment: datetime, *, han: bool) -> str:
    if han:
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def _span(text: str, zone: tzinfo) -> Interval | None:
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=zone)
        if day:
            after = start + timedelta(days=1)
        elif month:
            after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=zone)
        else:
            after = datetime(year + 1, 1, 1, tzinfo=zone)
    except (ValueError, OverflowError):
        return None
    return Interval(start=start, end=after - _TICK)
