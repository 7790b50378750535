"""Two time expressions that are one: "Tuesday of last week", "Monday, 8 May", "from March to May"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Context
from hindsight_server.domain.time.mention import Grain
from hindsight_server.domain.time.surroundings import LOOK_BACK, Found, before, group

_WEEK, _TICK = timedelta(days=7), timedelta(microseconds=1)
_YEARS_TRIED = (0, -1, -2, -3, -4, -5, -6, 1)  # to find the one in which 8 May is a Monday, the likeliest first
_BESIDE = re.compile(r"[ ,，(（]{0,2}(?:the )?")


def nested(context: Context, text: str, found: list[Found]) -> list[Found]:
    """Join "Tuesday of last week", "Christmas last year", "last month on the 5th" into one."""
    joined: list[Found] = []
    for one in found:
        inside = None
        if joined:
            inside = _nest(context, text, joined[-1], one) or _dated_weekday(text, joined[-1], one)
        if inside is None:
            joined.append(one)
        else:
            joined[-1] = inside
    return joined


def _nest(context: Context, text: str, first: Found, second: Found) -> Found | None:
    finer, coarser = (first[2], second[2]) if first[2].repeats else (second[2], first[2])
    if finer.repeats is None or finer.repeats is not coarser.grain or coarser.repeats is not None:
        return None
    if first[1] < second[0] and context.inside.fullmatch(text, first[1], second[0]) is None:
        return None
    moved = _moved(finer, coarser)
    return (
        None if moved is None else (first[0], second[1], replace(moved, is_relative=coarser.is_relative, repeats=None))
    )


def _dated_weekday(text: str, first: Found, second: Found) -> Found | None:
    """ "Monday, 8 May" is one day; without a year that in which it is a Monday."""
    name, date = (first[2], second[2]) if first[2].repeats is Grain.WEEK else (second[2], first[2])
    if name.repeats is not Grain.WEEK or name.grain not in (Grain.DAY, Grain.PART_OF_DAY, Grain.MOMENT):
        return None
    if date.grain not in (Grain.DAY, Grain.PART_OF_DAY, Grain.MOMENT) or (date.is_relative and not date.again):
        return None
    if second[0] < first[1] or not _BESIDE.fullmatch(text, first[1], second[0]):
        return None
    end = second[1] + (text[second[1] : second[1] + 1] in (")", "）"))
    if date.again is None:
        return first[0], end, date
    for years in _YEARS_TRIED:
        try:
            at = date.again(date.start.year + years)
        except ValueError:
            continue
        if at.start.weekday() == name.start.weekday():
            return first[0], end, replace(at, is_relative=date.is_relative, repeats=None)
    return first[0], end, date


def _moved(finer: Span, coarser: Span) -> Span | None:
    """The one that comes again, in the week, month or year that is meant."""
    try:
        if finer.repeats is Grain.YEAR:
            return finer.again(coarser.start.year) if finer.again and _is_whole_year(coarser) else None
        if finer.repeats is Grain.WEEK:
            shift = coarser.start.date() - (finer.start.date() - timedelta(days=finer.start.weekday()))
        else:
            shift = coarser.start.replace(day=finer.start.day).date() - finer.start.date()
    except ValueError:
        return None
    return replace(finer, start=finer.start + shift, end=finer.end + shift)


def _is_whole_year(span: Span) -> bool:
    return (span.start.month, span.end.month) == (1, 12)


def ranges(context: Context, text: str, found: list[Found], anchor: Anchor) -> list[Found]:
    """Join the two ends of "from A to B" into one."""
    joined: list[Found] = []
    for one in found:
        if joined and (both := _range(context, text, joined[-1], one, anchor)):
            joined[-1] = both
        else:
            joined.append(one)
    return joined


def _range(context: Context, text: str, first: Found, last: Found, anchor: Anchor) -> Found | None:
    if last[0] - first[1] > LOOK_BACK:
        return None
    link = context.link.fullmatch(text, first[1], last[0])
    if link is None:
        return None
    is_pair = bool(group(link, "and")) and not before(context.between, text, first[0])
    try:
        a, b = _ordered(first[2], last[2], anchor.day)
    except ValueError:  # the 31st of a month that has 30 days
        return None
    if a.start > b.end or (is_pair and (a.grain is not b.grain or b.start - a.end > _TICK)):
        return None
    repeats = Grain.YEAR if not a.has_year and not b.has_year else None
    both = Span(a.start, b.end, Grain.RANGE, a.is_relative and b.is_relative, repeats, is_joined=True)
    return first[0], last[1], both


def _ordered(a: Span, b: Span, today: date) -> tuple[Span, Span]:
    """The two ends, that without a year or week moved to where it lies beside the other."""
    if not a.has_year and b.has_year:
        year = b.start.year if (a.start.month, a.start.day) <= (b.end.month, b.end.day) else b.start.year - 1
        return (a.again(year) if a.again else a), b
    if a.has_year and not b.has_year and b.again:
        same = b.again(a.start.year)
        return a, same if same.end > a.end else b.again(a.start.year + 1)
    if a.repeats is None and b.repeats is Grain.WEEK:
        shift = (b.start.date() - a.start.date()).days // 7 * _WEEK
        return a, replace(b, start=b.start - shift, end=b.end - shift)
    if a.repeats is Grain.MONTH and b.repeats is None and b.grain is Grain.DAY:
        shift = a.start.replace(year=b.start.year, month=b.start.month) - a.start
        return replace(a, start=a.start + shift, end=a.end + shift), b
    if a.repeats is Grain.WEEK and b.repeats is None and b.grain is Grain.DAY:
        shift = ((b.start - a.start) // _WEEK) * _WEEK
        return replace(a, start=a.start + shift, end=a.end + shift), b
    if a.repeats is b.repeats is Grain.MONTH:
        month = cal.month(a.start.year, a.start.month + (1 if b.end.day < a.start.day else 0)).start
        shift = b.start.replace(year=month.year, month=month.month) - b.start
        return a, replace(b, start=b.start + shift, end=b.end + shift)
    if a.start <= b.end or not (a.is_relative and b.is_relative):
        return a, b
    if a.again and b.again:
        return a.again(a.start.year - 1), b
    if a.start - b.end < _WEEK and a.repeats is b.repeats:
        if (b.start + _WEEK).date() > today:
            return replace(a, start=a.start - _WEEK, end=a.end - _WEEK), b
        return a, replace(b, start=b.start + _WEEK, end=b.end + _WEEK)
    return a, b
