"""Finding the time expressions of a text and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import chinese, context, english, numeric
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Found
from hindsight_server.domain.time.mention import TimeMention
from hindsight_server.domain.time.rule import Rule

_WORD = re.compile(r"[a-z]+\d?")
_SPOT = re.compile(r"([^\W\d_]+\d?)|\d+")
_DIGIT = re.compile(r"\d")
_DIGITS, _DATE_DIGITS = "#", "#-"
_WORD_RULES = (*numeric.RULES, *english.RULES)
_ON = {
    trigger: [(number, rule) for number, rule in enumerate(_WORD_RULES) if trigger in rule.triggers]
    for trigger in frozenset().union(*(rule.triggers for rule in _WORD_RULES))
}
"""The rules to try at a word, with their numbers."""
_NO_RULES: list[tuple[int, Rule]] = []
_DATE_SIGNS = frozenset("-/.")
_ON_DATE_DIGITS = _ON[_DATE_DIGITS] + _ON[_DIGITS]
_ENGLISH_TRIGGERS = frozenset(_ON) - {_DIGITS, _DATE_DIGITS}
_CHINESE_TRIGGERS = frozenset().union(*(rule.triggers for rule in chinese.RULES))
# Full-width digits and traditional characters, one for one, so that positions stay what they are.
_READABLE = str.maketrans(
    "０１２３４５６７８９：／週禮後個兩過點號鐘時這國慶聖誕勞動節兒從會將準備計劃",
    "0123456789:/周礼后个两过点号钟时这国庆圣诞劳动节儿从会将准备计划",
)
_YEARS = range(1000, 3000)  # what lies outside is no date of anybody's memory, and zone arithmetic may fail there


def find_times(text: str, anchor: datetime) -> list[TimeMention]:
    """Find the English and Chinese time expressions of a text, in order, without overlaps.

    Coarse expressions cover all of what they name ("2015" is that year). Relative ones are counted from `anchor` in its
    time zone. Weeks begin on Monday; "last Friday" is the latest before today, "next Friday" that of next week. A
    weekday or month without a year is the latest one, or the coming one where the text speaks of the future.
    Impossible dates are left out. Never raises for any text.

    Args:
        text: any text.
        anchor: when it was said; taken as UTC when it has no zone.

    Example:
        >>> [one.text for one in find_times("I ran yesterday and last May", datetime(2024, 3, 5, tzinfo=UTC))]
        ['yesterday', 'last May']
    """
    written = text
    if not text.isascii():
        text = text.translate(_READABLE)
    lowered = text.lower()
    words = set(_WORD.findall(lowered))
    matches = _matches(text, words)
    if not matches:
        return []
    if anchor.tzinfo is None:
        anchor = anchor.replace(tzinfo=UTC)
    ahead = english.looks_ahead(text, lowered, words) or bool(chinese.LOOKS_AHEAD.search(text))
    back = not ahead and bool(english.LOOKS_BACK.search(text) or chinese.LOOKS_BACK.search(text))
    found = _resolve(matches, Anchor(anchor, ahead, back))
    found = context.ranges(text, [context.refined(text, one) for one in found if not context.recurs(text, one[0])])
    found = _apart([context.stepped(text, one) for one in found])
    zone = anchor.tzinfo or UTC
    return [mention for one in found if (mention := _mention(written, one, zone))]


def _apart(found: list[Found]) -> list[Found]:
    """Without those that a later, wider expression has taken in."""
    apart: list[Found] = []
    for one in found:
        while apart and one[0] < apart[-1][1]:
            apart.pop()
        apart.append(one)
    return apart


def _matches(text: str, words: set[str]) -> list[tuple[Rule, re.Match[str]]]:
    """All matches of all rules; a text without time words costs two quick scans.

    A text is not searched with every pattern, which would cost more than all else that is done with it: where a trigger
    stands, its rules are tried there and at the few words before it.
    """
    matches: list[tuple[Rule, re.Match[str]]] = []
    if not words.isdisjoint(_ENGLISH_TRIGGERS) or _DIGIT.search(text):
        matches = _at_words(text)
    if not text.isascii():
        characters = _CHINESE_TRIGGERS.intersection(text)
        for rule in chinese.RULES:
            if not rule.triggers.isdisjoint(characters):
                matches += [(rule, match) for match in rule.pattern.finditer(text)]
    return matches


def _at_words(text: str) -> list[tuple[Rule, re.Match[str]]]:
    """The matches of the rules for words and digits, those of one rule without overlaps."""
    matches: list[tuple[Rule, re.Match[str]]] = []
    starts: list[int] = []
    untried = [0] * len(_WORD_RULES)  # for each rule the first word at which it was not tried
    free = [0] * len(_WORD_RULES)  # for each rule where its last match ends
    for place, spot in enumerate(_SPOT.finditer(text)):
        starts.append(spot.start())
        if spot.lastindex:
            rules = _ON.get(spot[0].lower(), _NO_RULES)
        else:
            rules = _ON_DATE_DIGITS if text[spot.end() : spot.end() + 1] in _DATE_SIGNS else _ON[_DIGITS]
        for number, rule in rules:
            at = place - rule.lead
            if at < untried[number]:
                at = untried[number]
            untried[number] = place + 1
            while at <= place:
                if starts[at] >= free[number] and (match := rule.pattern.match(text, starts[at])):
                    free[number] = match.end()
                    matches.append((rule, match))
                at += 1
    return matches


def _resolve(matches: Iterable[tuple[Rule, re.Match[str]]], anchor: Anchor) -> list[Found]:
    """Every match that means a time; of those that overlap the first, then the longest.

    What reads as a date but is none ("30 Feb 2023") keeps shorter readings from its place.
    """
    candidates: list[tuple[int, int, Span | None]] = []
    for rule, match in matches:
        span: Span | None
        try:
            span = rule.resolve(match, anchor)
            if span is None:
                continue
        except (ValueError, OverflowError):
            span = None
        candidates.append((*match.span("time" if "time" in rule.pattern.groupindex else 0), span))
    candidates.sort(key=lambda found: (found[0], -found[1]))
    chosen: list[Found] = []
    end = 0
    for start, stop, span in candidates:
        if start < end:
            continue
        end = stop
        if span is not None and span.start.year in _YEARS and span.end.year in _YEARS:
            chosen.append((start, stop, span))
    return chosen


def _mention(text: str, found: Found, zone: tzinfo) -> TimeMention | None:
    start, end, span = found
    if span.start > span.end or span.start.year not in _YEARS or span.end.year not in _YEARS:
        return None
    return TimeMention(
        start=start,
        end=end,
        text=text[start:end],
        interval=Interval(start=span.start.replace(tzinfo=zone), end=span.end.replace(tzinfo=zone)),
        grain=span.grain,
        is_relative=span.is_relative,
        relation=context.relation(text, start, end),
    )
