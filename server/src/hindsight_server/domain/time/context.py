"""What the words around a time expression make of it: parts, clock times, ranges, "the week before", "since"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time import chinese, english
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain, Relation

Found = tuple[int, int, Span]
"""Start, end and meaning of an expression."""

_LOOK_BACK = 40  # characters before an expression that may change it, at most
_LOOK_BACK_SHORT = 20  # characters of the longest of "prior to around ", "every single "
_DIVISIBLE = frozenset({Grain.WEEK, Grain.MONTH, Grain.SEASON, Grain.QUARTER, Grain.YEAR, Grain.DECADE})

_RECURS = re.compile(r"(?:\b(?:every|each)\s(?:other\s|single\s|second\s)?|每个?|每逢)$", re.IGNORECASE)
_PORTION = re.compile(
    r"(?:\b(?P<part>early|mid|late)(?: in |[ -])(?:the )?|\b(?:the )?(?P<of>start|beginning|middle|end) of (?:the )?)$",
    re.IGNORECASE,
)
_PARTS = {"start": "early", "beginning": "early", "middle": "mid", "end": "late"}
_CLOCK = re.compile(
    r"[ ,]{1,2}(?:(?:at|around|about|by|@) ?)?(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))?(?P<second>:[0-5]\d)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?|(?<=:\d\d)(?!\w))",
    re.IGNORECASE,
)
_CLOCK_ZH = re.compile(
    r"(?P<part>凌晨|早上|上午|中午|下午|傍晚|晚上)?(?P<hour>\d{1,2}|十[一二]?|[一二两三四五六七八九])[点时]"
    r"(?:(?P<half>半)|(?P<minute>\d{1,2}|[一二三四五]?十[一二三四五六七八九]?)分?)?"
)
_RANGE = re.compile(
    r"\s*(?:to|through|thru|until|till|-|–|—|~|到|至|(?P<and>and|和))\s*(?:the )?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:\bbetween (?:the )?|在|从)$", re.IGNORECASE)
_STEPPED = re.compile(
    rf"(?:\bthe )?\b(?:(?P<count>\d{{1,2}}|an?|one|two|three|four|five|six) )?"
    rf"(?P<unit>day|week|weekend|month|year|{'|'.join(english.WEEKDAYS)})s? (?P<way>before|after) (?:the )?$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:\b(since|after|before|prior to|until|till|up to|by)\s(?:the |about |around )?|(自从|自|直到))$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"的?(之前|以前|前(?!往|后|台|面)|之后|以后|后(?!台|面)|以来|起|开始)| (onwards?)\b",
    re.IGNORECASE,
)
_RELATIONS = {
    "since": Relation.SINCE, "after": Relation.AFTER, "before": Relation.BEFORE, "prior to": Relation.BEFORE,
    "until": Relation.UNTIL, "till": Relation.UNTIL, "up to": Relation.UNTIL, "by": Relation.UNTIL,
    "自从": Relation.SINCE, "自": Relation.SINCE, "直到": Relation.UNTIL,
    "之前": Relation.BEFORE, "以前": Relation.BEFORE, "前": Relation.BEFORE,
    "之后": Relation.AFTER, "以后": Relation.AFTER, "后": Relation.AFTER, "以来": Relation.SINCE, "起": Relation.SINCE,
    "开始": Relation.SINCE, "onward": Relation.SINCE, "onwards": Relation.SINCE,
}  # fmt: skip


def _before(pattern: re.Pattern[str], text: str, at: int, look_back: int = _LOOK_BACK) -> re.Match[str] | None:
    """What a pattern that ends in ``$`` matches just before a position."""
    return pattern.search(text, max(0, at - look_back), at)


def recurs(text: str, start: int) -> bool:
    """Whether the expression names a habit ("every Friday"), which is no time."""
    return _before(_RECURS, text, start, _LOOK_BACK_SHORT) is not None


def refined(text: str, found: Found) -> Found:
    """Take in "early", "the end of" before an expression, and a clock time after it."""
    start, end, span = found
    if span.grain in _DIVISIBLE and (part := _before(_PORTION, text, start)):
        name = (part["part"] or _PARTS[part["of"].lower()]).lower()
        return part.start(), end, cal.portion(span, name)
    if span.grain in (Grain.DAY, Grain.PART_OF_DAY):
        if clock := _CLOCK.match(text, end):
            return start, clock.end(), _at_clock(span, clock)
        if clock := _CLOCK_ZH.match(text, end):
            return start, clock.end(), _at_chinese_clock(span, clock)
    return found


def _at_clock(span: Span, clock: re.Match[str]) -> Span:
    hour, half = int(clock["hour"]), (clock["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return _at(span, hour, int(clock["minute"] or 0))


def _at_chinese_clock(span: Span, clock: re.Match[str]) -> Span:
    hour = chinese.number(clock["hour"])
    said_late = clock["part"] in ("中午", "下午", "傍晚", "晚上")
    late = said_late or (span.grain is Grain.PART_OF_DAY and span.start.hour >= 12)
    if hour > 23:
        return span
    minute = 30 if clock["half"] else chinese.number(clock["minute"]) if clock["minute"] else 0
    return _at(span, hour + 12 if late and hour < 11 else hour, min(minute, 59))


def _at(span: Span, hour: int, minute: int) -> Span:
    at = span.start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return replace(span, start=at, end=at, grain=Grain.MOMENT)


def ranges(text: str, found: list[Found]) -> list[Found]:
    """Join the two ends of "from A to B" into one."""
    joined: list[Found] = []
    for one in found:
        if joined and (both := _range(text, joined[-1], one)):
            joined[-1] = both
        else:
            joined.append(one)
    return joined


def _range(text: str, first: Found, last: Found) -> Found | None:
    link = _RANGE.fullmatch(text, first[1], last[0])
    if link is None or (link["and"] and not _before(_BETWEEN, text, first[0])):
        return None
    a, b = first[2], last[2]
    if not a.has_year and b.has_year:
        a = _in_year(a, b.start.year if (a.start.month, a.start.day) <= (b.end.month, b.end.day) else b.start.year - 1)
    elif a.is_relative and b.is_relative and a.start > b.end and a.start - b.end < timedelta(days=7):
        b = replace(b, start=b.start + timedelta(days=7), end=b.end + timedelta(days=7))
    if a.start > b.end:
        return None
    return first[0], last[1], Span(a.start, b.end, Grain.RANGE, a.is_relative and b.is_relative, b.has_year)


def _in_year(span: Span, year: int) -> Span:
    if span.grain is Grain.MONTH:
        return cal.month(year, span.start.month)
    last_day = cal.month(year, span.end.month).end.day
    end = span.end.replace(year=year, day=min(span.end.day, last_day))
    return replace(span, start=span.start.replace(year=year, day=min(span.start.day, last_day)), end=end)


def stepped(text: str, found: Found) -> Found:
    """Take in "the week before", "two days after", "the Friday before" in front of an expression."""
    begins = max(0, found[0] - _LOOK_BACK_SHORT)
    nearby = text[begins : found[0]].lower()
    step = _before(_STEPPED, text, found[0]) if "before " in nearby or "after " in nearby else None
    if step is None:
        return found
    unit, count, earlier = step["unit"].lower(), (step["count"] or "").lower(), step["way"].lower() == "before"
    try:
        span = _step(found[2], unit, english.number_of(count) if count else None, -1 if earlier else 1)
    except (ValueError, OverflowError):
        return found
    return step.start(), found[1], replace(span, is_relative=found[2].is_relative)


def _step(span: Span, unit: str, count: int | None, sign: int) -> Span:
    edge = span.start.date() if sign < 0 else span.end.date()
    if unit in english.WEEKDAYS:
        number = english.WEEKDAYS[unit]
        away = (edge.weekday() - number - 1) % 7 + 1 if sign < 0 else (number - edge.weekday() - 1) % 7 + 1
        return cal.day(edge + timedelta(days=sign * away))
    if unit == "week" and count is None:
        first, last = sorted((edge + timedelta(days=sign), edge + timedelta(days=7 * sign)))
        return cal.days(first, last, Grain.WEEK)
    return cal.shifted(unit, sign * (count or 1), Anchor(datetime.combine(edge, datetime.min.time())))


def relation(text: str, start: int, end: int) -> Relation:
    """The side of a time that the words around it point to."""
    if text[max(start, end - 4) : end].lower() == " now":  # "for three years now"
        return Relation.SINCE
    if word := _before(_BEFORE, text, start, _LOOK_BACK_SHORT):
        return _RELATIONS[(word[1] or word[2]).lower()]
    if word := _BEHIND.match(text, end):
        return _RELATIONS[(word[1] or word[2]).lower()]
    return Relation.AT
