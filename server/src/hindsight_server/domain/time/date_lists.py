"""Long lists of dates in digits: tables, logs, calendars.

Inside such a list nothing but other dates stands around a date, so that no word can change what it means. Those dates
are read on their own, which takes a fraction of the time; the ends of a list are read as the text around them asks.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import numeric
from hindsight_server.domain.time.mention import Grain, TimeMention

YEARS = range(1000, 3000)
"""What lies outside is no date of anybody's memory, and zone arithmetic may fail there."""

_EDGE = 8  # dates at each end that are left to the other rules, which look back 40 characters at most
_LEAST = 4 * _EDGE  # dates of a list that is worth it
_BETWEEN = r"(?:[,;]?[ \t\r\n]{1,3}|[,;])"
_TAKEN = "0"  # as many of it are too long for a part of a date
_DATES = {
    "-": re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", re.ASCII),
    ".": re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})", re.ASCII),
    "/": re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})", re.ASCII),
}
_MONTHS = 12


def _list_of(date: str) -> re.Pattern[str]:
    plain = re.sub(r"\?P<\w+>", "?:", date)
    repeated = f"(?:{plain}{_BETWEEN}){{{_LEAST - 1},}}{plain}"
    return re.compile(f"{numeric.BEFORE}{repeated}{numeric.AFTER}", re.ASCII)


_LISTS = {sign: _list_of(date.pattern) for sign, date in _DATES.items()}


def listed(text: str, zone: tzinfo) -> tuple[list[TimeMention], str]:
    """The dates inside of long lists, and the text with other digits in their places."""
    mentions: list[TimeMention] = []
    for sign, pattern in _LISTS.items():
        if text.count(sign) < 2 * _LEAST:
            continue
        pieces, end = [], 0
        for found in pattern.finditer(text):
            for date in list(_DATES[sign].finditer(text, *found.span()))[_EDGE:-_EDGE]:
                start, stop = date.span()
                pieces += [text[end:start], _TAKEN * (stop - start)]
                end = stop
                if mention := _mention(date, start, stop, zone):
                    mentions.append(mention)
        text = "".join([*pieces, text[end:]]) if pieces else text
    return mentions, text


def _mention(date: re.Match[str], start: int, end: int, zone: tzinfo) -> TimeMention | None:
    """A date as `numeric.RULES` read it; None for one that is not in the calendar."""
    year, month, day = int(date["year"]), int(date["month"]), int(date["day"])
    if month > _MONTHS and date.re is _DATES["/"]:
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
