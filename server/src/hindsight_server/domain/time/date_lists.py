"""Long lists of dates in digits or with English months: tables, logs, calendars.

Inside such a list nothing but other dates stands around a date, so that no word can change what it means. Those dates
are read on their own, which takes a fraction of the time; the ends of a list are read as the text around them asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import numeric
from hindsight_server.domain.time.mention import Grain, TimeMention

YEARS = range(1000, 3000)
"""What lies outside is no date of anybody's memory, and zone arithmetic may fail there."""

_EDGE = 8  # dates at each end that are left to the other rules, which look back 40 characters at most
_LEAST = 4 * _EDGE  # dates of a list that is worth it
_SHORTEST = 8 * _LEAST  # characters of a list, at least
_BETWEEN = r"(?:[,;]?[ \t\r\n]{1,3}|[,;])"
_BETWEEN_NAMED = r"(?:[,;]?[ \t\r\n]{1,3}|;)"  # "5 May 1900,1907" is no year
_TAKEN = "0"  # as many of it are too long for a part of a date
_MONTH_NAMES = """
January February March April May June July August September October November December
"""
_NAMES = _MONTH_NAMES.split()
_MONTH_OF = {name[:3].lower(): number for number, name in enumerate(_NAMES, start=1)}
_NAMED = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _NAMES)}|Sept)\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTHS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A way to write dates: one date, a list of them, and what a text has so often at least that has such a list."""

    date: re.Pattern[str]
    list: re.Pattern[str]
    marks: tuple[str, ...]
    times: int
    is_american: bool = False


def _shape(
    date: str, *marks: str, between: str = _BETWEEN, times: int = 2 * _LEAST, is_american: bool = False
) -> _Shape:
    plain = re.sub(r"\?P<\w+>", "?:", date)
    repeated = f"(?:{plain}{between}){{{_LEAST - 1},}}{plain}"
    flags = re.ASCII | re.IGNORECASE
    whole = re.compile(f"{numeric.BEFORE}{repeated}{numeric.AFTER}", flags)
    return _Shape(date=re.compile(date, flags), list=whole, marks=marks, times=times, is_american=is_american)


def _named(date: str) -> _Shape:
    return _shape(date, "19", "20", between=_BETWEEN_NAMED, times=_LEAST)


_SHAPES = (
    _shape(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", "-"),
    _shape(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})", "."),
    _shape(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})", "/", is_american=True),
    _named(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? {_NAMED},? {_YEAR}"),
    _named(rf"{_NAMED} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}"),
)


def listed(text: str, zone: tzinfo) -> tuple[list[TimeMention], str]:
    """The dates inside of long lists, and the text with other digits in their places."""
    mentions: list[TimeMention] = []
    if len(text) < _SHORTEST:
        return mentions, text
    for shape in _SHAPES:
        if sum(map(text.count, shape.marks)) < shape.times:
            continue
        pieces, end = [], 0
        for found in shape.list.finditer(text):
            for date in list(shape.date.finditer(text, *found.span()))[_EDGE:-_EDGE]:
                start, stop = date.span()
                pieces += [text[end:start], _TAKEN * (stop - start)]
                end = stop
                if mention := _mention(date, start, stop, zone, is_american=shape.is_american):
                    mentions.append(mention)
        text = "".join([*pieces, text[end:]]) if pieces else text
    return mentions, text


def _mention(date: re.Match[str], start: int, end: int, zone: tzinfo, *, is_american: bool) -> TimeMention | None:
    """A date as the rules for single dates read it; None for one that is not in the calendar."""
    written, year, day = date["month"], int(date["year"]), int(date["day"])
    month = int(written) if written.isdigit() else _MONTH_OF[written[:3].lower()]
    if month > _MONTHS and is_american:
        month, day = day, month
    if year not in YEARS:
        return None
    try:
        first = datetime(year, month, day, tzinfo=zone)
    except ValueError:
        return None
    last = datetime(year, month, day, 23, 59, 59, 999999, zone)
    whole = Interval(start=first, end=last)
    return TimeMention(start=start, end=end, text=date[0], interval=whole, grain=Grain.DAY, is_relative=False)
