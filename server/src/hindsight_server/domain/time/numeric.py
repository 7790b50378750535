"""Dates written with digits, in any language."""

from __future__ import annotations

import re
from datetime import date, datetime

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain
from hindsight_server.domain.time.rule import Resolver, Rule

BEFORE = r"(?<![\w/.:-])"
"""What stands before no date."""
_CENTURY_TURN = 70  # two digits from here on mean the 1900s
AFTER = r"(?![\w/-]|[.:]\d)"
"""What stands behind no date."""


def _rule(pattern: str, resolve: Resolver, trigger: str = "#4-") -> Rule:
    return Rule(re.compile(BEFORE + pattern + AFTER, re.ASCII), resolve, frozenset([trigger]))


def _iso(match: re.Match[str], anchor: Anchor) -> Span:
    if not match["clock"]:
        return cal.day(date.fromisoformat(match["day"])).absolute()
    zone = match["zone"] or ""
    at = datetime.fromisoformat(f"{match['day']}T{match['clock']}{zone}")
    if zone:
        at = at.astimezone(anchor.moment.tzinfo).replace(tzinfo=None)
    return cal.moment(at).absolute()


def _year_first(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.day(date(int(match[1]), int(match[2]), int(match[3]))).absolute()


def _day_first(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.day(date(int(match[3]), int(match[2]), int(match[1]))).absolute()


def _american(match: re.Match[str], _anchor: Anchor) -> Span:
    """Month first, as in the United States, unless that is impossible."""
    first, second, year = int(match[1]), int(match[2]), int(match[3])
    month, day = (second, first) if first > 12 else (first, second)
    return cal.day(date(year, month, day)).absolute()


def _american_short(match: re.Match[str], _anchor: Anchor) -> Span:
    first, second, year = int(match[1]), int(match[2]), int(match[3])
    month, day = (second, first) if first > 12 else (first, second)
    return cal.day(date(year + (1900 if year >= _CENTURY_TURN else 2000), month, day)).absolute()


def _month_first(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.month(int(match[2]), int(match[1])).absolute()


def _month(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.month(int(match[1]), int(match[2])).absolute()


def _years(match: re.Match[str], _anchor: Anchor) -> Span | None:
    first, last = int(match[1]), int(match[2])
    span = Span(cal.year(first).start, cal.year(last).end, Grain.RANGE, is_relative=False)
    return span if first < last else None


def _week(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.week(date.fromisocalendar(int(match[1]), int(match[2]), 1)).absolute()


RULES = (
    _rule(
        r"(?P<day>\d{4}-\d\d-\d\d)"
        r"(?:[T ](?P<clock>\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(?P<zone>Z|[+-]\d\d:?\d\d)?)?",
        _iso,
    ),
    _rule(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})", _year_first),
    _rule(r"((?:19|20)\d\d)-(\d{1,2})-(\d{1,2})", _year_first),
    _rule(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", _day_first, "#2-"),
    _rule(r"(\d{1,2})/(\d{1,2})/(\d{4})", _american, "#2-"),
    _rule(r"(\d{1,2})-(\d{1,2})-((?:19|20)\d\d)", _american, "#2-"),
    _rule(r"(\d{1,2})/(\d{1,2})/(\d\d)", _american_short, "#2-"),
    _rule(r"(0[1-9]|1[0-2])/((?:19|20)\d\d)", _month_first, "#2-"),
    _rule(r"((?:19|20)\d\d)[-/](0[1-9]|1[0-2])", _month),
    _rule(r"((?:19|20)\d\d) ?[-–] ?((?:19|20)\d\d)", _years),
    _rule(r"((?:19|20)\d\d)-W(\d\d)", _week),
)
"""All rules for dates in digits."""
