"""The kinds of time expressions that rules can name: what a match means, whatever the language.

Every function takes the match, the anchor, the words of the language, and the rule's entry of the data file. Groups of
the patterns have the same names in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain
from hindsight_server.domain.time.words import Words, number

Entry = Mapping[str, Any]
Kind = Callable[[re.Match[str], Anchor, Words, Entry], Span | None]

_FRACTIONS = {"year": ("month", 12), "decade": ("year", 10), "month": ("day", 30), "week": ("day", 7),
              "day": ("hour", 24), "hour": ("minute", 60), "minute": ("second", 60)}  # fmt: skip
_CENTURY_TURN = 70  # two digits from here on mean the 1900s; of a decade from 30 on
_SAME_TIME = timedelta(days=15)


def _word(match: re.Match[str], group: str) -> str:
    """A group, or the second of that name, in lower case; empty when neither is there or took part."""
    for name in (group, f"{group}_2"):
        if name in match.re.groupindex and match[name]:
            return str(match[name]).lower()
    return ""


def _in_part(at: date, match: re.Match[str], words: Words, part: str | None = None) -> Span:
    named = _word(match, "part")
    part = words.part[named] if named else part
    return cal.part_of_day(at, part) if part else cal.day(at)


def near_day(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """Yesterday, tonight, the day before yesterday."""
    shift, part = words.near[_word(match, "near")]
    return _in_part(anchor.day + timedelta(days=shift), match, words, part)


def days_around(_match: re.Match[str], anchor: Anchor, _words: Words, entry: Entry) -> Span:
    """The other day: from the first to the last of the entry's ``days``."""
    first, last = entry["days"]
    return cal.days(anchor.day + timedelta(days=first), anchor.day + timedelta(days=last), Grain.RANGE)


def _amount(match: re.Match[str], words: Words, entry: Entry) -> float:
    written = _word(match, "count")
    amount = words.count(written) if written else float(entry.get("count", 1))
    return amount + (0.5 if _word(match, "half") else 0)


def _shifted(unit: str, count: float, anchor: Anchor) -> Span | None:
    if count == int(count):
        return cal.shifted(unit, int(count), anchor)
    if unit not in _FRACTIONS:
        return None
    smaller, size = _FRACTIONS[unit]
    return cal.shifted(smaller, int(count * size), anchor)


def away(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """Two weeks ago, in three days: the unit that far away; of vague numbers all that they may mean."""
    sign, unit, written = entry["sign"], words.unit[_word(match, "unit")], _word(match, "count")
    if written in words.vague:
        near, far = (cal.shifted(unit, sign * count, anchor) for count in words.vague[written])
        return Span(min(near.start, far.start), max(near.end, far.end), Grain.RANGE)
    return _shifted(unit, sign * _amount(match, words, entry), anchor)


def ahead(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """In three days, where the text speaks of the future; "we did it in three days" is a duration."""
    before = match.string[max(0, match.start() - 6) : match.start()].lower().rstrip()
    is_planned = before.endswith((" is", " are", "'s", "’s"))
    return away(match, anchor, words, entry) if anchor.looks_ahead or _word(match, "time_") or is_planned else None


def begun(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """For three years now: since three years ago."""
    if _word(match, "count") in words.vague:
        return None
    return _shifted(words.unit[_word(match, "unit")], -_amount(match, words, entry), anchor)


def stretch(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """The last two weeks, the next few days: up to the anchor, or from it on."""
    unit, written = words.unit[_word(match, "unit")], _word(match, "count")
    amount: float = words.vague[written][1] if written in words.vague else _amount(match, words, entry)
    amount *= entry["sign"] if "sign" in entry else (words.step[_word(match, "step")] or -1)
    if amount != int(amount):
        if unit not in _FRACTIONS:
            return None
        unit, size = _FRACTIONS[unit]
        amount *= size
    count, now = int(amount), anchor.moment.replace(tzinfo=None)
    if unit in ("second", "minute", "hour"):
        far = cal.shifted(unit, count, anchor).start
    elif unit in ("day", "week", "weekend", "fortnight"):
        far = datetime.combine(anchor.day + timedelta(days=count * {"day": 1, "fortnight": 14}.get(unit, 7)), time.min)
    else:
        months = {"month": 1, "quarter": 3, "decade": 120}.get(unit, 12)
        far = datetime.combine(cal.months_from(anchor.day, months * count), time.min)
    return Span(min(far, now), max(far, now), Grain.RANGE)


def step(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """Last week, this spring, next Friday, the month after next."""
    count = entry["step"] if "step" in entry else words.step[_word(match, "step")]
    name = entry.get("unit") or _word(match, "name")
    if name in words.weekday:
        span = _weekday_step(words.weekday[name], count, anchor, coming=_word(match, "step") in entry.get("coming", ()))
        return _in_part(span.start.date(), match, words)
    if name in words.month:
        return _month_step(words.month[name], count, anchor.day)
    if name in words.season:
        return cal.season_shifted(words.season[name], count, anchor.day)
    if name in words.holiday:
        return _holiday_step(words, name, count, anchor)
    unit = words.unit.get(name, name)
    span = _portioned(cal.shifted(unit, count, anchor), match, words)
    if "unit" in entry and not count and anchor.looks_back and span.start.date() > anchor.day:
        return _portioned(cal.shifted(unit, -1, anchor), match, words)  # "年底我们去了北京"
    return span


def _weekday_step(day: int, count: int, anchor: Anchor, *, coming: bool) -> Span:
    return cal.coming_weekday(day, anchor.day) if coming else cal.weekday_shifted(day, count, anchor.day)


def _month_step(month: int, count: int, today: date) -> Span:
    """Last May: the latest that is over; this May: this year's; next May: the first that has not begun."""
    if count < 0:
        return cal.month(today.year + count + (1 if month < today.month else 0), month)
    if count > 0:
        return cal.month(today.year + count - (1 if month > today.month else 0), month)
    return cal.month(today.year, month)


def _holiday_step(words: Words, name: str, count: int, anchor: Anchor) -> Span:
    holiday, year = words.holiday[name], anchor.day.year
    if count < 0:
        year += count + (1 if holiday.of(year) < anchor.day else 0)
    elif count > 0:
        year += count - (1 if holiday.of(year) >= anchor.day else 0)
    return cal.day(holiday.of(year))


def _portioned(span: Span, match: re.Match[str], words: Words) -> Span:
    portion = _word(match, "portion")
    return cal.portion(span, words.portion[portion]) if portion else span


def week_day(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """上周, 上周一, 周末, 周三下午: a week, and a day in it that is counted in that week."""
    written, named = _word(match, "step"), _word(match, "weekday")
    if not written and not named:
        return None
    is_weekend = named in entry["weekend"]
    if not written:
        if is_weekend:
            return cal.weekend(anchor.day)
        span = cal.nearest_weekday(words.weekday[named], anchor)
        return _in_part(span.start.date(), match, words).repeating(Grain.WEEK)
    of_week = anchor.day + timedelta(weeks=words.step[written])
    if not named:
        return cal.week(of_week)
    if is_weekend:
        return cal.weekend(of_week)
    return _in_part(of_week + timedelta(days=words.weekday[named] - of_week.weekday()), match, words)


def weekday(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """On Friday evening."""
    span = cal.nearest_weekday(words.weekday[_word(match, "weekday")], anchor)
    return _in_part(span.start.date(), match, words).repeating(Grain.WEEK)


def weekend(_match: re.Match[str], anchor: Anchor, _words: Words, _entry: Entry) -> Span:
    """Over the weekend."""
    return cal.nearest_weekend(anchor)


def day_of_month(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """The 15th: of this month, else of the last, or of the next when the text looks ahead."""
    day, today, written = number(_word(match, "day")), anchor.day, _word(match, "step")
    if written:
        shift = words.step[written]
    else:
        shift = (1 if day < today.day else 0) if anchor.looks_ahead else (-1 if day > today.day else 0)
    at = cal.month(today.year, today.month + shift).start.date().replace(day=day)
    span = _in_part(at, match, words)
    return span if written else span.repeating(Grain.MONTH)


def in_year(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span | None:
    """A year, or a month, day, quarter, half, season or holiday of it; without a year the nearest."""
    written, stepped, short = _word(match, "year"), _word(match, "year_step"), _word(match, "short_year")
    if written:
        return _of_year(match, words, number(written)).absolute()
    if short:
        digits = int(short)
        return _of_year(match, words, digits + (1900 if digits >= _CENTURY_TURN else 2000)).absolute()
    if stepped:
        return _of_year(match, words, anchor.day.year + words.step[stepped])
    return _nearest(match, anchor, words)


def _of_year(match: re.Match[str], words: Words, year: int) -> Span:
    if month := _word(match, "month"):
        return _of_month(match, words, year, words.month.get(month) or number(month))
    if half := _word(match, "half"):
        span = cal.half(year, words.rank(half))
    elif quarter := _word(match, "quarter"):
        span = cal.quarter(year, words.rank(quarter))
    elif season := _word(match, "season"):
        span = cal.season(year, words.season[season])
    elif name := _word(match, "holiday"):
        span = _of_holiday(match, words, year, name)
    else:
        span = cal.year(year)
    return _portioned(span, match, words)


def _of_month(match: re.Match[str], words: Words, year: int, month: int) -> Span:
    day, last = _word(match, "day"), _word(match, "last")
    if not day:
        span = cal.month(year, month)
        half = _word(match, "month_half")
        return cal.half_month(span, words.rank(half)) if half else _portioned(span, match, words)
    first = date(year, month, number(day))
    if not last:
        return _in_part(first, match, words)
    if number(last) < first.day:
        raise ValueError("a stretch of days that ends before it begins")
    return cal.days(first, first.replace(day=number(last)), Grain.RANGE)


def _of_holiday(match: re.Match[str], words: Words, year: int, name: str) -> Span:
    holiday = words.holiday[name.replace("’", "'")]
    first = holiday.of(year)
    if holiday.days > 1 and (_word(match, "long") or holiday.whole):
        return cal.days(first, first + timedelta(days=holiday.days - 1), Grain.RANGE)
    return _in_part(first, match, words)


def _nearest(match: re.Match[str], anchor: Anchor, words: Words) -> Span | None:
    """What is named without its year: the latest, or the coming one when the text looks ahead."""
    today = anchor.day
    if month := _word(match, "month"):
        day = _word(match, "day")
        year = cal.nearest_year(words.month.get(month) or number(month), number(day) if day else 1, anchor)
    elif season := _word(match, "season"):
        year = cal.nearest_season(words.season[season], anchor).start.year
    elif name := _word(match, "holiday"):
        near = words.holiday[name.replace("’", "'")].of(today.year)
        year = cal.nearest_year(near.month, near.day, anchor)
    elif _word(match, "quarter") or _word(match, "half"):
        begins = _of_year(match, words, today.year).start.date()
        year = today.year - 1 if begins > today and anchor.looks_back else today.year
    else:
        return None
    again = partial(_of_year, match, words)
    return replace(again(year), repeats=Grain.YEAR, again=again)


def decade(match: re.Match[str], _anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """The 1990s, the nineties, 90年代."""
    written = _word(match, "decade")
    first = words.rank(written)
    if first < 100:
        first += 1900 if first >= 30 else 2000
    return cal.decade(first // 10 * 10).absolute()


def same_time(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """This time last year."""
    at = cal.months_from(anchor.day, 12 * words.step[_word(match, "step")])
    return cal.days(at - _SAME_TIME, at + _SAME_TIME, Grain.RANGE)


def years_away(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span:
    """两年前的夏天: a part of the year that far away."""
    count = int(words.count(_word(match, "count")))
    return replace(_of_year(match, words, anchor.day.year + entry["sign"] * count), repeats=None)


KINDS: Mapping[str, Kind] = {
    kind.__name__: kind
    for kind in (
        near_day, days_around, away, ahead, begun, stretch, step, week_day, weekday, weekend, day_of_month, in_year,
        decade, same_time, years_away,
    )
}  # fmt: skip
"""The kinds by the names that data files use."""
