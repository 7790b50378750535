"""Finding the time expressions of a text and what they mean."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import joining, numeric
from hindsight_server.domain.time import surroundings as around
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Context
from hindsight_server.domain.time.date_lists import YEARS, listed
from hindsight_server.domain.time.grammar import Grammar, grammar_of, is_japanese
from hindsight_server.domain.time.mention import Relation, TimeMention
from hindsight_server.domain.time.rule import Rule
from hindsight_server.domain.time.surroundings import Found

_ANY_WORD = re.compile(r"[^\W\d_]+\d?")
_SPOT = re.compile(r"([^\W\d_]+\d?)|\d+")
_SENTENCE_END = re.compile(r"[.!?;]\s|[。！？；\n]")
_DIGITS = "#"  # stands for digits among the words of a text
_DATE_SIGNS = frozenset("-/.– ")
_LONGEST_RUN = 5  # digits; longer ones are no part of a date
_DATES = len(numeric.RULES)  # they come first
# Full-width digits and traditional characters, one for one, so that positions stay what they are.
_WIDE = str.maketrans("０１２３４５６７８９：／", "0123456789:/")
_READABLE = str.maketrans(
    "０１２３４５６７８９：／週禮後個兩過點號鐘時這國慶聖誕勞動節兒從會將準備計劃間幾內開來當屆結婚學畢業買鬧歲",
    "0123456789:/周礼后个两过点号钟时这国庆圣诞劳动节儿从会将准备计划间几内开来当届结婚学毕业买闹岁",
)


def readable(text: str) -> str:
    """The text as the rules read it: full-width digits and traditional characters replaced, one for one."""
    if text.isascii():
        return text
    return text.translate(_WIDE if is_japanese(text) else _READABLE)


def find_times(text: str, anchor: datetime) -> list[TimeMention]:
    """Find the time expressions of a text, in order, without overlaps.

    A text is read as English with Chinese, unless its words tell of Spanish, French, German or Portuguese, or its
    letters of Japanese. Coarse expressions cover all of what they name ("2015" is that year). Relative ones are counted
    from `anchor` in its time zone. Weeks begin on Monday; "last Friday" is the latest before today, "next Friday" that
    of next week. A weekday or month without a year is the latest one, or the coming one where the sentence speaks of
    the future. Impossible dates, habits ("every Monday") and phrases that only look like times are left out. Never
    raises for any text. `docs/explanation/time.md` has all rules.

    Args:
        text: any text.
        anchor: when it was said; taken as UTC when it has no zone.

    Example:
        >>> [one.text for one in find_times("I ran yesterday and last May", datetime(2024, 3, 5, tzinfo=UTC))]
        ['yesterday', 'last May']
    """
    if anchor.tzinfo is None:
        anchor = anchor.replace(tzinfo=UTC)
    zone = anchor.tzinfo or UTC
    written, text = text, readable(text)
    dates, text = listed(text, zone)
    lowered = text.lower()
    spots = [word.lower() or _DIGITS for word in _SPOT.findall(text)]
    words = set(spots) if text.isascii() else _words(lowered)
    grammar = grammar_of(words, text)
    matches = _matches(grammar, text, spots)
    if not matches:
        return []
    context, said = grammar.context, _Said(grammar.context, text, lowered, anchor)
    found = [around.clocked(context, text, one) for one in _resolve(matches, said) if not _is_general(said, one)]
    found = joining.nested(context, text, found)
    found = _apart([around.refined(context, text, one) for one in found])
    found = joining.ranges(context, text, found, Anchor(anchor))
    found = _apart([around.stepped(context, text, one) for one in found])
    others = [mention for one in found if (mention := _mention(context, written, text, one, zone))]
    return sorted(dates + others, key=lambda one: one.start) if dates else others


def _words(lowered: str) -> set[str]:
    return set(_ANY_WORD.findall(lowered))


def grammar_for(text: str, lowered: str) -> Grammar:
    """The grammar of a text, given as the rules read it and in lower case."""
    return grammar_of(_words(lowered), text)


@dataclass(slots=True)
class _Said:
    """A text, sentence by sentence: whether it speaks of the future, of the past, of habits.

    Positions are asked for in rising order of sentences, so that each is looked at once.
    """

    context: Context
    text: str
    lowered: str
    moment: datetime
    ends: list[int] = field(default_factory=list)
    anchors: dict[int, Anchor] = field(default_factory=dict)
    habits: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ends = [0, *(end.end() for end in _SENTENCE_END.finditer(self.text)), len(self.text)]

    def _sentence(self, at: int) -> tuple[int, int]:
        number = min(bisect_right(self.ends, at), len(self.ends) - 1)
        return self.ends[number - 1], self.ends[number]

    def anchor(self, at: int) -> Anchor:
        """The moment, with the tense of the sentence around a position."""
        start, end = self._sentence(at)
        known = self.anchors.get(start)
        if known is None:
            lowered, context = self.lowered[start:end], self.context
            ahead = any(word in lowered for word in context.ahead_words) and bool(
                context.ahead.search(self.text, start, end)
            )
            back = not ahead and bool(context.back.search(self.text, start, end))
            known = self.anchors[start] = Anchor(self.moment, ahead, back)
        return known

    def of_habit(self, at: int) -> bool:
        start, end = self._sentence(at)
        if start not in self.habits:
            self.habits[start] = bool(self.context.habit.search(self.text, start, end))
        return self.habits[start]


def _is_general(said: _Said, found: Found) -> bool:
    """Whether the expression names a habit: "every Friday", "on Friday I usually swim"."""
    if around.recurs(said.context, said.text, found[0]):
        return True
    return found[2].repeats is not None and said.of_habit(found[0])


def _apart(found: list[Found]) -> list[Found]:
    """Without those that another, wider expression has taken in."""
    apart: list[Found] = []
    for one in found:
        while apart and one[0] < apart[-1][1] and one[1] - one[0] >= apart[-1][1] - apart[-1][0]:
            apart.pop()
        if not apart or one[0] >= apart[-1][1]:
            apart.append(one)
    return apart


def _matches(grammar: Grammar, text: str, spots: Sequence[str]) -> list[tuple[Rule, re.Match[str]]]:
    """All matches of all rules; a text without time words costs two quick scans.

    A text is not searched with every pattern, which would cost more than all else that is done with it: where a trigger
    stands, its rules are tried there and at the few words before it.
    """
    matches = _at_words(grammar, text, spots)
    if not text.isascii():
        characters = grammar.characters.intersection(text)
        for rule in grammar.spaceless if characters else ():
            if not rule.triggers.isdisjoint(characters):
                matches += [(rule, match) for match in rule.pattern.finditer(text)]
    return matches


def _at_words(grammar: Grammar, text: str, spots: Sequence[str]) -> list[tuple[Rule, re.Match[str]]]:
    """The matches of the rules for words and digits, those of one rule without overlaps."""
    on = grammar.on
    places = [place for place, word in enumerate(spots) if word == _DIGITS or word in on]
    if not places:
        return []
    matches: list[tuple[Rule, re.Match[str]]] = []
    spans = [spot.span() for spot in islice(_SPOT.finditer(text), places[-1] + 1)]
    untried = [0] * grammar.size  # for each rule the first word at which it was not tried
    free = [0] * grammar.size  # for each rule where its last match ends
    in_date = 0  # where the last date in digits ends
    for place in places:
        start, end = spans[place]
        if spots[place] != _DIGITS:
            rules = on[spots[place]]
        elif start < in_date or end - start >= _LONGEST_RUN:
            continue
        else:
            rules = grammar.at_digits(end - start, in_date=text[end : end + 1] in _DATE_SIGNS)
        for number, rule in rules:
            at = place - rule.lead
            if at < untried[number]:
                at = untried[number]
            untried[number] = place + 1
            while at <= place:
                may_start = not rule.starts or spots[at] in rule.starts
                begin = spans[at][0]
                if may_start and begin >= free[number] and (match := rule.pattern.match(text, begin)):
                    free[number] = match.end()
                    matches.append((rule, match))
                    if number < _DATES:
                        in_date = match.end()
                at += 1
    return matches


def _resolve(matches: Iterable[tuple[Rule, re.Match[str]]], said: _Said) -> list[Found]:
    """Every match that means a time; of those that overlap the first, then the longest.

    What reads as a date but is none ("30 Feb 2023"), and phrases that are no times, keep shorter readings from their
    place.
    """
    candidates: list[tuple[int, int, Span | None]] = _skipped(said)
    for rule, match in matches:
        span: Span | None
        try:
            span = rule.resolve(match, said.anchor(match.start()))
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
        if span is not None and span.start.year in YEARS and span.end.year in YEARS:
            chosen.append((start, stop, span))
    return chosen


def _skipped(said: _Said) -> list[tuple[int, int, Span | None]]:
    found: list[tuple[int, int, Span | None]] = []
    for phrase in said.context.skipped:
        at = said.lowered.find(phrase)
        while at >= 0:
            found.append((at, at + len(phrase), None))
            at = said.lowered.find(phrase, at + len(phrase))
    return found


def _mention(context: Context, written: str, text: str, found: Found, zone: tzinfo) -> TimeMention | None:
    start, end, span = found
    if span.start > span.end or span.start.year not in YEARS or span.end.year not in YEARS:
        return None
    relation = around.relation(context, text, start, end)
    if span.is_joined and relation in (Relation.SINCE, Relation.UNTIL):
        relation = Relation.AT  # the words belong to the ends: 3月から5月まで
    return TimeMention(
        start=start,
        end=end,
        text=written[start:end],
        interval=Interval(start=span.start.replace(tzinfo=zone), end=span.end.replace(tzinfo=zone)),
        grain=span.grain,
        is_relative=span.is_relative,
        is_yearless=not span.has_year,
        relation=relation,
    )
