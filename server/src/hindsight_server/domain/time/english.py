"""English time expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain
from hindsight_server.domain.time.rule import Resolver, Rule

_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "few": 3, "several": 4,
    "first": 1, "second": 2, "third": 3, "fourth": 4,
}  # fmt: skip
_VAGUE = {"few": (2, 5), "several": (3, 7), "some": (2, 7)}
_MONTHS = {name: number for number, names in enumerate(
    ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
     "sep sept september", "oct october", "nov november", "dec december"), 1) for name in names.split()}  # fmt: skip
WEEKDAYS = {name: number for number, names in enumerate(
    ("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thur thurs", "friday fri", "saturday sat",
     "sunday sun")
) for name in names.split()}  # fmt: skip
_UNITS = {
    "sec": "second", "second": "second", "min": "minute", "minute": "minute", "hr": "hour", "hour": "hour",
    "day": "day", "night": "day", "week": "week", "wk": "week", "weekend": "weekend", "fortnight": "fortnight",
    "month": "month", "quarter": "quarter", "year": "year", "yr": "year", "decade": "decade", "spring": "spring",
    "summer": "summer", "autumn": "autumn", "fall": "fall", "winter": "winter",
}  # fmt: skip
_SEASONS = frozenset(cal.SEASON_MONTHS)


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_COUNT = rf"(?P<count>\d{{1,3}}|{_any(n for n in _NUMBERS if n not in ('first', 'third', 'fourth'))}|some)"
_HOW_MANY = rf"(?:a |the )?{_COUNT}(?: of)?(?: (?:more|whole|full))?"
_UNIT = rf"(?P<unit>{_any(_UNITS)})s?"
_MONTH = rf"(?P<month>{_any(_MONTHS)})\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_NOT_IN_CODE = r"(?<![\w/.:$€£#-])"
_DONE = r"(?![\w/-]|[.,:]\d)"


def _rule(pattern: str, resolve: Resolver, triggers: Iterable[str], lead: int = 0) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), resolve, frozenset(triggers), lead)


def number_of(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _near_day(match: re.Match[str], anchor: Anchor) -> Span | None:
    words = match[0].lower().split()
    today = anchor.day
    if "before" in words:
        return cal.day(today - timedelta(days=2))
    if "after" in words:
        return cal.day(today + timedelta(days=2))
    offset = -1 if words[0] in ("yesterday", "last") else 1 if words[0] == "tomorrow" else 0
    at = today + timedelta(days=offset)
    part = words[-1] if len(words) > 1 else "night" if words[0] == "tonight" else ""
    return cal.part_of_day(at, part) if part in ("morning", "afternoon", "evening", "night") else cal.day(at)


def _other_day(_match: re.Match[str], anchor: Anchor) -> Span:
    return cal.days(anchor.day - timedelta(days=7), anchor.day - timedelta(days=1), Grain.RANGE)


def _away(match: re.Match[str], anchor: Anchor) -> Span | None:
    """Two weeks ago, in three days."""
    sign = -1 if (match["ago"] or "").lower() in ("ago", "back", "earlier") else 1
    unit, word = _UNITS[match["unit"].lower()], match["count"].lower()
    if word in _VAGUE:
        near, far = (cal.shifted(unit, sign * count, anchor) for count in _VAGUE[word])
        return Span(min(near.start, far.start), max(near.end, far.end), Grain.RANGE)
    return cal.shifted(unit, sign * number_of(word), anchor)


def _begun(match: re.Match[str], anchor: Anchor) -> Span | None:
    """For three years now: since three years ago."""
    unit, word = _UNITS[match["unit"].lower()], match["count"].lower()
    return None if word in _VAGUE else cal.shifted(unit, -number_of(word), anchor)


def _ahead(match: re.Match[str], anchor: Anchor) -> Span | None:
    """In three days; "we did it in three days" is a duration."""
    before = match.string[max(0, match.start() - 6) : match.start()].lower().rstrip()
    if not (anchor.looks_ahead or match["time_"] or before.endswith((" is", " are", "'s", "’s"))):
        return None
    return _away(match, anchor)


def _stretch(match: re.Match[str], anchor: Anchor) -> Span | None:
    """The last two weeks, the next few days: up to the anchor, or from it on."""
    unit, word = _UNITS[match["unit"].lower()], match["count"].lower()
    count = _VAGUE[word][1] if word in _VAGUE else number_of(word)
    count = -count if match["way"].lower() in ("last", "past", "previous") else count
    now = anchor.moment.replace(tzinfo=None)
    if unit in ("second", "minute", "hour"):
        far = cal.shifted(unit, count, anchor).start
    elif unit in ("day", "week", "weekend", "fortnight"):
        size = {"day": 1, "fortnight": 14}.get(unit, 7)
        far = cal.day(anchor.day + timedelta(days=size * count)).start
    elif unit in _SEASONS:
        return None
    else:
        size = {"month": 1, "quarter": 3, "decade": 120}.get(unit, 12)
        far = cal.day(cal.months_from(anchor.day, size * count)).start
    return Span(min(far, now), max(far, now), Grain.RANGE)


_STEPS = {"last": -1, "past": -1, "previous": -1, "this past": -1, "this": 0, "current": 0}


def _step(match: re.Match[str], anchor: Anchor) -> Span | None:
    """Last week, this spring, next Friday."""
    way, name = match["way"].lower(), match["name"].lower()
    count = _STEPS.get(way, 1)
    if way == "this" and match["name"] in ("sun", "sat", "mon", "mar"):
        return None
    if name in WEEKDAYS:
        if way in ("coming", "this coming"):
            return cal.coming_weekday(WEEKDAYS[name], anchor.day)
        return cal.weekday_shifted(WEEKDAYS[name], count, anchor.day)
    if name in _MONTHS:
        return _month_step(_MONTHS[name], count, anchor.day)
    return cal.shifted(_UNITS[name], count, anchor)


def _two_steps(match: re.Match[str], anchor: Anchor) -> Span | None:
    """The week before last, the month after next."""
    return cal.shifted(_UNITS[match["name"].lower()], -2 if match["way"].lower() == "before last" else 2, anchor)


def _month_step(number: int, count: int, today: date) -> Span:
    """Last May: the latest that is over; this May: this year's; next May: the first that has not begun."""
    if count < 0:
        return cal.month(today.year + count + (1 if number < today.month else 0), number)
    if count > 0:
        return cal.month(today.year + count - (1 if number > today.month else 0), number)
    return cal.month(today.year, number)


def _month_day(match: re.Match[str], anchor: Anchor) -> Span | None:
    number, first = _MONTHS[match["month"].lower()], int(match["day"])
    last = int(match["last"] or first)
    has_year = match["year"] is not None
    if match["month"] in ("may", "march", "mar") and not has_year:
        return None  # the verb
    year = int(match["year"]) if has_year else cal.nearest_year(number, first, anchor)
    grain = Grain.DAY if last == first else Grain.RANGE
    span = cal.days(date(year, number, first), date(year, number, last), grain)
    return Span(span.start, span.end, grain, not has_year, has_year) if first <= last else None


def _day_alone(match: re.Match[str], anchor: Anchor) -> Span:
    """The 15th: of this month, else of the last, or of the next when the text looks ahead."""
    number, today = int(match["day"]), anchor.day
    shift = (1 if number < today.day else 0) if anchor.looks_ahead else (-1 if number > today.day else 0)
    return cal.day(cal.month(today.year, today.month + shift).start.date().replace(day=number))


def _month_year(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.month(int(match["year"]), _MONTHS[match["month"].lower()]).absolute()


def _month_alone(match: re.Match[str], anchor: Anchor) -> Span | None:
    name = match["month"]
    number = _MONTHS[name.lower()]
    if not name[0].isupper() or len(name) < 3 or (len(name) == 3 and number != 5):
        return None  # "may" and "march" are verbs; abbreviations alone are too often something else
    year = cal.nearest_year(number, 1, anchor)
    span = cal.month(year, number)
    return Span(span.start, span.end, span.grain, True, False)


def _year_alone(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.year(int(match["year"])).absolute()


def _decade(match: re.Match[str], _anchor: Anchor) -> Span:
    digits = match["decade"]
    return cal.decade(int(digits) if len(digits) == 4 else 1900 + int(digits)).absolute()


def _season_year(match: re.Match[str], _anchor: Anchor) -> Span:
    return cal.season(int(match["year"]), match["season"].lower()).absolute()


def _quarter(match: re.Match[str], anchor: Anchor) -> Span | None:
    word = (match["q1"] or match["q"]).lower()
    number = int(word[0]) if word[0].isdecimal() else _NUMBERS[word]
    written = match["year"] or match["year_before"]
    span = cal.quarter(int(written) if written else anchor.day.year, number)
    return span.absolute() if written else span


def _weekday_alone(match: re.Match[str], anchor: Anchor) -> Span | None:
    number = WEEKDAYS[match["weekday"].lower()]
    span = cal.nearest_weekday(number, anchor)
    return cal.part_of_day(span.start.date(), match["part"].lower()) if match["part"] else span


_HOLIDAYS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "boxing day": (12, 26),
    "halloween": (10, 31), "new year's eve": (12, 31), "new year's day": (1, 1), "valentine's day": (2, 14),
    "independence day": (7, 4),
    "thanksgiving": (11, 0),
}  # fmt: skip


def _holiday(match: re.Match[str], anchor: Anchor) -> Span:
    number, at = _HOLIDAYS[match["holiday"].lower().replace("’", "'")]
    way = (match["way"] or "").lower()
    today = anchor.day
    year = int(match["year"]) if match["year"] else today.year

    def of(year: int) -> date:
        first = date(year, number, 1)
        return date(year, number, at) if at else first + timedelta(days=(3 - first.weekday()) % 7 + 21)

    if not match["year"]:
        if way == "next" or (anchor.looks_ahead and not way):
            year += of(year) < today
        elif way == "last" or not way:
            year -= of(year) > today if way != "last" else of(year) >= today
    span = cal.day(of(year))
    return span.absolute() if match["year"] else span


_STEPPED = [name for name, unit in _UNITS.items() if unit not in ("second", "minute", "hour", "day")]
_NAMED = rf"(?P<name>{_any([*_STEPPED, *_MONTHS, *WEEKDAYS])})"
_LAST_DAY = r"(?: ?[-–] ?(?P<last>[0-3]?\d)(?:st|nd|rd|th)?)?"
_ORDINAL_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)"
_NO_RANK = r"(?=$|[.,;!?)]| (?:and|but|after|before|at|to|with|for|we|i|he|she|they|it)\b)"
_BEFORE_MONTH = r"\b(?:in|since|until|till|by|of|before|after|during|from|to|through|early|mid|late|between|and)[ -]"
_BEFORE_YEAR = rf"(?:{_BEFORE_MONTH}|\byear |(?<=[(]))"
_NO_AMOUNT = r"(?! (?:years|days|people|dollars|euros|miles|km|steps|words|users|items|times|calories)\b)"
_FULL_WEEKDAYS = [name for name in WEEKDAYS if name.endswith("day")]
_HOLIDAY = _any(_HOLIDAYS).replace("'", "['’]")
_PART = r"(?: (?P<part>morning|afternoon|evening|night))?"
_WAYS = ("last", "past", "previous", "next", "coming", "following")
_PLURAL_UNITS = [*_UNITS, *(f"{unit}s" for unit in _UNITS)]

RULES = (
    _rule(
        r"\b(?:(?:the )?day before yesterday|(?:the )?day after tomorrow|tonight|last night"
        r"|this (?:morning|afternoon|evening)|(?:yesterday|tomorrow|today)(?: (?:morning|afternoon|evening|night))?)\b",
        _near_day,
        ("yesterday", "tomorrow", "today", "tonight", "night", "this"),
        lead=3,
    ),
    _rule(r"\bthe other (?:day|night)\b", _other_day, ("other",), lead=1),
    _rule(
        rf"\b{_HOW_MANY} {_UNIT} (?P<ago>ago|back|earlier|from now|from today)\b",
        _away,
        ("ago", "back", "earlier", "from"),
        lead=5,
    ),
    _rule(
        rf"\b(?:for|been) (?:about |over |almost |around |nearly )?(?P<time>(?P<ago>){_HOW_MANY} {_UNIT} now)\b",
        _begun,
        ("now",),
        lead=7,
    ),
    _rule(
        rf"\b(?:on|by|until|till|since|before|after) (?P<time>the {_ORDINAL_DAY}){_NO_RANK}", _day_alone, "#", lead=2
    ),
    _rule(rf"\bin (?P<ago>){_HOW_MANY} {_UNIT}(?P<time_>'? time)?\b", _ahead, _PLURAL_UNITS, lead=5),
    _rule(rf"\b(?P<way>{_any(_WAYS)}) {_HOW_MANY} {_UNIT}\b", _stretch, _WAYS),
    _rule(
        rf"\b(?P<way>{_any((*_WAYS, 'this past', 'this coming', 'this', 'current'))}) {_NAMED}\b(?!-)",
        _step,
        (*_WAYS, "this", "current"),
    ),
    _rule(
        rf"\b(?:the )?(?P<name>{_any(_STEPPED)}) (?P<way>before last|after next)\b",
        _two_steps,
        ("last", "next"),
        lead=3,
    ),
    _rule(rf"{_NOT_IN_CODE}{_DAY}{_LAST_DAY}(?: of)? ?{_MONTH}(?:,? {_YEAR})?{_DONE}", _month_day, _MONTHS, lead=5),
    _rule(rf"\b{_MONTH} {_DAY}{_LAST_DAY}(?:,? (?:of )?{_YEAR})?{_DONE}", _month_day, _MONTHS),
    _rule(rf"\b{_MONTH}(?: of|,)? {_YEAR}{_DONE}", _month_year, _MONTHS),
    _rule(rf"{_BEFORE_MONTH}(?P<time>{_MONTH}){_DONE}", _month_alone, _MONTHS, lead=1),
    _rule(rf"{_BEFORE_YEAR}(?P<time>{_YEAR}){_DONE}{_NO_AMOUNT}", _year_alone, "#", lead=1),
    _rule(r"\b(?:the )?['’]?(?P<decade>(?:1[5-9]|20)\d0|[2-9]0)['’]?s\b", _decade, "#", lead=1),
    _rule(rf"\b(?P<season>{_any(_SEASONS)})(?: of|,)? {_YEAR}{_DONE}", _season_year, _SEASONS),
    _rule(
        r"\b(?:(?P<year_before>(?:19|20)\d\d) )?"
        r"(?:Q(?P<q1>[1-4])|(?P<q>first|second|third|fourth|1st|2nd|3rd|4th) quarter)"
        rf"(?:(?: of|,)? {_YEAR})?{_DONE}",
        _quarter,
        ("q1", "q2", "q3", "q4", "quarter"),
        lead=3,
    ),
    _rule(rf"\b(?P<weekday>{_any(_FULL_WEEKDAYS)})\b{_PART}", _weekday_alone, _FULL_WEEKDAYS),
    _rule(
        rf"\b(?:(?P<way>last|this|next) )?(?P<holiday>{_HOLIDAY})(?: (?:of )?{_YEAR}{_DONE})?",
        _holiday,
        ("christmas", "boxing", "halloween", "new", "valentine", "independence", "thanksgiving"),
        lead=1,
    ),
)
"""All rules; where several fit, the one that begins first wins, then the longest."""

_AHEAD = re.compile(
    r"\b(?:will|won't|going to|gonna|plan(?:s|ning)? (?:to|on)|upcoming|tomorrow|tonight|looking forward|can't wait"
    r"|scheduled|next (?:week|month|year)|about to|supposed to|let's)\b|['’]ll\b",
    re.IGNORECASE,
)
_AHEAD_WORDS = frozenset({"will", "gonna", "upcoming", "tomorrow", "tonight", "scheduled", "ll"})
_AHEAD_PHRASES = (
    "going to", "won't", "can't wait", "let's", "about to", "supposed to", "looking forward", "next week", "next month",
    "next year", "plan to", "plans to", "planning to", "plan on", "plans on", "planning on",
)  # fmt: skip

LOOKS_BACK = re.compile(
    r"\b(?:was|were|did|had|went|got|met|saw|took|came|made|bought|began|started|last|ago|\w{2,}ed)\b", re.IGNORECASE
)
"""The text speaks of what has been."""


def looks_ahead(text: str, lowered: str, words: set[str]) -> bool:
    """Whether a text speaks of what is to come, given in lower case and as its words, too."""
    may = not words.isdisjoint(_AHEAD_WORDS) or any(phrase in lowered for phrase in _AHEAD_PHRASES)
    return may and _AHEAD.search(text) is not None
