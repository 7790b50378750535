"""What the words around a time expression make of it: parts, clock times, ranges, "the week before", "since"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Context
from hindsight_server.domain.time.mention import Grain, Relation
from hindsight_server.domain.time.words import Words, number

Found = tuple[int, int, Span]
"""Start, end and meaning of an expression."""

_LOOK_BACK = 40  # characters before an expression that may change it, at most
_GUARDED = 6  # words of "the first two weeks of the"
_DIVISIBLE = frozenset({Grain.WEEK, Grain.MONTH, Grain.SEASON, Grain.QUARTER, Grain.YEAR, Grain.DECADE})
_LATE_PARTS = frozenset({"noon", "afternoon", "evening", "night"})
_WEEK = timedelta(days=7)


def _group(match: re.Match[str], name: str) -> str:
    return (match[name] or "").lower() if name in match.re.groupindex else ""


def _cue(context: Context, text: str, at: int) -> bool:
    """Whether the word or character before a position is one that can change what follows."""
    before = text[max(0, at - 16) : at].rstrip(" -").lower()
    if not before:
        return False
    return before[-1] in context.cues or before[before.rfind(" ") + 1 :].strip("(,;:\"'“‘") in context.cues


def _guard(context: Context, text: str, at: int) -> bool:
    """Whether one of the few words before a position belongs to a longer phrase that changes what follows."""
    return not context.guards.isdisjoint(
        text[max(0, at - _LOOK_BACK) : at].lower().replace("-", " ").split()[-_GUARDED:]
    )


def _before(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """What a pattern that ends in ``$`` matches just before a position."""
    return pattern.search(text, max(0, at - _LOOK_BACK), at)


def recurs(context: Context, text: str, start: int) -> bool:
    """Whether the expression names a habit ("every Friday"), which is no time."""
    return _cue(context, text, start) and _before(context.recurring, text, start) is not None


def refined(context: Context, text: str, found: Found) -> Found:
    """Take in "early", "the end of" before an expression, and a clock time after or before it."""
    start, end, span = found
    if span.grain in _DIVISIBLE:
        if not _guard(context, text, start):
            return found
        if counted := _before(context.count_of, text, start):
            return counted.start(), end, _counted(span, counted, context.words[0])
        if (part := _before(context.portion, text, start)) is None:
            return found
        name = next(words.portion[part[part.lastgroup or 0].lower()] for words in context.words if words.portion)
        return part.start(), end, cal.portion(span, name)
    if span.grain not in (Grain.DAY, Grain.PART_OF_DAY):
        return found
    for pattern, words in context.clocks:
        if clock := pattern.match(text, end):
            return start, clock.end(), _at_clock(span, clock, words)
    if text[max(0, start - 10) : start].rstrip()[-1:] in ("m", "M", ".", "n", "e", ",") and (
        clock := _before(context.clock_before, text, start)
    ):
        return clock.start(), end, _at_clock(span, clock, context.words[0])
    return found


def _counted(span: Span, counted: re.Match[str], words: Words) -> Span:
    """The first two weeks of, the last weekend of."""
    written, unit = _group(counted, "count"), words.unit[_group(counted, "unit")]
    count = words.vague[written][1] if written in words.vague else int(words.count(written)) if written else 1
    is_first, first, last = bool(_group(counted, "first")), span.start.date(), span.end.date()
    if unit == "weekend":
        saturday = (first + timedelta(days=(5 - first.weekday()) % 7)) if is_first else None
        return cal.weekend(saturday or last - timedelta(days=(last.weekday() - 5) % 7))
    if unit == "month":
        edge = cal.months_from(first, count) if is_first else cal.months_from(last + timedelta(days=1), -count)
    else:
        days = timedelta(days=count * (7 if unit == "week" else 1))
        edge = first + days if is_first else last + timedelta(days=1) - days
    whole = cal.days(first, edge - timedelta(days=1), Grain.RANGE) if is_first else cal.days(edge, last, Grain.RANGE)
    return replace(whole, is_relative=span.is_relative, repeats=span.repeats)


def _at_clock(span: Span, clock: re.Match[str], words: Words) -> Span:
    hour, noon, part = number(_group(clock, "hour")), _group(clock, "noon"), _group(clock, "part")
    if hour > 23:
        return span
    if noon:
        hour = hour % 12 + (12 if noon == "p" else 0)
    else:
        is_late = words.part.get(part) in _LATE_PARTS
        is_late |= span.grain is Grain.PART_OF_DAY and span.start.hour >= 12
        hour = hour + 12 if is_late and hour < 11 else hour
    written = _group(clock, "minute")
    minute = 30 if _group(clock, "half") else number(written) if written else 0
    at = span.start.replace(hour=hour, minute=min(minute, 59), second=0, microsecond=0)
    return replace(span, start=at, end=at, grain=Grain.MOMENT)


def nested(context: Context, text: str, found: list[Found]) -> list[Found]:
    """Join "Tuesday of last week", "Christmas last year", "last month on the 5th" into one."""
    joined: list[Found] = []
    for one in found:
        inside = _nest(context, text, joined[-1], one) if joined else None
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
    if last[0] - first[1] > _LOOK_BACK:
        return None
    link = context.link.fullmatch(text, first[1], last[0])
    if link is None or (_group(link, "and") and not _before(context.between, text, first[0])):
        return None
    a, b = _ordered(first[2], last[2], anchor.day)
    if a.start > b.end:
        return None
    repeats = Grain.YEAR if not a.has_year and not b.has_year else None
    both = Span(a.start, b.end, Grain.RANGE, a.is_relative and b.is_relative, repeats)
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
    if a.start <= b.end or not (a.is_relative and b.is_relative):
        return a, b
    if a.again and b.again:
        return a.again(a.start.year - 1), b
    if a.start - b.end < _WEEK and a.repeats is b.repeats:
        if (b.start + _WEEK).date() > today:
            return replace(a, start=a.start - _WEEK, end=a.end - _WEEK), b
        return a, replace(b, start=b.start + _WEEK, end=b.end + _WEEK)
    return a, b


def stepped(context: Context, text: str, found: Found) -> Found:
    """Take in "the week before", "two days after", "the Friday before", "the week of"; 前一天, 后两周 behind."""
    guarded = _guard(context, text, found[0])
    step = _before(context.step_before, text, found[0]) if guarded else None
    start, end = (step.start(), found[1]) if step else (found[0], found[1])
    if step is None:
        if found[2].grain not in (Grain.DAY, Grain.RANGE, Grain.PART_OF_DAY):
            return found
        if guarded and (week := _before(context.week_of, text, found[0])):
            span = _around(found[2], _group(week, "unit"))
            return week.start(), end, replace(span, is_relative=found[2].is_relative)
        if (step := context.step_behind.match(text, found[1])) is None:
            return found
        end = step.end()
    try:
        span = _step(found[2], step, context.words)
    except (ValueError, OverflowError, KeyError):
        return found
    return start, end, replace(span, is_relative=found[2].is_relative)


def _around(span: Span, unit: str) -> Span:
    of = {"week": cal.week, "weekend": cal.weekend}.get(unit)
    return of(span.start.date()) if of else cal.month(span.start.year, span.start.month)


def _step(span: Span, step: re.Match[str], languages: tuple[Words, ...]) -> Span:
    written, sign = _group(step, "unit"), -1 if _group(step, "before") else 1
    words = next(one for one in languages if written in one.unit or written in one.weekday)
    edge = span.start.date() if sign < 0 else span.end.date()
    if written not in words.unit:
        day = words.weekday[written]
        away = (edge.weekday() - day - 1) % 7 + 1 if sign < 0 else (day - edge.weekday() - 1) % 7 + 1
        return cal.day(edge + timedelta(days=sign * away))
    unit, counted = words.unit[written], _group(step, "count")
    count = words.count(counted) if counted else 1
    if count != int(count):
        raise ValueError("half a step")
    if unit == "week" and count == 1 and not counted.isdecimal():
        first, last = sorted((edge + timedelta(days=sign), edge + timedelta(days=7 * sign)))
        return cal.days(first, last, Grain.WEEK)
    return cal.shifted(unit, sign * int(count), Anchor(datetime.combine(edge, datetime.min.time())))


def _side_before(context: Context, text: str, start: int) -> Relation | None:
    before = text[max(0, start - _LOOK_BACK) : start].rstrip().lower()
    for article in context.articles:
        if before.endswith(article):
            before = before.removesuffix(article)
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
    if text[max(start, end - 4) : end].lower() == " now":  # "for three years now"
        return Relation.SINCE
    if side := _side_before(context, text, start):
        return side
    if word := context.behind.match(text, end):
        return context.sides[word[1].lower()]
    return Relation.AT
