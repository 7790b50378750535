"""Days, weeks, months, seasons and years as spans of wall-clock time.

Weeks begin on Monday; seasons are those of the northern hemisphere, by whole months. Functions raise ValueError or
OverflowError for dates that do not exist.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta

from hindsight_server.domain.time.mention import Grain

_TICK = timedelta(microseconds=1)
_TO_THE_END = timedelta(days=1) - _TICK  # of the day that begins
SEASON_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each season."""
_PARTS_OF_DAY = {
    "dawn": (0, 6),
    "morning": (5, 7),
    "noon": (11, 3),
    "afternoon": (12, 6),
    "evening": (17, 7),
    "night": (18, 12),
}  # the first hour, and how many


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of wall-clock time: naive, both ends inside it.

    Args:
        repeats: what the words name comes again every ``WEEK``, ``MONTH`` or ``YEAR`` ("Friday", "the 5th", "May"), and
            this is only the nearest; None when they mean this one.
        again: what comes again every year, in a given year.
        is_joined: made of two expressions, the ends of a range.
    """

    start: datetime
    end: datetime
    grain: Grain
    is_relative: bool = True
    repeats: Grain | None = None
    again: Callable[[int], Span] | None = field(default=None, compare=False, repr=False)
    is_joined: bool = False

    @property
    def has_year(self) -> bool:
        return self.repeats is not Grain.YEAR

    def absolute(self) -> Span:
        if not self.is_relative:
            return self
        return Span(self.start, self.end, self.grain, False, self.repeats, self.again, self.is_joined)

    def repeating(self, grain: Grain) -> Span:
        return replace(self, repeats=grain)


@dataclass(frozen=True, slots=True)
class Anchor:
    """When a text was said.

    Args:
        moment: aware.
        looks_ahead: the text speaks of the future, so that a bare weekday or month is the coming one.
        looks_back: the text speaks of the past.
    """

    moment: datetime
    looks_ahead: bool = False
    looks_back: bool = False

    @property
    def day(self) -> date:
        return self.moment.date()

    def shifted(self, delta: timedelta) -> datetime:
        """The wall-clock time that is `delta` of real time away."""
        return (self.moment.astimezone(UTC) + delta).astimezone(self.moment.tzinfo).replace(tzinfo=None)


def days(first: date, last: date, grain: Grain) -> Span:
    """The whole days from `first` to `last`."""
    return Span(datetime.combine(first, time.min), datetime.combine(last, time.max), grain)


def day(at: date) -> Span:
    start = datetime(at.year, at.month, at.day)
    return Span(start, start + _TO_THE_END, Grain.DAY)


def week(at: date) -> Span:
    monday = at - timedelta(days=at.weekday())
    return days(monday, monday + timedelta(days=6), Grain.WEEK)


def weekend(at: date) -> Span:
    """The weekend of the week that `at` lies in."""
    saturday = at + timedelta(days=5 - at.weekday())
    return days(saturday, saturday + timedelta(days=1), Grain.WEEKEND)


def month(year: int, number: int) -> Span:
    """A month; numbers outside 1 to 12 count on into other years."""
    year, number = year + (number - 1) // 12, (number - 1) % 12 + 1
    last = calendar.monthrange(year, number)[1]
    return days(date(year, number, 1), date(year, number, last), Grain.MONTH)


def months(year: int, first: int, count: int, grain: Grain) -> Span:
    """`count` months from the month `first` on."""
    return Span(month(year, first).start, month(year, first + count - 1).end, grain)


def season(year: int, name: str) -> Span:
    """A season; winter begins in December of its year."""
    return months(year, SEASON_MONTHS[name], 3, Grain.SEASON)


def quarter(year: int, number: int) -> Span:
    """A quarter; numbers outside 1 to 4 count on into other years."""
    return months(year, 3 * number - 2, 3, Grain.QUARTER)


def half(year: int, number: int) -> Span:
    """The first or second half of a year."""
    if number not in (1, 2):
        raise ValueError("a year has two halves")
    return months(year, 6 * number - 5, 6, Grain.SEASON)


def half_month(month: Span, number: int) -> Span:
    """The days to the 15th, or those after it."""
    middle = month.start.replace(day=15)
    if number == 1:
        return replace(month, end=datetime.combine(middle.date(), time.max), grain=Grain.RANGE)
    return replace(month, start=middle + timedelta(days=1), grain=Grain.RANGE)


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the algorithm of Meeus, Jones and Butcher)."""
    golden, century, rest = year % 19, year // 100, year % 100
    leap = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * golden + century - century // 4 - leap + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def year(number: int) -> Span:
    return days(date(number, 1, 1), date(number, 12, 31), Grain.YEAR)


def decade(first: int) -> Span:
    return days(date(first, 1, 1), date(first + 9, 12, 31), Grain.DECADE)


def part_of_day(at: date, part: str) -> Span:
    """Morning, noon, afternoon, evening or night of a day; the night ends at six the next morning."""
    first, hours = _PARTS_OF_DAY[part]
    start = datetime.combine(at, time(first))
    return Span(start, start + timedelta(hours=hours) - _TICK, Grain.PART_OF_DAY)


def moment(at: datetime) -> Span:
    return Span(at, at, Grain.MOMENT)


_WEEK_PARTS = {"early": (0, 2), "mid": (1, 3), "late": (3, 6), "first": (0, 2), "second": (3, 6)}
_YEAR_PARTS = {"early": (0, 1), "mid": (4, 7), "late": (10, 11), "first": (0, 5), "second": (6, 11)}
_MONTH_PARTS = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}
_SEASON_PARTS = {"early": (0, 0), "mid": (1, 1), "late": (2, 2)}
_DECADE_PARTS = {"early": (0, 3), "mid": (4, 6), "late": (7, 9), "first": (0, 4), "second": (5, 9)}


def portion(span: Span, part: str) -> Span:
    """The ``early``, ``mid`` or ``late`` part, or the ``first`` or ``second`` half.

    Of a year its first and last two months and the four in the middle (people mean one month or three); of a month the
    days to its 10th, to its 20th, and the rest; of a week Monday to Wednesday, Tuesday to Thursday, Thursday to Sunday;
    of a season a month; of a decade four, three and three years; a third of anything else.
    """
    first, last = span.start.date(), span.end.date()
    if span.grain is Grain.YEAR:
        return _part(span, months(first.year, 1 + _YEAR_PARTS[part][0], 1, Grain.MONTH), _YEAR_PARTS[part])
    if span.grain is Grain.DECADE:
        tenth = (last.year - first.year + 1) // 10
        start, end = _DECADE_PARTS[part]
        years = year(first.year + start * tenth).start, year(first.year + end * tenth + tenth - 1).end
        return replace(span, start=years[0], end=years[1])
    if span.grain is Grain.WEEK and (last - first).days == 6:
        start, end = _WEEK_PARTS[part]
        return replace(span, start=span.start + timedelta(days=start), end=span.start + timedelta(days=end + 1) - _TICK)
    if part in ("first", "second"):
        return _half_of(span, part)
    if span.grain is Grain.MONTH and last.day >= 28:
        start, end = _MONTH_PARTS[part]
        return replace(
            span,
            start=datetime.combine(first.replace(day=start), time.min),
            end=datetime.combine(first.replace(day=min(end, last.day)), time.max),
        )
    if span.grain in (Grain.SEASON, Grain.QUARTER) and 80 < (last - first).days < 93:
        return _part(span, months(first.year, first.month + _SEASON_PARTS[part][0], 1, Grain.MONTH), (0, 0))
    third = max(1, ((last - first).days + 1) // 3)
    if part != "early":
        first = last - timedelta(days=third - 1) if part == "late" else first + timedelta(days=third)
    if part != "late":
        last = first + timedelta(days=third - 1)
    return replace(span, start=datetime.combine(first, time.min), end=datetime.combine(last, time.max))


def _part(span: Span, first: Span, parts: tuple[int, int]) -> Span:
    """As many months as from the first to the last of the parts."""
    of = months(first.start.year, first.start.month, parts[1] - parts[0] + 1, span.grain)
    return replace(span, start=of.start, end=of.end)


def _half_of(span: Span, part: str) -> Span:
    if span.grain is Grain.MONTH:
        return half_month(span, 1 if part == "first" else 2)
    middle = span.start + timedelta(days=((span.end - span.start).days + 1) // 2)
    return replace(span, end=middle - _TICK) if part == "first" else replace(span, start=middle)


def months_from(at: date, count: int) -> date:
    """The same day `count` months away, or the last of that month."""
    of = month(at.year, at.month + count)
    return min(of.start.date() + timedelta(days=at.day - 1), of.end.date())


def shifted(unit: str, count: int, anchor: Anchor) -> Span:
    """The day, week, month ... that is `count` units away from the anchor's (negative: before)."""
    today = anchor.day
    if unit in ("second", "minute", "hour"):
        at = anchor.shifted(timedelta(seconds=count * {"second": 1, "minute": 60, "hour": 3600}[unit]))
        return Span(at, at, Grain.HOUR if unit == "hour" else Grain.MOMENT)
    if unit == "day":
        return day(today + timedelta(days=count))
    if unit in ("week", "fortnight"):
        return week(today + timedelta(weeks=count * (2 if unit == "fortnight" else 1)))
    if unit == "weekend":
        return weekend(today + timedelta(weeks=count))
    if unit == "month":
        return month(today.year, today.month + count)
    if unit == "quarter":
        return quarter(today.year, (today.month + 2) // 3 + count)
    if unit == "decade":
        return decade(today.year // 10 * 10 + 10 * count)
    if unit in SEASON_MONTHS:
        return season_shifted(unit, count, today)
    return year(today.year + count)


def season_shifted(name: str, count: int, today: date) -> Span:
    """Minus one: the latest season of that name that is over; one: the first that has not begun; 0: this year's.

    A winter that began last year and is not over is this one.
    """
    year = today.year
    while season(year, name).end.date() >= today:
        year -= 1
    if count < 0:
        return season(year + count + 1, name)
    is_on = season(year + 1, name).start.date() <= today
    if count == 0:
        return season(year + 1 if is_on else today.year, name)
    return season(year + count + (1 if is_on else 0), name)


def weekday_shifted(number: int, count: int, today: date) -> Span:
    """Minus one: the latest such weekday before today; 0: that of this week; one: that of the next week."""
    of_week = today + timedelta(days=number - today.weekday())
    if count < 0 and of_week < today:
        return day(of_week + timedelta(weeks=count + 1))
    return day(of_week + timedelta(weeks=count))


def coming_weekday(number: int, today: date) -> Span:
    """The first such weekday after today."""
    return day(today + timedelta(days=(number - today.weekday() - 1) % 7 + 1))


def nearest_weekday(number: int, anchor: Anchor) -> Span:
    """The weekday named without more: today, else the latest one, or the coming one when the text looks ahead."""
    back = (anchor.day.weekday() - number) % 7
    if back and anchor.looks_ahead:
        return day(anchor.day + timedelta(days=7 - back))
    return day(anchor.day - timedelta(days=back))


def nearest_weekend(anchor: Anchor) -> Span:
    """The weekend named without more: this one when it has begun or the text looks ahead, else the latest."""
    begun = anchor.day.weekday() >= 5
    return weekend(anchor.day if begun or anchor.looks_ahead else anchor.day - timedelta(weeks=1))


def nearest_season(name: str, anchor: Anchor) -> Span:
    """The season named without more: the one that is on, else the latest, or the coming one for the future."""
    for year in (anchor.day.year, anchor.day.year - 1):
        on = season(year, name)
        if on.start.date() <= anchor.day <= on.end.date():
            return on
    return season_shifted(name, 1 if anchor.looks_ahead else -1, anchor.day)


def nearest_year(month_number: int, day_number: int, anchor: Anchor) -> int:
    """The year of a date named without one: the latest, the coming one when the text looks ahead.

    A text that tells nothing ("my birthday is in May") means the coming one when that is at most three months away.
    """
    today = anchor.day
    named, now = (month_number, day_number), (today.month, today.day)
    if named > now:
        soon = month_number - today.month <= 3 and not anchor.looks_back
        return today.year if anchor.looks_ahead or soon else today.year - 1
    soon = month_number + 12 - today.month <= 3 and not anchor.looks_back
    this_month = month_number == today.month
    return today.year + 1 if named < now and not this_month and (anchor.looks_ahead or soon) else today.year
