"""Whether the dates of a statement are those of the texts it was drawn from, worked out by our own calendar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from hindsight_server.domain.grounding_han import HAN
from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import Grain, Relation, TimeMention, find_times

NO_ANCHOR = datetime(2000, 1, 1, tzinfo=UTC)
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_BARE_WEEKDAY = re.compile(
    r"(?:on |this )?(monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:周|星期|礼拜)[一二三四五六日天])"
    r"(?: (?:at .*|morning|afternoon|evening|night)|[早晚上中下]{1,2}午?.*)?"
)
_NAMES_DAY = re.compile(
    r"day|tomorrow|tonight|last|next|this|ago|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|[今昨明前后次当]|周|星期|月|日|号"
)
_BARE_DAY = re.compile(r"(?:on )?(?:the )?(\d{1,2})(?:st|nd|rd|th)|(\d{1,2})[号日]")
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
        interval.start <= mention.interval.start and mention.interval.end <= interval.end + _slack(mention)
        for mention in told
    )


def _slack(mention: TimeMention) -> timedelta:
    # A moment is written without its zone or its seconds; a bare date of it stands for its day.
    return timedelta(minutes=1) if mention.grain in (Grain.MOMENT, Grain.HOUR) else _TICK


def untold(stated: Iterable[TimeMention], said: datetime | None, told: Sequence[TimeMention]) -> TimeMention | None:
    """The first date of those in a statement that does not follow from the told times."""
    for mention in stated:
        if not is_date(mention, said) or is_told(mention.interval, told):
            continue
        if not any(_is_another_reading(mention, one) for one in told):
            return mention
    return None


def is_date(mention: TimeMention, said: datetime | None) -> bool:
    """Whether a time is more than a number: neither a year by itself nor a time of the day."""
    if mention.text.strip().isdigit():
        return False
    clock = mention.grain in (Grain.MOMENT, Grain.HOUR, Grain.PART_OF_DAY) and mention.is_relative
    return not (clock and said is not None and not _NAMES_DAY.search(mention.text.casefold()))


def _is_another_reading(one: TimeMention, other: TimeMention) -> bool:
    """Whether two expressions are one, though each was understood of another week or year."""
    if (one.is_relative or one.is_yearless) and _plain(one.text) == _plain(other.text):
        return True
    if _weekday(one.text) is not None and _weekday(one.text) == _weekday(other.text):
        return True
    apart = abs(one.interval.start.year - other.interval.start.year)
    return (one.is_yearless or other.is_yearless) and apart <= 1 and _days(one.interval) == _days(other.interval)


def _plain(text: str) -> str:
    return text.strip(" .,;。，").casefold()


def _days(interval: Interval) -> tuple[int, int, int, int]:
    return interval.start.month, interval.start.day, interval.end.month, interval.end.day


def _weekday(text: str) -> str | None:
    """The day of the week that a text names, when it names no more than that."""
    match = _BARE_WEEKDAY.fullmatch(text.strip().casefold())
    return match[1] if match else None


def as_claimed(interval: Interval, words: str, mention: TimeMention | None, said: datetime | None) -> Interval | None:
    """A claimed time, where the told words can be meant so: "Friday" as the next one, "9 May" as next year's.

    Our calendar takes one reading of such words; a model that has understood the sentence may know better. What it
    claims must still be a reading of the words.

    Args:
        interval: what is claimed.
        words: the told expression.
        mention: our reading of it, if there is one.
        said: when the words were said.
    """
    if said is None:
        return None
    near = abs(interval.start - said)
    text = (mention.text if mention is not None else words).strip()
    if (day := _BARE_DAY.fullmatch(text.casefold())) is not None:
        number = int(day[1] or day[2])
        return interval if number == interval.start.day and near <= timedelta(days=32) else None
    if mention is None:
        return None
    if _weekday(text) is not None:
        same = interval.start.weekday() == mention.interval.start.weekday()
        return interval if same and near <= timedelta(days=8) else None
    if mention.is_yearless and abs(interval.start.year - mention.interval.start.year) <= 1:
        years = interval.start.year - mention.interval.start.year
        moved = _moved(mention.interval, years)
        if moved is not None and moved.start <= interval.start and interval.end <= moved.end + _TICK:
            return moved
    return None


def _moved(interval: Interval, years: int) -> Interval | None:
    try:
        start = interval.start.replace(year=interval.start.year + years)
        return Interval(start=start, end=interval.end.replace(year=interval.end.year + years))
    except ValueError:  # 29 February
        return None


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
    han = HAN.search(like) is not None
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
