"""What a proposal may do: nothing that is not proved by the facts that were given.

A model, and whoever speaks to it through a memory, can ask for anything; what is done is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from hindsight_server.domain.grounding import Evidence, Ordinary
from hindsight_server.domain.grounding_hedged import is_firmer_than_all
from hindsight_server.domain.grounding_opposed import is_only_asked, is_opposed
from hindsight_server.domain.grounding_turned import Said
from hindsight_server.domain.model import Fact
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.consolidate.types import (
    FOREIGN_FACT,
    FOREIGN_OBSERVATION,
    Action,
    Candidate,
    Kind,
    Look,
    Proposal,
    Reason,
    Refused,
    no_ordinary,
)
from hindsight_server.engine.extract.orders import gives_orders
from hindsight_server.ports.observations import Source

LONGEST_TEXT = 1000
"""Characters of an observation."""
_NO_SEAT = -1  # a number may come from any of the facts that speak of the same
FULL = Reason("full", "the scope has no room for another observation")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """The actions that are done, and those that are not."""

    accepted: tuple[Action, ...]
    refused: tuple[Refused, ...]


def check(look: Look, proposal: Proposal, ordinary: Ordinary = no_ordinary) -> Checked:
    """Which of the proposed actions may be done.

    Each rests on at least one of the given facts. An observation's names, numbers and words come from what it rests on.
    What is contradicted is not newer than what contradicts it. An observation goes only when others of the scope rest
    on all that it rests on. No observation is touched twice.
    """
    checking = _Checking(look, proposal, ordinary)
    for action in proposal.actions:
        checking.take(action)
    return Checked(tuple(checking.accepted), (*proposal.refused, *checking.refused))


def date_spans(text: str, facts: Iterable[Fact]) -> list[tuple[int, int]]:
    """Where a text names a day, month or year in which one of the facts was said or happened."""
    moments = {
        moment.date()
        for fact in facts
        for moment in (fact.mentioned_at, fact.occurred_start, fact.occurred_end)
        if moment is not None
    }
    return [match.span() for day in moments for match in _writings(day).finditer(text)]


def _writings(day: date) -> re.Pattern[str]:
    month = _MONTHS[day.month - 1]
    forms = (
        *(f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{month} {day.year}", day.isoformat()),
        *(f"{day.day} {month}", f"{month} {day.day}", f"{day.year}-{day.month:02}", f"{day.year}"),
        *(f"{day.year}年{day.month}月{day.day}日", f"{day.year}年{day.month}月", f"{day.month}月{day.day}日"),
    )
    return re.compile(rf"(?<!\d)(?:{'|'.join(map(re.escape, forms))})(?!\d)", re.IGNORECASE)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    kept = list(text)
    for start, end in spans:
        kept[start:end] = " " * (end - start)
    return "".join(kept)


class _Checking:
    def __init__(self, look: Look, proposal: Proposal, ordinary: Ordinary) -> None:
        self._look = look
        self._ordinary = ordinary
        self._facts = {waiting.fact.fact_id: waiting.fact for waiting in look.facts}
        self._further = {fact.fact_id: fact for fact in proposal.further}
        self._candidates = {candidate.observation_id: candidate for candidate in look.candidates}
        self._room = look.room
        self._touched: set[str] = set()
        self.accepted: list[Action] = []
        self.refused: list[Refused] = []

    def take(self, action: Action) -> None:
        action = self._cleaned(action)
        why = self._why_not(action)
        if why is not None:
            named = frozenset(source.fact_id for source in action.sources) & self._facts.keys()
            self.refused.append(Refused(why=why, fact_ids=named))
            return
        if action.observation_id is not None:
            self._touched.add(action.observation_id)
        if action.kind is Kind.CREATE and self._room is not None:
            self._room -= 1
        self.accepted.append(action)

    def _cleaned(self, action: Action) -> Action:
        """With the text on one line, and quotes only where they are verbatim."""
        known = {**self._facts, **self._further}
        sources: dict[str, Source] = {}
        for source in action.sources:
            fact = known.get(source.fact_id)
            quote = source.quote.strip() if fact is not None and source.quote.strip() in fact.text else ""
            held = sources.get(source.fact_id)
            if held is None or not held.quote:
                sources[source.fact_id] = Source(fact_id=source.fact_id, quote=quote)
        return replace(action, text=" ".join(clean_text(action.text).split()), sources=tuple(sources.values()))

    def _why_not(self, action: Action) -> Reason | None:
        about = action.observation_id
        if action.kind is not Kind.CREATE and about not in self._candidates:
            return FOREIGN_OBSERVATION
        if about in self._touched:
            return Reason("twice", "another action is about the same observation")
        if action.kind is Kind.DELETE:
            return self._why_not_delete(self._candidates[about or ""])
        given = [source for source in action.sources if source.fact_id in self._facts]
        if not given:
            return Reason("no_fact", "it rests on none of the given facts")
        if len(given) + sum(source.fact_id in self._further for source in action.sources) < len(action.sources):
            return FOREIGN_FACT
        if not action.text:
            return Reason("empty", "it has no text")
        if len(action.text) > LONGEST_TEXT:
            return Reason("too_long", f"its text has more than {LONGEST_TEXT} characters")
        if action.kind is Kind.CREATE and self._room is not None and self._room <= 0:
            return FULL
        return self._why_not_proved(action)

    def _why_not_delete(self, candidate: Candidate) -> Reason | None:
        supported = {source.fact_id for action in self.accepted for source in action.sources}
        for other in self._candidates.values():
            if other is not candidate and not self._is_deleted(other):
                supported |= {source.fact_id for source in other.observation.sources}
        if supported.issuperset(source.fact_id for source in candidate.observation.sources):
            return None
        return Reason("proved", "facts still prove the observation, and no other one rests on them")

    def _is_deleted(self, candidate: Candidate) -> bool:
        return any(
            action.kind is Kind.DELETE and action.observation_id == candidate.observation_id for action in self.accepted
        )

    def _why_not_proved(self, action: Action) -> Reason | None:
        candidate = self._candidates.get(action.observation_id or "")
        known = {**self._facts, **self._further}
        new = [known[source.fact_id] for source in action.sources]
        old = candidate.facts if candidate is not None else ()
        if action.kind is Kind.CONTRADICT and _latest(new) < _latest(old):
            return Reason("older", "the facts are older than what they would contradict")
        # What the observation said before was checked when it was written.
        said = [candidate.observation.fact] if candidate is not None else []
        return not_proved(action.text, [*new, *old, *said], self._ordinary)


def not_proved(text: str, facts: Sequence[Fact], ordinary: Ordinary = no_ordinary) -> Reason | None:
    """What in a text the facts don't say; None when all of it may come from them.

    What a fact orders is no evidence ("write that Ann is the owner"); its words may only be kept as they are.
    """
    if any(text == fact.text for fact in facts):
        return None
    facts = [fact for fact in facts if not gives_orders(fact.text)]
    if not facts:
        return Reason("orders", "its facts only give orders")
    evidence = Evidence(
        words=[fact.text for fact in facts],
        names=[name for fact in facts for name in fact.entities],
        speakers=[fact.speaker for fact in facts if fact.speaker],
        ordinary=ordinary,
    )
    dates = date_spans(text, facts)
    name = evidence.missing_name(text)
    if name is not None:
        return Reason("name", f"its facts don't name '{name[:60]}'")
    number = evidence.missing_number(text, _NO_SEAT, dates)
    if number is not None:
        return Reason("number", f"its facts don't hold the number '{number[:60]}'")
    foreign = evidence.foreign_words(text)
    if foreign is not None:
        return Reason("words", f"its facts don't say '{foreign[:60]}'")
    if not evidence.shares_words(_without(text, dates)):
        return Reason("words", "it has nothing in common with its facts")
    return _why_turned(text, facts)


def _why_turned(text: str, facts: Sequence[Fact]) -> Reason | None:
    """How a text turns its facts around: it tells what they only ask or plan, or the opposite of what they say."""
    sources = [_said(fact) for fact in facts]
    if is_only_asked(text, sources):
        return Reason("asked", "it tells what its fact only asks")
    speakers = tuple({fact.speaker: None for fact in facts if fact.speaker})
    if is_opposed(text, sources, speakers):
        return Reason("turned", "it says the opposite of its facts")
    if is_firmer_than_all(text, sources, speakers):
        return Reason("hedged", "it tells as a fact what its facts only plan or suppose")
    return None


def _said(fact: Fact) -> Said:
    """A fact's words and who said them, where it has them as they were said: "Ann: I play the violin."."""
    speaker = fact.speaker or ""
    rest = fact.text.removeprefix(speaker).lstrip() if speaker else fact.text
    if speaker and rest != fact.text and rest[:1] in (":", "："):
        return Said(rest[1:].lstrip(), speaker)
    return Said(fact.text)


def _latest(facts: Iterable[Fact]) -> float:
    """When the newest of them was said; minus infinity when none tells."""
    said = [fact.mentioned_at.timestamp() for fact in facts if fact.mentioned_at is not None]
    return max(said, default=float("-inf"))


def facts_without_action(checked: Checked) -> frozenset[str]:
    """The given facts that only refused actions named."""
    done = {source.fact_id for action in checked.accepted for source in action.sources}
    refused = {fact_id for one in checked.refused if one.why != FULL for fact_id in one.fact_ids}
    return frozenset(refused - done)
