"""Times given by an event: "before her marriage", 搬家之前. The event itself has to be looked for in a bank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain, Relation
from hindsight_server.domain.time.words import Words

_TICK = timedelta(microseconds=1)
_AROUND = timedelta(days=14)
_ONE_DAY = timedelta(days=1)
Bounds = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPhrase:
    """A time that words give by an event.

    Args:
        start, end: where the phrase stands in the text.
        text: the phrase as written: "the week before her marriage".
        event: the event alone: "her marriage".
        relation: the side of the event that is meant; ``AT`` is while it lasted.
        unit, count: the step of "the week before", "two days after"; None without one. With ``AT`` the unit that the
            event lies in: "the year she moved".
        most: the most that the count may mean ("a few").
        is_lasting: what it names goes on for some time ("while she lived there").
        is_stretch: whether all of the step is meant ("the two months before"), not its end ("two months before").
        kinds: for each kind of event that is named the words that tell of it ("marriage", "wedding", "married").
        named: the words of the event that belong to one of the kinds.
        light: words of the event that tell nothing of it ("her stay in hospital").
        asides: words beside which the event is not the event itself ("anniversary").
        until: the second event of "between the fire and the reopening".
    """

    start: int
    end: int
    text: str
    event: str
    relation: Relation
    unit: str | None = None
    count: float | None = None
    most: float | None = None
    is_stretch: bool = False
    is_lasting: bool = False
    kinds: tuple[tuple[str, ...], ...] = ()
    named: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    light: tuple[str, ...] = ()
    until: EventPhrase | None = None

    def bounds(self, event: Interval, zone: tzinfo) -> Bounds:
        """The time that the phrase means, given when the event was. Both ends included; None is open.

        "Around" is two weeks on either side, and so is "while" where only one day of it is known; "the week before" are
        the seven days before.
        """
        start, end = event.start.astimezone(zone), event.end.astimezone(zone)
        if self.unit is not None and self.relation in (Relation.BEFORE, Relation.AFTER):
            return self._stepped(start, end, zone)
        if self.unit is not None and self.relation is Relation.AT:
            span = cal.shifted(self.unit, 0, Anchor(start))
            return span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)
        if self.relation is Relation.BEFORE:
            return None, start - _TICK
        if self.relation is Relation.AFTER:
            return end + _TICK, None
        if self.relation is Relation.SINCE:
            return start, None
        if self.relation is Relation.UNTIL:
            return None, end
        if self.relation is Relation.AROUND or (self.is_lasting and end - start <= _ONE_DAY):
            return start - _AROUND, end + _AROUND
        return start, end

    def _stepped(self, start: datetime, end: datetime, zone: tzinfo) -> Bounds:
        is_before = self.relation is Relation.BEFORE
        edge = (start if is_before else end).replace(tzinfo=None)
        sign = -1 if is_before else 1
        if self.most is not None and self.count is not None:
            ends = [
                cal.shifted(self.unit or "day", sign * int(count), Anchor(edge)) for count in (self.count, self.most)
            ]
            span = Span(min(end.start for end in ends), max(end.end for end in ends), Grain.RANGE)
        elif self.unit in cal.SEASON_MONTHS:
            span = cal.shifted(self.unit or "", sign * int(self.count or 1), Anchor(edge))
        elif self.is_stretch or self.count is None or self.count == 1:
            size = int(
                (self.count or 1) * {"week": 7, "month": 30.5, "year": 365.25, "weekend": 7}.get(self.unit or "", 1)
            )
            far = edge + timedelta(days=-size if is_before else size)
            span = Span(far, edge - _TICK, Grain.RANGE) if is_before else Span(edge + _TICK, far, Grain.RANGE)
        else:
            span = cal.shifted(self.unit or "day", sign * int(self.count), Anchor(edge))
        return span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)


class EventGrammar:
    """The event phrases of one language, from the table ``events`` of its data file.

    Args:
        data: that table.
        expand: fills the ``{names}`` of patterns.
        words: the units of time and the numbers of the language.
    """

    def __init__(self, data: Mapping[str, Any], expand: Any, words: Words) -> None:
        self._kinds = [tuple(words.split()) for words in data["words"]]
        every = sorted({word for kind in self._kinds for word in kind}, key=len, reverse=True)
        # Lookbehind needs one length, so the words that stand before it are grouped by theirs.
        self._spaceless = any("\u4e00" <= word[0] <= "\u9fff" for word in every)
        self._every = re.compile(
            "|".join(map(re.escape, every)) if self._spaceless else rf"\b(?:{'|'.join(map(re.escape, every))})\b", re.I
        )
        self._patterns = [
            (re.compile(expand(_with_words(pattern, every)), re.I), False) for pattern in data["patterns"]
        ] + [(re.compile(expand(_with_words(pattern, every)), re.I), True) for pattern in data["clauses"]]
        self._told = re.compile(data["told"], re.I)
        self._present = re.compile(data["present"], re.I)
        self._general = re.compile(data["general"], re.I)
        self._refused = re.compile(expand(data["refused"]), re.I)
        self._needs = re.compile(expand(_with_words(data["needs"], every)))
        self._relations = {cue: Relation(name) for name, cues in data["sides"].items() for cue in cues}
        self._aliases: Mapping[str, str] = data.get("aliases", {})
        self._asides = tuple(data["aside"])
        self._light = tuple(data.get("light", ()))
        self._words = words
        self._lasting = frozenset(data["lasting"])
        self.cues = frozenset(cue.split()[0] for cue in (*self._relations, "between"))
        self.characters = frozenset(cue[-1] for cue in self._relations) if self._spaceless else frozenset()

    def find(self, text: str, taken: Sequence[tuple[int, int]]) -> Iterable[EventPhrase]:
        """The event phrases of a text that do not reach into stretches that are taken."""
        end = 0
        found = [(match, is_clause) for pattern, is_clause in self._patterns for match in pattern.finditer(text)]
        for match, is_clause in sorted(found, key=lambda one: one[0].start()):
            if match.start() < end or (is_clause and not self._is_told(text, match)):
                continue
            event = match["event"].strip()
            if any(_are_apart(match, *one) for one in taken):
                continue
            if self._refused.match(event) if not self._spaceless else self._refused.search(event):
                continue
            if is_clause or self._needs.match(event):
                end = match.end()
                yield self._phrase(text, match, event)

    def _is_told(self, text: str, match: re.Match[str]) -> bool:
        """Whether a clause ("when they moved") and the rest of the question tell of something that was once."""
        if _part(match, "asks") or self._general.search(text):
            return False
        rest = f"{text[: match.start()]} {text[match.end() :]}"
        event = match["event"]
        if self._present.search(event):
            return False
        if self._spaceless:
            return bool(self._told.search(rest) or self._every.search(event))
        is_past = self._told.search(event) and not self._told.match(event)
        return bool(self._told.search(rest) and (is_past or event.split()[0].endswith("ing")))

    def _phrase(self, text: str, match: re.Match[str], event: str) -> EventPhrase:
        cue, unit, written = match["cue"].lower(), _part(match, "unit"), _part(match, "count")
        least, most = self._words.vague.get(written, (0, 0))
        given = EventPhrase(
            start=match.start(),
            end=match.end(),
            text=text[match.start() : match.end()].strip(),
            event=event,
            relation=self._relations.get(cue, Relation.AFTER),
            unit=self._words.unit.get(unit),
            count=least or (self._words.count(written) if written else None),
            most=most or None,
            is_stretch=bool(_part(match, "whole")) and not most,
            is_lasting=cue in self._lasting,
            asides=self._asides,
            light=self._light,
        )
        last = _part(match, "last")
        if not last:
            return self._with_kinds(given)
        second = self._with_kinds(replace(given, event=match["last"].strip(), relation=Relation.BEFORE))
        return self._with_kinds(replace(given, relation=Relation.AFTER, until=second))

    def _with_kinds(self, phrase: EventPhrase) -> EventPhrase:
        event = phrase.event
        for short, whole in self._aliases.items():
            if event.endswith(short) and not any(event.endswith(word) for kind in self._kinds for word in kind):
                event = event.removesuffix(short) + whole
        named = tuple(dict.fromkeys(word.lower() for word in self._every.findall(event)))
        kinds = tuple(
            tuple(dict.fromkeys(word for kind in self._kinds if one in kind for word in kind)) for one in named
        )
        return replace(phrase, event=event, named=named, kinds=kinds)


def _are_apart(match: re.Match[str], start: int, end: int) -> bool:
    """Whether a time of its own stands where the phrase does: not as 两周 in 手术两周后."""
    if match.end("event") <= start and end <= match.end("cue"):
        return False
    in_phrase = match.start() < end and start < match.end("cue") + 1
    return in_phrase or match.start("event") <= start < match.end("event")


def _part(match: re.Match[str], name: str) -> str:
    """A group in lower case; empty when the pattern has none of that name or it took no part."""
    return (match[name] or "").lower() if name in match.re.groupindex else ""


def _with_words(pattern: str, words: Sequence[str]) -> str:
    """Fill in the event words, as lookbehinds of one length each where they stand in a lookbehind."""
    by_length: dict[int, list[str]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(re.escape(word))
    behind = "|".join(f"(?<={'|'.join(some)})" for some in by_length.values())
    pattern = pattern.replace("(?<={event_words})", f"(?:{behind})")
    return pattern.replace("{event_words}", f"(?:{'|'.join(map(re.escape, words))})")


def day_of(moment: datetime, zone: tzinfo | None = None) -> Interval:
    """The whole day of a moment, in a zone."""
    try:
        local = moment.astimezone(zone or UTC)
    except OverflowError:  # on the first or last day that there is, the zone may lie beyond it
        local = moment
    start = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return Interval(start=start, end=start + (timedelta(days=1) - _TICK))
