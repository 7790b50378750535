"""Times that a question gives by an event: the event is looked for in the bank, its time becomes a window."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

from hindsight_server.domain.model import Fact, Interval
from hindsight_server.domain.time import EventPhrase, day_of, find_events, find_times
from hindsight_server.engine.recall.cache import Postings, ViewCache
from hindsight_server.engine.recall.gather import guarded
from hindsight_server.engine.recall.lexical import rarity
from hindsight_server.engine.recall.question import AskedTime, Question
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.types import TimeWindow
from hindsight_server.engine.recall.view import Float32Array, Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer

_MOST_EVENTS = 2
_LOOKED_AT = 16  # facts whose words are read
_SURE = 0.7  # share of the event's words, by rarity, that a fact must hold
_OTHER_WORD = 0.8  # what "married" counts for "marriage"
_WHO = 0.25  # what the rest of the question may add: whose marriage it is
_COMMON, _LEAST_COMMON = 0.1, 3  # a word in a tenth of the bank, and in three facts, is what the bank is about
_DATED = 0.1
_BESIDE_IT = 0.5  # what speaks against a fact that only refers to the event: "before the wedding ...", "anniversary"
_RIVAL = 0.15  # facts this close to the best could be the event as well
_SAME_EVENT = timedelta(days=31)  # an event may be told of over some weeks
_CAPITAL = re.compile(r"(?<!^)\b[A-Z][^\W\d_]+")
_QUESTION = re.compile(r"[?？][\s\"'”’)）]*$")


@dataclass(frozen=True, slots=True)
class _Group:
    """Words of which one has to be in the fact: as index terms, the word itself first, then those of the same kind."""

    word: tuple[tuple[str, ...], ...]
    others: tuple[tuple[str, ...], ...] = ()
    is_kind: bool = False

    def terms(self) -> set[str]:
        return {term for some in (*self.word, *self.others) for term in some}


@dataclass(frozen=True, slots=True)
class _Found:
    """The fact that tells of an event, and when that was."""

    fact: Fact
    interval: Interval


class EventFinder:
    """Turns "before her marriage" into a window.

    A fact is the event when it holds the event's words, or others of the same kind of event; whose event it is, the
    rest of the question tells. Without a fact that does, or with several of different times, there is no window: the
    reason goes into the notes of the trace.

    Args:
        cache: posting lists and facts.
        analyzer: makes terms.
    """

    def __init__(self, cache: ViewCache, analyzer: TextAnalyzer) -> None:
        self._cache = cache
        self._analyzer = analyzer

    async def resolve(self, run: Run) -> Question:
        """The question of a run, with the windows that its events give. Costs a glance where it names no event."""
        question = run.question
        if run.query.temporal_window is not None or "temporal" in run.settings.off:
            return question
        if not find_events(question.text, ()):
            return question
        phrases = find_events(question.text, find_times(question.text, question.now))
        times, notes = _without_steps(question.times, phrases), list(question.notes)
        for phrase in phrases[:_MOST_EVENTS]:
            found, missing = await guarded("temporal", self._window(run, phrase), run.until)
            if found is None:
                found = f'"{phrase.text}" sets no time window: {missing[1] if missing else "nothing was found"}.'
            if isinstance(found, AskedTime):
                times = _within(times, found)
            else:
                notes.append(found)
        return replace(question, times=times, notes=tuple(notes))

    async def _window(self, run: Run, phrase: EventPhrase) -> AskedTime | str:
        try:
            return await self._bounded(run, phrase)
        except OverflowError:  # an event of the year 1 or 9999 has no time before or after it
            return f'"{phrase.text}" lies beyond the years that can be counted.'

    async def _bounded(self, run: Run, phrase: EventPhrase) -> AskedTime | str:
        event = await self._event(run, phrase)
        if isinstance(event, str):
            return event
        zone = run.question.now.tzinfo or event.interval.start.tzinfo
        assert zone is not None
        start, end = phrase.bounds(event.interval, zone)
        if phrase.until is not None:
            last = await self._event(run, phrase.until)
            if isinstance(last, str):
                return last
            end = phrase.until.bounds(last.interval, zone)[1]
        if start is not None and end is not None and start > end:
            return f'"{phrase.text}" names no time: what it begins with was later than what it ends with.'
        return AskedTime(
            TimeWindow(start=start, end=end), phrase=phrase.text, source="event", event_memory_id=event.fact.fact_id
        )

    async def _event(self, run: Run, phrase: EventPhrase) -> _Found | str:
        groups = self._groups(phrase)
        unknown = f'No memory tells with confidence when "{phrase.event}" was, so "{phrase.text}" sets no time window.'
        if not groups:
            return unknown
        rest = [term for term in run.question.terms if not any(term in group.terms() for group in groups)]
        terms = [*dict.fromkeys(term for group in groups for term in group.terms()), *rest]
        view = run.scope.view
        postings = await self._cache.postings(run.bank_id, run.warm, view, terms)
        rows, scores = _covering(run, groups, rest, postings)
        facts = await self._cache.facts(run.bank_id, run.warm, view, view.seq[rows].tolist())
        zone = run.question.now.tzinfo
        likely = []
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
            fact = facts.get(int(view.seq[row]))
            interval = _when(fact, zone) if fact else None
            if fact is not None and interval is not None:
                likely.append((score + _evidence(fact, phrase), _Found(fact, interval)))
        likely.sort(key=lambda one: -one[0])
        if not likely or likely[0][0] < _SURE:
            return unknown
        return _only([found for score, found in likely if score >= likely[0][0] - _RIVAL], phrase)

    def _groups(self, phrase: EventPhrase) -> list[_Group]:
        rest = phrase.event.lower()
        groups = []
        for word, kind in zip(phrase.named, phrase.kinds, strict=True):
            rest = rest.replace(word, " ")
            terms = self._terms(word)
            others = {self._terms(other) for other in kind} - {terms, ()}
            if terms or others:
                groups.append(_Group((terms,) if terms else (), tuple(sorted(others)), is_kind=True))
        light = {term for word in phrase.light for term in self._terms(word)} if groups else set()
        groups += [_Group(((term,),)) for term in dict.fromkeys(self._analyzer.index_terms(rest)) if term not in light]
        return groups

    def _terms(self, word: str) -> tuple[str, ...]:
        return tuple(self._analyzer.index_terms(word))


def _covering(
    run: Run, groups: Sequence[_Group], rest: Sequence[str], postings: Mapping[str, Postings]
) -> tuple[Int32Array, Float32Array]:
    """The visible facts that hold most of the event's words, best first; what names no kind of it is left out."""
    scope = run.scope
    size = len(scope.view)
    covered, total = np.zeros(size, np.float32), 0.0
    of_kind = np.zeros(size, np.bool_)
    for group in groups:
        share = np.zeros(size, np.float32)
        for alternatives, worth in ((group.others, _OTHER_WORD), (group.word, 1.0)):
            for terms in alternatives:
                share[_holding_all(terms, postings)] = worth
        held = share > 0 if scope.mask is None else (share > 0) & scope.mask
        weight = rarity(scope.size, int(np.count_nonzero(held)))
        covered += np.where(held, share, 0) * np.float32(weight)
        total += weight
        of_kind |= held & group.is_kind
    covered /= np.float32(max(total, 1e-6))
    if any(group.is_kind for group in groups):
        covered[~of_kind] = 0
    sure = np.flatnonzero(covered >= _SURE - _WHO).astype(np.int32)
    scores: npt.NDArray[np.floating] = covered[sure]
    for term, weight in _naming(run, rest, postings).items():
        named = np.isin(sure, postings[term].rows, assume_unique=True)
        scores = scores + named * np.float32(_WHO * weight)
    order = np.lexsort((-sure, -scores))[:_LOOKED_AT]
    good = order[covered[sure[order]] >= _SURE]
    return sure[good], scores[good].astype(np.float32)


def _naming(run: Run, rest: Sequence[str], postings: Mapping[str, Postings]) -> dict[str, float]:
    """How much each other word of the question tells whose event it is; together at most 1.

    Names do, and what many facts are about. Rare words are about the answer, and would find that instead of the event.
    """
    capitals = {
        term for word in _CAPITAL.findall(run.question.text) for term in run.question.terms if term in word.lower()
    }
    weights = {}
    for term in rest:
        holding = len(postings[term].rows)
        weight = min(1.0, holding / (_COMMON * max(run.scope.size, 1))) if holding >= _LEAST_COMMON else 0.0
        weights[term] = 1.0 if term in capitals and holding else weight
    total = max(sum(weights.values()), 1.0)
    return {term: weight / total for term, weight in weights.items() if weight}


def _holding_all(terms: Sequence[str], postings: Mapping[str, Postings]) -> Int32Array:
    rows = postings[terms[0]].rows
    for term in terms[1:]:
        rows = np.intersect1d(rows, postings[term].rows, assume_unique=True)
    return rows


def _when(fact: Fact, zone: tzinfo | None) -> Interval | None:
    """When what a fact tells was: its own time, else the day on which it was told."""
    if fact.occurred_start is not None:
        return Interval(start=fact.occurred_start, end=fact.occurred_end or fact.occurred_start)
    return day_of(fact.mentioned_at, zone) if fact.mentioned_at is not None else None


def _evidence(fact: Fact, phrase: EventPhrase) -> float:
    """What else speaks for or against a fact being the event."""
    score = _DATED if fact.occurred_start is not None else 0.0
    text = fact.text.casefold()
    if _QUESTION.search(fact.text):
        score -= _BESIDE_IT
    if any(word in text and word not in phrase.event.casefold() for word in phrase.asides):
        score -= _BESIDE_IT
    if any(set(one.kinds) & set(phrase.kinds) or one.event == phrase.event for one in find_events(fact.text, ())):
        score -= _BESIDE_IT
    return score


def _only(rivals: Sequence[_Found], phrase: EventPhrase) -> _Found | str:
    """The event, when all that could be it, the best first, are of about the same time."""
    dated = rivals
    if rivals[0].fact.occurred_start is not None:
        dated = [one for one in rivals if one.fact.occurred_start is not None]
    first = min(dated, key=lambda one: one.interval.start)
    last = max(dated, key=lambda one: one.interval.start)
    if last.interval.start - first.interval.start > _SAME_EVENT:
        days = " and ".join(one.interval.start.date().isoformat() for one in (first, last))
        return f'"{phrase.event}" could be of {days}, among others, so "{phrase.text}" sets no time window.'
    return first


def _without_steps(times: tuple[AskedTime, ...], phrases: Sequence[EventPhrase]) -> tuple[AskedTime, ...]:
    """Without what is counted from an event: 两周后 in 手术两周后 is not two weeks from now."""
    steps = [phrase.text.replace(phrase.event, "", 1) for phrase in phrases if phrase.unit]
    return tuple(one for one in times if one.phrase is None or not any(one.phrase in step for step in steps))


def _within(times: tuple[AskedTime, ...], event: AskedTime) -> tuple[AskedTime, ...]:
    """The event's window, narrowed to a time that the question names besides ("in 2023 before the move")."""
    if len(times) != 1 or times[0].yearless:
        return (*times, event)
    start = _latest(times[0].window.start, event.window.start)
    end = _earliest(times[0].window.end, event.window.end)
    if start is not None and end is not None and start > end:
        return (*times, event)
    return (replace(event, window=TimeWindow(start=start, end=end)),)


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)
