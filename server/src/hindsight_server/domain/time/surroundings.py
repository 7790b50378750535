"""What the words around a time expression make of it: parts, clock times, "the week before", "since"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Context
from hindsight_server.domain.time.mention import Grain, Relation
from hindsight_server.domain.time.words import Words, number

Found = tuple[int, int, Span]
"""Start, end and meaning of an expression."""

LOOK_BACK = 40  # characters before an expression that may change it, at most
_GUARDED = 6  # words of "the first two weeks of the"
_DIVISIBLE = frozenset({Grain.WEEK, Grain.MONTH, Grain.SEASON, Grain.QUARTER, Grain.YEAR, Grain.DECADE})
_LATE_PARTS = frozenset({"noon", "afternoon", "evening", "night"})
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_SOME = 5  # days or the like in "the last days of"


def group(match: re.Match[str], name: str) -> str:
    return (match[name] or "").lower() if name in match.re.groupindex else ""


def _cue(context: Context, text: str, at: int) -> bool:
    """Whether the word or character before a position is one that can change what follows."""
    before = text[max(0, at - 16) : at].rstrip(" -").lower()
    if not before:
        return False
    return before[-1] in context.cues or before[before.rfind(" ") + 1 :].strip("(,;:\"'“‘") in context.cues


def _last_word(text: str, at: int) -> str:
    """The word before a position, in lower case, or that before "the"."""
    words = text[max(0, at - 16) : at].lower().split()
    return "" if not words else words[-2] if words[-1] == "the" and len(words) > 1 else words[-1]


def _guard(context: Context, text: str, at: int) -> bool:
    """Whether one of the few words before a position belongs to a longer phrase that changes what follows."""
    return not context.guards.isdisjoint(
        text[max(0, at - LOOK_BACK) : at].lower().replace("-", " ").split()[-_GUARDED:]
    )


def before(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """What a pattern that ends in ``$`` matches just before a position."""
    return pattern.search(text, max(0, at - LOOK_BACK), at)


def recurs(context: Context, text: str, start: int) -> bool:
    """Whether the expression names a habit ("every Friday"), which is no time."""
    return _cue(context, text, start) and before(context.recurring, text, start) is not None


def clocked(context: Context, text: str, found: Found) -> Found:
    """Take in a clock time after or before a day, and "the morning of"."""
    start, end, span = found
    if span.grain not in (Grain.DAY, Grain.PART_OF_DAY):
        return found
    for pattern, words in context.clocks:
        if clock := pattern.match(text, end):
            return start, clock.end(), _at_clock(span, clock, words)
    if text[max(0, start - 10) : start].rstrip()[-1:] in ("m", "M", ".", "n", "e", ",") and (
        clock := before(context.clock_before, text, start)
    ):
        return clock.start(), end, _at_clock(span, clock, context.words[0])
    if (
        span.grain is Grain.DAY
        and _cue(context, text, start)
        and (part := before(context.part_of, text, start))
        and (named := context.words[0].part.get(group(part, "part")))
    ):
        return part.start(), end, _derived(span, lambda day: cal.part_of_day(day.start.date(), named))
    return found


def _derived(span: Span, part: Callable[[Span], Span]) -> Span:
    """A part of a time, which comes again as the whole does."""
    again = span.again
    return replace(
        part(span),
        is_relative=span.is_relative,
        repeats=span.repeats,
        again=None if again is None else lambda year: part(again(year)),
    )


def refined(context: Context, text: str, found: Found) -> Found:
    """Take in "early", "the end of", "the first two weeks of" before an expression, 末 and 第一周 behind it."""
    start, end, span = found
    if span.grain not in _DIVISIBLE:
        return found
    counted: re.Match[str] | None = None
    part: re.Match[str] | None = None
    if _guard(context, text, start):
        counted = before(context.count_of, text, start)
        part = None if counted else before(context.portion, text, start)
    if counted is None and part is None:
        counted = context.count_behind.match(text, end)
        part = None if counted else context.portion_behind.match(text, end)
    try:
        if counted:
            return _joined(found, counted, _derived(span, lambda whole: _counted(whole, counted, context.words)))
        if part:
            written = (part[part.lastgroup or 0] or "").lower()
            name = next(words.portion[written] for words in context.words if written in words.portion)
            return _joined(found, part, _derived(span, lambda whole: cal.portion(whole, name)))
    except (ValueError, KeyError, StopIteration):
        return found
    return found


def _joined(found: Found, taken: re.Match[str], span: Span) -> Found:
    return min(found[0], taken.start()), max(found[1], taken.end()), span


def _counted(span: Span, counted: re.Match[str], languages: tuple[Words, ...]) -> Span:
    """The first two weeks of, the last weekend of, the second Tuesday of."""
    written, named, weekday = (group(counted, name) for name in ("count", "unit", "weekday"))
    words = next(one for one in languages if named in one.unit or weekday in one.weekday)
    if written in words.vague:
        count = words.vague[written][1]
    elif written:
        count = int(words.count(written))
    else:
        count = _SOME if group(counted, "plural") else 1
    ranked = group(counted, "nth")
    nth = words.rank(ranked) if ranked else 1 if group(counted, "first") else -1
    first, last = span.start.date(), span.end.date()
    if weekday:
        return cal.day(_nth_weekday(first, last, words.weekday[weekday], nth))
    unit = words.unit[named]
    if unit == "weekend":
        return cal.weekend(_nth_weekday(first, last, 5, nth))
    start, end = _run(first, last, unit, nth if ranked else 1, count, backwards=nth < 0)
    if start > last or end < first:
        raise ValueError("beyond what it is a part of")
    return cal.days(max(start, first), min(end, last), Grain.RANGE)


def _run(first: date, last: date, unit: str, nth: int, count: int, *, backwards: bool) -> tuple[date, date]:
    """The nth run of `count` units from the first day on, or the last of them."""
    size = _MONTHS.get(unit)
    if size is None:
        days = timedelta(days=count * _DAYS.get(unit, 1))
        start = last + _DAY - days if backwards else first + (nth - 1) * days
        return start, start + days - _DAY
    size *= count
    if backwards:
        return cal.months_from(last + _DAY, -size), last
    start = cal.months_from(first, (nth - 1) * size)
    return start, cal.months_from(start, size) - _DAY


def _nth_weekday(first: date, last: date, weekday: int, nth: int) -> date:
    if nth < 0:
        return last - timedelta(days=(last.weekday() - weekday) % 7)
    at = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))
    if at > last:
        raise ValueError("there are fewer of that weekday")
    return at


def _at_clock(span: Span, clock: re.Match[str], words: Words) -> Span:
    if group(clock, "named"):
        return replace(span, start=span.start.replace(hour=12), end=span.start.replace(hour=12), grain=Grain.MOMENT)
    hour, noon = number(group(clock, "hour") or group(clock, "hour_2")), group(clock, "noon")
    part = group(clock, "part")
    if hour > 23:
        return span
    if noon:
        hour = hour % 12 + (12 if noon == "p" else 0)
    else:
        is_late = words.part.get(part) in _LATE_PARTS
        if words.part.get(part) == "noon" and hour > 9:
            is_late = False
        is_late |= span.grain is Grain.PART_OF_DAY and span.start.hour >= 12
        hour = hour + 12 if is_late and hour < 11 else hour
    written = group(clock, "minute") or group(clock, "minute_2")
    minute = 30 if group(clock, "half") else number(written) if written else 0
    at = span.start.replace(hour=hour, minute=min(minute, 59), second=0, microsecond=0)
    return replace(span, start=at, end=at, grain=Grain.MOMENT)


def stepped(context: Context, text: str, found: Found) -> Found:
    """Take in "the week before", "two days after", "the Friday before", "the week of"; 前一天, 后两周 behind."""
    guarded = _guard(context, text, found[0])
    may_step = guarded and (not context.step_words or _last_word(text, found[0]) in context.step_words)
    step = before(context.step_before, text, found[0]) if may_step else None
    start, end = (step.start(), found[1]) if step else (found[0], found[1])
    if step is None:
        if found[2].grain not in (Grain.DAY, Grain.RANGE, Grain.PART_OF_DAY):
            return found
        if guarded and (of_week := before(context.week_of, text, found[0])):
            return of_week.start(), end, _derived(found[2], lambda day: _around(day, of_week))
        if week := context.week_behind.match(text, end):
            return start, week.end(), _derived(found[2], lambda day: cal.week(day.start.date()))
        if (step := context.step_behind.match(text, found[1])) is None:
            return found
        end = step.end()
    try:
        span = _step(found[2], step, context.words)
    except (ValueError, OverflowError, KeyError):
        return found
    return start, end, replace(span, is_relative=found[2].is_relative)


def _around(span: Span, week: re.Match[str]) -> Span:
    """The week of a day, or the seven days from it on or up to it."""
    at = span.start.date()
    if group(week, "from"):
        return cal.days(at, at + 6 * _DAY, Grain.WEEK)
    if group(week, "to"):
        return cal.days(at - 6 * _DAY, at, Grain.WEEK)
    of = {"week": cal.week, "weekend": cal.weekend}.get(group(week, "unit"))
    return of(at) if of else cal.month(span.start.year, span.start.month)


def _step(span: Span, step: re.Match[str], languages: tuple[Words, ...]) -> Span:
    if group(step, "eve"):
        return cal.day(span.start.date() - _DAY)
    written, sign = group(step, "unit"), -1 if group(step, "before") else 1
    words = next(one for one in languages if written in one.unit or written in one.weekday)
    edge = span.start.date() if sign < 0 else span.end.date()
    if written not in words.unit:
        day = words.weekday[written]
        away = (edge.weekday() - day - 1) % 7 + 1 if sign < 0 else (day - edge.weekday() - 1) % 7 + 1
        return cal.day(edge + timedelta(days=sign * away))
    unit, counted = words.unit[written], group(step, "count")
    is_some = not counted and bool(group(step, "plural"))
    count = words.count(counted) if counted else _SOME if is_some else 1
    if count != int(count):
        raise ValueError("half a step")
    if unit == "weekend":
        away = (edge.weekday() - 5 - 1) % 7 + 1 if sign < 0 else (5 - edge.weekday() - 1) % 7 + 1
        return cal.weekend(edge + sign * (timedelta(days=away) + (int(count) - 1) * _WEEK))
    is_week = unit in ("week", "fortnight") and count == 1 and not counted.isdecimal()
    if is_week or (counted and group(step, "whole") and unit in _DAYS):
        first, last = sorted((edge + sign * _DAY, edge + timedelta(days=sign * int(count) * _DAYS[unit])))
        return cal.days(first, last, Grain.WEEK if count == 1 else Grain.RANGE)
    if is_some:
        far = cal.shifted(unit, sign * _SOME, Anchor(datetime.combine(edge, datetime.min.time())))
        days = timedelta(days=_SOME * _DAYS.get(unit, 0))
        first, last = (edge - days if days else far.start.date(), edge - _DAY)
        return cal.days(first, last, Grain.RANGE) if sign < 0 else cal.days(edge + _DAY, far.end.date(), Grain.RANGE)
    return cal.shifted(unit, sign * int(count), Anchor(datetime.combine(edge, datetime.min.time())))


def _side_before(context: Context, text: str, start: int) -> Relation | None:
    before = text[max(0, start - LOOK_BACK) : start].rstrip(" -").lower()
    for article in context.articles:
        if before.endswith(article) or before == article.strip():
            before = before.removesuffix(article.strip()).rstrip()
            break
    if not before:
        return None
    word = before[before.rfind(" ") + 1 :].lstrip("(\"'“‘")
    for phrase in (*context.before.get(word, ()), *context.before.get(before[-1], ())):
        cut = len(before) - len(phrase)
        if before.endswith(phrase) and (cut == 0 or not before[cut - 1].isalnum() or not phrase.isascii()):
            return context.sides[phrase] if not before[:cut].endswith("来") else None  # 来自: from a place
    return None


def relation(context: Context, text: str, start: int, end: int) -> Relation:
    """The side of a time that the words around it point to."""
    counted = text[start:end].lower()
    if counted.endswith(" now") and not counted.endswith("from now"):  # "for three years now"
        return Relation.SINCE
    is_counted = counted.endswith(context.counted)
    if is_counted and (beyond := before(context.beyond, text, start)):
        within, least = group(beyond, "within") or group(beyond, "within_2"), group(beyond, "least")
        return Relation.SINCE if within else Relation.UNTIL if least else Relation.BEFORE
    if side := _side_before(context, text, start):
        is_end = side is Relation.BEFORE and context.to_the_end.fullmatch(text, start, end)
        return Relation.UNTIL if is_end else side
    if before(context.open_before, text, start) and context.open_behind.match(text, end):
        return Relation.SINCE
    if not is_counted and before(context.around, text, start) and not context.portion_at.match(text, start):
        return Relation.AROUND
    if word := context.behind.match(text, end):
        side = context.sides[word[1].lower()]
        is_end = side is Relation.BEFORE and context.to_the_end.fullmatch(text, start, end)
        return Relation.UNTIL if is_end else side
    return Relation.AT
