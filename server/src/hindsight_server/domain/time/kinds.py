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
_SAME_TIME = {"year": timedelta(days=15), "month": timedelta(days=7)}


def _word(match: re.Match[str], group: str) -> str:
    """A group, or another of that name with a number, in lower case; empty when none is there or took part."""
    for name in (group, f"{group}_2", f"{group}_3", f"{group}_4"):
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
    between: tuple[float, float] | None = entry.get("between", {}).get(unit) or words.vague.get(written)
    if last := _word(match, "count_to"):
        between = words.count(written), words.vague[last][1] if last in words.vague else words.count(last)
    elif _word(match, "about"):
        between = words.count(written) - 1, words.count(written) + 1
    elif _word(match, "more") and not _word(match, "half"):
        between = _and_more(words.count(written))
    if between:
        near, far = (_shifted(unit, sign * count, anchor) for count in between)
        return near and far and Span(min(near.start, far.start), max(near.end, far.end), Grain.RANGE)
    return _shifted(unit, sign * _amount(match, words, entry), anchor)


def _and_more(count: float) -> tuple[float, float]:
    """三年多: more than three years and less than four; 二十多: up to 29; 半个多月: less than a whole one."""
    if count < 1:
        return count, 1.6 * count
    return count, count + (count - 1 if count == 10 else 9 if count > 10 and count % 10 == 0 else 1)


def away_exact(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """A week ago today, exactly three weeks ago: the day itself, not its week."""
    unit, near = words.unit[_word(match, "unit")], _word(match, "near")
    count, at = entry["sign"] * _amount(match, words, entry), anchor.day
    if count != int(count):
        return None
    days = {"day": 1, "week": 7, "fortnight": 14}.get(unit)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    if near:
        at += timedelta(days=words.near[near][0])
    if days:
        return cal.day(at + timedelta(days=days * int(count)))
    return cal.day(cal.months_from(at, months * int(count))) if months else _shifted(unit, count, anchor)


def named_away(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """Two Fridays ago, two Christmases ago."""
    count, name = entry["sign"] * int(words.count(_word(match, "count"))), _word(match, "name")
    if name in words.weekday:
        return _in_part(cal.weekday_shifted(words.weekday[name], count, anchor.day).start.date(), match, words)
    if name in words.month:
        return _month_step(words.month[name], count, anchor.day)
    return _holiday_step(words, name, count, anchor)


def weekday_weeks(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span | None:
    """A week last Tuesday, two weeks from Monday: that weekday, and so many weeks more."""
    day, weeks = words.weekday[_word(match, "weekday")], timedelta(weeks=int(words.count(_word(match, "count"))))
    if entry["sign"] > 0:
        return cal.day(cal.coming_weekday(day, anchor.day).start.date() + weeks)
    return cal.day(cal.weekday_shifted(day, -1, anchor.day).start.date() - weeks)


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
    if unit == "weekend" and _word(match, "step") in entry.get("coming", ()):
        return cal.weekend(anchor.day + timedelta(weeks=1 if anchor.day.weekday() >= 5 else 0))
    span = _portioned(cal.shifted(unit, count, anchor), match, words)
    if entry.get("unit") and not count and anchor.looks_back and span.start.date() > anchor.day:
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
    if is_weekend and _word(match, "gone"):
        return cal.nearest_weekend(replace(anchor, looks_ahead=False))
    if not written:
        if is_weekend:
            span = cal.nearest_weekend(anchor) if anchor.looks_back else cal.weekend(anchor.day)
            return span.repeating(Grain.WEEK)
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
    return cal.nearest_weekend(anchor).repeating(Grain.WEEK)


def day_of_month(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """The 15th: of this month, else of the last, or of the next when the text looks ahead."""
    day, today, written = words.rank(_word(match, "day")), anchor.day, _word(match, "step")
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
    if last_month := _word(match, "month_to"):
        return cal.months(year, month, number(last_month) - month + 1, Grain.SEASON)
    if not day:
        span = cal.month(year, month)
        half = _word(match, "month_half")
        return cal.half_month(span, words.rank(half)) if half else _portioned(span, match, words)
    first = date(year, month, words.rank(day))
    if not last:
        return _in_part(first, match, words)
    last_day = words.rank(last)
    if last_day < first.day:
        raise ValueError("a stretch of days that ends before it begins")
    return cal.days(first, first.replace(day=last_day), Grain.RANGE)


def _of_holiday(match: re.Match[str], words: Words, year: int, name: str) -> Span:
    holiday = words.holiday[name.replace("’", "'")]
    first = holiday.of(year)
    is_weekend = bool(_word(match, "weekend"))
    if holiday.days > 1 and (is_weekend or _word(match, "long") or holiday.whole):
        start = first + timedelta(days=holiday.lead)
        return cal.days(start, start + timedelta(days=holiday.days - 1), Grain.RANGE)
    if is_weekend:
        return _long_weekend(first)
    return _in_part(first, match, words)


def _long_weekend(holiday: date) -> Span:
    """The weekend with the holiday beside it; of a holiday in the middle of a week that of its week."""
    before, behind = {0: (2, 0), 3: (0, 3), 4: (0, 2), 5: (0, 1), 6: (1, 0)}.get(holiday.weekday(), (-1, -1))
    if before < 0:
        return cal.weekend(holiday)
    return cal.days(holiday - timedelta(days=before), holiday + timedelta(days=behind), Grain.RANGE)


def _nearest(match: re.Match[str], anchor: Anchor, words: Words) -> Span | None:
    """What is named without its year: the latest, or the coming one when the text looks ahead."""
    today = anchor.day
    if month := _word(match, "month"):
        day = _word(match, "day")
        year = cal.nearest_year(words.month.get(month) or number(month), words.rank(day) if day else 1, anchor)
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


def century(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """The 19th century, 上个世纪: from 1800 to 1899."""
    step = _word(match, "step")
    number_of = anchor.day.year // 100 + 1 + words.step[step] if step else words.rank(_word(match, "century"))
    first, last = cal.year(number_of * 100 - 100), cal.year(number_of * 100 - 1)
    return Span(first.start, last.end, Grain.DECADE, is_relative=bool(step))


def week_number(match: re.Match[str], anchor: Anchor, words: Words, _entry: Entry) -> Span:
    """Week 23 of 2023, by ISO 8601."""
    written, stepped = _word(match, "year"), _word(match, "year_step")
    year = number(written) if written else anchor.day.year + (words.step[stepped] if stepped else 0)
    span = cal.week(date.fromisocalendar(year, words.rank(_word(match, "week")), 1))
    return span.absolute() if written else span


def same_time(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span:
    """This time last year, this day last month, 去年同期, 上周的今天: a few days around, that day, week or month."""
    written, counted = _word(match, "unit"), _word(match, "count")
    unit = words.unit[written] if written else "year"
    count = -int(words.count(counted)) if counted else words.step[_word(match, "step") or _word(match, "year_step")]
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
    at = cal.months_from(anchor.day, months * count) if months else anchor.day + timedelta(weeks=count)
    same = entry["same"][_word(match, "same")]
    if same == "month":
        return cal.month(at.year, at.month)
    if same == "week":
        return cal.week(at)
    beside = _SAME_TIME.get(unit, timedelta()) if same == "time" else timedelta()
    return cal.days(at - beside, at + beside, Grain.RANGE) if beside else cal.day(at)


def years_away(match: re.Match[str], anchor: Anchor, words: Words, entry: Entry) -> Span:
    """两年前的夏天: a part of the year that far away."""
    count = int(words.count(_word(match, "count")))
    return replace(_of_year(match, words, anchor.day.year + entry["sign"] * count), repeats=None)


KINDS: Mapping[str, Kind] = {
    kind.__name__: kind
    for kind in (
        near_day, days_around, away, away_exact, named_away, ahead, begun, stretch, step, week_day, weekday,
        weekday_weeks, weekend, week_number, day_of_month, in_year, decade, century, same_time, years_away,
    )
}  # fmt: skip
"""The kinds by the names that data files use."""
