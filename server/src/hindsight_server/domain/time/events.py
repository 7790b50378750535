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

_TICK = timedelta(microseconds=1)
_AROUND = timedelta(days=14)
Bounds = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPhrase:
    """A time that words give by an event.

    Args:
        start, end: where the phrase stands in the text.
        text: the phrase as written: "the week before her marriage".
        event: the event alone: "her marriage".
        relation: the side of the event that is meant; ``AT`` is while it lasted.
        unit, count: the step of "the week before", "two days after"; None without one.
        is_stretch: whether all of the step is meant ("the two months before"), not its end ("two months before").
        kinds: for each kind of event that is named the words that tell of it ("marriage", "wedding", "married").
        named: the words of the event that belong to one of the kinds.
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
    is_stretch: bool = False
    kinds: tuple[tuple[str, ...], ...] = ()
    named: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    until: EventPhrase | None = None

    def bounds(self, event: Interval, zone: tzinfo) -> Bounds:
        """The time that the phrase means, given when the event was. Both ends included; None is open.

        "Around" is two weeks on either side; "the week before" are the seven days before.
        """
        start, end = event.start.astimezone(zone), event.end.astimezone(zone)
        if self.unit is not None and self.relation in (Relation.BEFORE, Relation.AFTER):
            return self._stepped(start, end, zone)
        if self.relation is Relation.BEFORE:
            return None, start - _TICK
        if self.relation is Relation.AFTER:
            return end + _TICK, None
        if self.relation is Relation.SINCE:
            return start, None
        if self.relation is Relation.UNTIL:
            return None, end
        if self.relation is Relation.AROUND:
            return start - _AROUND, end + _AROUND
        return start, end

    def _stepped(self, start: datetime, end: datetime, zone: tzinfo) -> Bounds:
        is_before = self.relation is Relation.BEFORE
        edge = (start if is_before else end).replace(tzinfo=None)
        if self.is_stretch or self.count is None or self.count == 1:
            size = int(
                (self.count or 1) * {"week": 7, "month": 30.5, "year": 365.25, "weekend": 7}.get(self.unit or "", 1)
            )
            far = edge + timedelta(days=-size if is_before else size)
            span = Span(far, edge - _TICK, Grain.RANGE) if is_before else Span(edge + _TICK, far, Grain.RANGE)
        else:
            span = cal.shifted(self.unit or "day", int(-self.count if is_before else self.count), Anchor(edge))
        return span.start.replace(tzinfo=zone), span.end.replace(tzinfo=zone)


class EventGrammar:
    """The event phrases of one language, from the table ``events`` of its data file.

    Args:
        data: that table.
        expand: fills the ``{names}`` of patterns.
        unit: the units of time by their words.
        count: reads a number.
    """

    def __init__(self, data: Mapping[str, Any], expand: Any, unit: Mapping[str, str], count: Any) -> None:
        self._kinds = [tuple(words.split()) for words in data["words"]]
        every = sorted({word for kind in self._kinds for word in kind}, key=len, reverse=True)
        # Lookbehind needs one length, so the words that stand before it are grouped by theirs.
        self._spaceless = any("\u4e00" <= word[0] <= "\u9fff" for word in every)
        self._every = re.compile(
            "|".join(map(re.escape, every)) if self._spaceless else rf"\b(?:{'|'.join(map(re.escape, every))})\b", re.I
        )
        self._pattern = re.compile(expand(_with_words(data["pattern"], every)), re.I)
        self._refused = re.compile(expand(data["refused"]), re.I)
        self._needs = re.compile(expand(_with_words(data["needs"], every)))
        self._between = re.compile(data["between"], re.I) if "between" in data else None
        self._relations = {cue: Relation(name) for name, cues in data["sides"].items() for cue in cues}
        self._aliases: Mapping[str, str] = data.get("aliases", {})
        self._asides = tuple(data["aside"])
        self._unit, self._count = unit, count
        self.cues = frozenset(cue.split()[0] for cue in (*self._relations, "between"))
        self.characters = frozenset(cue[-1] for cue in self._relations) if self._spaceless else frozenset()

    def find(self, text: str, taken: Sequence[tuple[int, int]]) -> Iterable[EventPhrase]:
        """The event phrases of a text that do not reach into stretches that are taken."""
        for match in self._pattern.finditer(text):
            event = match["event"].strip()
            if any(match.start() < end and start < match.end("cue") + 1 for start, end in taken):
                continue
            if any(match.start("event") <= start < match.end("event") for start, _ in taken):
                continue
            if self._refused.match(event) if not self._spaceless else self._refused.search(event):
                continue
            if self._needs.match(event):
                yield from self._phrase(text, match, event)

    def _phrase(self, text: str, match: re.Match[str], event: str) -> Iterable[EventPhrase]:
        cue = match["cue"].lower()
        between = self._between.fullmatch(event) if self._between and cue == "between" else None
        if cue == "between" and between is None:
            return
        unit = match["unit"]
        given = EventPhrase(
            start=match.start(),
            end=match.end(),
            text=text[match.start() : match.end()].strip(),
            event=event,
            relation=self._relations.get(cue, Relation.AFTER),
            unit=self._unit.get(unit.lower()) if unit else None,
            count=self._count(match["count"]) if match["count"] else None,
            is_stretch=bool(match["whole"]) if "whole" in match.re.groupindex else False,
            asides=self._asides,
        )
        if between is None:
            yield self._with_kinds(given)
            return
        first, last = between["first"].strip(), between["last"].strip()
        second = self._with_kinds(replace(given, event=last, relation=Relation.BEFORE))
        yield self._with_kinds(replace(given, event=first, relation=Relation.AFTER, until=second))

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
