"""Deciding which names are one entity, at the end of each write, over the names that it touched.

What is decided follows from the names, the mentions and what users said alone, so it can be made again at any time:
when a second Victor comes in, the bare "Victor" leaves the first; when the fact that joined two names is forgotten,
they part.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hindsight_server.adapters.sqlite.naming_rows import NameRow, NameRows
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.domain.naming import Choice, Need, Status, choose, fuller
from hindsight_server.domain.naming.flags import GIVEN, SHOWN, TAG
from hindsight_server.domain.naming.resolve import related

GIVEN_FLAGS = GIVEN | SHOWN | TAG
"""Bits that no counting of mentions takes away."""

SAME_WEEKS = 30 * 86_400 * 1_000_000
"""Microseconds: names that were both said within this time may be one. Upstream's week is too short for a diary."""

_SAME_TALK = 30 * 60 * 1_000_000
_COMMON = 4  # a companion in more than one fact of so many tells nothing
_FEW_FACTS = 40  # below which no companion is common
_RARE = 0.02  # a word in no larger share of the facts tells something
_FEW_USES = 4
_SHORTEST_TERM = 3
_MONTHS = frozenset(  # as stemmed: the day on which a fact was told is among its terms
    ["januari", "februari", "march", "april", "may", "june", "juli", "august", "septemb", "octob", "novemb", "decemb"]
)
_MOST_READ = 20  # facts of a name whose words are compared
_MOST_ROUNDS = 5  # how often one name is decided anew in one write
_ADAPTER_CONTEXTS = ("haystack", "llamaindex", "langchain", "langgraph")


def settle_names(session: BankSession) -> None:
    """Decide over the touched names and those that depend on them, and drop names that nothing mentions any more."""
    if session.touched_names:
        touched = sorted(session.touched_names)
        session.touched_names.clear()
        _Settling(session).run(touched)


@dataclass(frozen=True, slots=True)
class _Company:
    """Where a name occurs and beside whom."""

    documents: frozenset[str]
    sessions: frozenset[str]
    talks: tuple[tuple[str, int], ...]
    others: frozenset[int]
    terms: frozenset[str]


class _Queue:
    """Names to decide over, the fullest of those that wait first."""

    def __init__(self, rows: NameRows, numbers: Iterable[int]) -> None:
        self._rows = rows
        self._waiting = set(numbers)
        self._ranked = sorted((fuller(rows[number].known), number) for number in self._waiting)

    def add(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._waiting:
                self._waiting.add(number)
                insort(self._ranked, (fuller(self._rows[number].known), number))

    def pop(self) -> int | None:
        if not self._ranked:
            return None
        _, number = self._ranked.pop()
        self._waiting.discard(number)
        return number


class _Settling:
    def __init__(self, session: BankSession) -> None:
        self._session = session
        self._rows = NameRows(session)
        self._companies: dict[int, _Company] = {}

    def run(self, touched: list[int]) -> None:
        rows = self._rows
        rows.load(touched)
        rows.load_members({row.entity for row in rows.each(touched)})
        rows.add_keys(rows.each(touched))
        gone = self._gone(touched)
        rows.load_related({*touched, *gone})
        affected = self._below({*touched, *gone}) | set(touched)
        groups = {rows[number].entity for number in (*touched, *gone)}
        self._bridge(gone)
        rows.drop(gone)
        affected -= gone
        rows.load_related(affected)
        self._regroup(rows.members(groups))
        self._decide(affected)
        rows.note_awaited(touched)
        rows.flush()

    def _gone(self, touched: Iterable[int]) -> set[int]:
        """Names without a mention; those that a user added stay as long as their entity has a mention."""
        rows = self._rows
        empty = {row.number for row in rows.each(touched) if not row.mentions and not row.flags & GIVEN}
        for entity in {rows[number].entity for number in touched}:
            members = rows.each(sorted(rows.members([entity])))
            left = [row for row in members if row.mentions]
            given = [row for row in members if row.flags & GIVEN and not row.mentions]
            if not left:
                empty.update(row.number for row in given)
                continue
            for row in given:
                partners = {other for other, same in rows.rules(row.number).items() if same}
                if partners <= empty:
                    rows.set_rule(row.number, max(left, key=lambda one: fuller(one.known)).number, same=True)
        return empty

    def _bridge(self, gone: set[int]) -> None:
        """What users made one by way of a name that goes stays one."""
        rows, done = self._rows, set[int]()
        for number in sorted(gone):
            done.add(number)
            partners = [other for other, same in sorted(rows.rules(number).items()) if same and other not in done]
            for one, other in pairwise(partners):
                if other not in rows.rules(one):
                    rows.set_rule(one, other, same=True)

    def _below(self, numbers: Iterable[int]) -> set[int]:
        """The names that could be another writing of one of these, so that their decision hangs on it."""
        rows = self._rows
        found: set[int] = set()
        for number in numbers:
            row = rows[number]
            rank = fuller(row.known)
            for other in rows.related(number):
                below = rows[other]
                if fuller(below.known) < rank and (
                    below.parent == number or rows.told(other, number) or related(below.known, row.known) is not None
                ):
                    found.add(other)
        return found

    def _decide(self, affected: set[int]) -> None:
        """From the fullest name down, since a name joins the entity of a fuller one as it stands by then."""
        rows = self._rows
        rounds: dict[int, int] = {}
        queue = _Queue(rows, affected)
        while (number := queue.pop()) is not None:
            rounds[number] = rounds.get(number, 0) + 1
            row = rows[number]
            choice = self._choice(row)
            if (choice.parent, choice.status, choice.candidates) == (row.parent, row.status, row.candidates):
                continue
            before = row.entity
            moved = choice.parent != row.parent
            row.parent, row.status, row.candidates = choice.parent, choice.status, choice.candidates
            row.dirty = True
            if moved:
                groups = {before} if choice.parent is None else {before, rows[choice.parent].entity}
                rows.load_members(groups)
                changed = self._regroup(rows.members(groups))
                rows.load_related(changed)
                again = self._below(changed)
                rows.load_related(again)
                queue.add(one for one in again if rounds.get(one, 0) < _MOST_ROUNDS)

    def _choice(self, row: NameRow) -> Choice:
        rows = self._rows
        rank = fuller(row.known)
        said = [rows[other] for other, same in rows.rules(row.number).items() if same and other in rows]
        if any(fuller(other.known) > rank for other in said):
            return Choice(None)
        others = [rows[other].known for other in rows.related(row.number)]
        return choose(
            row.known,
            others,
            says=lambda one, other, need: self._says(rows[one.number], rows[other.number], need),
            told=lambda one, other: rows.told(one.number, other.number),
        )

    def _regroup(self, members: set[int]) -> set[int]:
        """Join what parents and users join; the names whose entity changed."""
        rows = self._rows
        root = {number: number for number in members}

        def find(number: int) -> int:
            while root[number] != number:
                number = root[number]
            return number

        for number in members:
            joined = [other for other, same in rows.rules(number).items() if same]
            parent = rows[number].parent
            if parent is not None:
                joined.append(parent)
            for other in joined:
                if other in root:
                    root[find(number)] = find(other)
        groups: dict[int, list[int]] = {}
        for number in members:
            groups.setdefault(find(number), []).append(number)
        changed = set()
        for group in groups.values():
            entity = max(group, key=lambda one: (bool(rows[one].flags & SHOWN), fuller(rows[one].known)))
            for number in group:
                if rows[number].entity != entity:
                    rows.move(number, entity)
                    changed.add(number)
        if changed:
            rows.regrouped = True
        return changed

    def _says(self, one: NameRow, other: NameRow, need: Need) -> bool:
        """Whether the mentions of two names speak for their being one."""
        if need is Need.TIME and _near(one, other):
            return True
        first, second = self._company(one.number), self._company(other.number)
        if first.documents & second.documents or first.sessions & second.sessions:
            return True
        if any(a == b and abs(x - y) <= _SAME_TALK for a, x in first.talks for b, y in second.talks):
            return True
        shared = (first.others & second.others) - {one.number, other.number, one.entity, other.entity}
        self._rows.load(shared)
        facts = self._session.fact_count
        most = facts / _COMMON if facts > _FEW_FACTS else facts
        if any(row.mentions <= most for row in self._rows.each(shared)):
            return True
        words = [term for term in first.terms & second.terms if not _is_of_name(term, one.normal, other.normal)]
        counts = self._rows.term_counts(words)
        return any(count <= max(_FEW_USES, facts * _RARE) for count in counts)

    def _company(self, number: int) -> _Company:
        found = self._companies.get(number)
        if found is None:
            found = self._companies[number] = _read_company(self._rows.company(number))
        return found


def _read_company(rows: list[tuple[Any, ...]]) -> _Company:
    talks = [
        (context, at)
        for _, _, context, at, _, _ in rows
        if context and at is not None and context.strip().casefold() not in _ADAPTER_CONTEXTS
    ]
    return _Company(
        documents=frozenset(document for document, *_ in rows),
        sessions=frozenset(session for _, session, *_ in rows if session),
        talks=tuple(talks[:50]),
        others=frozenset(number for *_, numbers, _ in rows for number in numbers),
        terms=frozenset(term for *_, terms in rows[:_MOST_READ] for term in terms),
    )


def _is_of_name(term: str, *names: str) -> bool:
    """Whether an index term, which may be stemmed, comes from one of the names themselves, or says too little."""
    if term.isascii() and (len(term) < _SHORTEST_TERM or term.isdigit() or term in _MONTHS):
        return True
    if not term.isascii():
        return any(term in name for name in names)
    stem = term[:-1] if len(term) > _SHORTEST_TERM else term
    return any(word.startswith(stem) for name in names for word in re.split(r"[\W_]+", name))


def _near(one: NameRow, other: NameRow) -> bool:
    if one.first is None or one.last is None or other.first is None or other.last is None:
        return False
    return max(one.first, other.first) - min(one.last, other.last) <= SAME_WEEKS


__all__ = ["GIVEN_FLAGS", "Status", "settle_names"]
