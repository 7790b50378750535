"""The names that a write touches and those that they hang together with, in memory for the length of the write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, ValuesView
from dataclasses import dataclass, field
from typing import Any

from hindsight_server.adapters.sqlite.queries import all_rows
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.naming import Known, Status, fuller, read_name
from hindsight_server.domain.naming.flags import LITERAL, OTHER, PERSON

_UNSEEN = 3  # the status of a name that was never looked at
_MOST_SHARERS = 200  # names of one key that are looked at; more tell only that a short name is ambiguous


@dataclass(slots=True)
class NameRow:
    """A row of `entities`; `dirty` when it has to be written."""

    number: int
    normal: str
    flags: int
    mentions: int
    first: int | None
    last: int | None
    parent: int | None
    entity: int
    status: int
    awaited: int
    candidates: tuple[int, ...]
    dirty: bool = False
    _known: Known | None = None

    @property
    def known(self) -> Known:
        known = self._known
        if known is None or known.entity != self.entity:
            known = self._known = Known(
                number=self.number,
                form=read_name(self.normal),
                person=bool(self.flags & PERSON),
                other=bool(self.flags & OTHER),
                literal=bool(self.flags & LITERAL),
                entity=self.entity,
            )
        return known


@dataclass(slots=True)
class NameRows:
    """Rows by number, read when they are needed and written at the end."""

    session: BankSession
    regrouped: bool = False
    _held: dict[int, NameRow] = field(default_factory=dict)
    _related: dict[int, set[int]] = field(default_factory=dict)
    _links: dict[int, dict[int, int]] = field(default_factory=dict)
    _rules: dict[int, dict[int, int]] = field(default_factory=dict)
    _grouped: set[int] = field(default_factory=set)
    _members: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def __getitem__(self, number: int) -> NameRow:
        return self._held[number]

    def __contains__(self, number: int) -> bool:
        return number in self._held

    def __iter__(self) -> Iterator[int]:
        return iter(self._held)

    def values(self) -> ValuesView[NameRow]:
        return self._held.values()

    def each(self, numbers: Iterable[int]) -> list[NameRow]:
        return [self._held[number] for number in numbers if number in self._held]

    def load(self, numbers: Iterable[int]) -> None:
        missing = sorted(set(numbers) - self._held.keys())
        if not missing:
            return
        for *values, candidates in self._all("names.rows", missing):
            unclear = tuple(from_json(candidates) or ())
            row = self._held[values[0]] = NameRow(*(*values, unclear))
            self._members[row.entity].add(row.number)
        for name, into in (("names.links", self._links), ("names.rules", self._rules)):
            into.update((number, {}) for number in missing)
            for one, other, same in self._all(name, missing):
                into[one][other] = same

    def members(self, entities: Iterable[int]) -> set[int]:
        """Those of the rows that are held whose entity is one of these."""
        found: set[int] = set()
        for entity in set(entities):
            found |= self._members.get(entity, set())
        return found

    def move(self, number: int, entity: int) -> None:
        """Give a name to another entity."""
        row = self._held[number]
        self._members[row.entity].discard(number)
        self._members[entity].add(number)
        row.entity, row.dirty = entity, True

    def load_members(self, entities: Iterable[int]) -> None:
        """Every name of those entities, as stored, and of those that users joined with them."""
        fresh = set(entities) - self._grouped
        while fresh:
            self._grouped |= fresh
            members = {number for (number,) in self._all("names.members", sorted(fresh))}
            self.load(members)
            joined = {other for number in members for other, same in self._rules[number].items() if same}
            self.load(joined)
            fresh = {row.entity for row in self.each(joined)} - self._grouped

    def load_related(self, numbers: Iterable[int]) -> None:
        """Find the names that share a key with these, or that a fact or a user names together with them."""
        fresh = [row for row in self.each(set(numbers)) if row.number not in self._related]
        if not fresh:
            return
        keys = {row.number: read_name(row.normal).keys for row in fresh}
        sharers: dict[str, list[int]] = {}
        wanted = sorted({key for held in keys.values() for key in held})
        limits = {"bank_id": self.session.bank_id, "keys": to_json(wanted), "most": _MOST_SHARERS}
        for key, listed in all_rows(self.session.connection, "names.with_keys", limits):
            sharers[key] = from_json(listed)
        for row in fresh:
            found = {number for key in keys[row.number] for number in sharers[key]}
            found |= self._links[row.number].keys() | self._rules[row.number].keys() | set(row.candidates)
            self._related[row.number] = found - {row.number}
        self.load({number for row in fresh for number in self._related[row.number]})

    def related(self, number: int) -> list[int]:
        """Those of `load_related` that are still there, ascending."""
        return sorted(other for other in self._related.get(number, ()) if other in self._held)

    def rules(self, number: int) -> dict[int, int]:
        """What the user said of this name and others: 1 for one entity, 0 for two."""
        return self._rules.get(number, {})

    def told(self, one: int, other: int) -> int:
        """1 when the user or a text says that two names are one, -1 when two, 0 when nobody says anything."""
        for held in (self._rules[one], self._links[one]):
            said = held.get(other)
            if said is not None:
                return 1 if said else -1
            if self._keeps_apart(held, one, other):
                return -1
        return 0

    def _keeps_apart(self, said: dict[int, int], one: int, other: int) -> bool:
        """Whether one was told apart from a fuller name of the other's entity (a less full one decides for itself)."""
        entity, rank = self._held[other].entity, fuller(self._held[one].known)
        apart = self.each(number for number, same in said.items() if not same)
        return any(row.entity == entity and fuller(row.known) > rank for row in apart)

    def set_rule(self, one: int, other: int, *, same: bool) -> None:
        for first, second in ((one, other), (other, one)):
            self.session.connection.execute(sql("names.set_rule"), (self.session.bank_id, first, second, same))
            self._rules[first][second] = int(same)

    def add_keys(self, rows: Iterable[NameRow]) -> None:
        """Make names that were never looked at findable."""
        fresh = [row for row in rows if row.status == _UNSEEN]
        keys = [(self.session.bank_id, key, row.number) for row in fresh for key in read_name(row.normal).keys]
        self.session.connection.executemany(sql("names.add_key"), sorted(keys))
        for row in fresh:
            row.status, row.dirty = Status.SETTLED, True

    def drop(self, numbers: Iterable[int]) -> None:
        """Delete names and all that is known of them."""
        connection, bank_id = self.session.connection, self.session.bank_id
        gone = [self._held.pop(number) for number in sorted(numbers)]
        if not gone:
            return
        gone_numbers = {row.number for row in gone}
        for row in gone:
            self._members[row.entity].discard(row.number)
        keys = [(bank_id, key, row.number) for row in gone for key in read_name(row.normal).keys]
        connection.executemany(sql("names.drop_key"), keys)
        for statement in ("names.drop_rules_of", "names.drop_rules_with", "names.drop"):
            connection.executemany(sql(statement), [(bank_id, row.number) for row in gone])
        for row in self._held.values():
            if row.parent in gone_numbers:
                row.parent, row.dirty = None, True
        for held in self._rules.values():
            for number in gone_numbers & held.keys():
                del held[number]

    def note_awaited(self, touched: Iterable[int]) -> None:
        """Mark the names whose further mentions may settle another one."""
        decided = set(touched)
        wanted = {number for row in self._held.values() if row.status == Status.WAITING for number in row.candidates}
        for row in self._held.values():
            awaited = int(row.number in wanted)
            if awaited > row.awaited or (awaited < row.awaited and row.number in decided):
                row.awaited, row.dirty = awaited, True

    def company(self, number: int) -> list[tuple[Any, ...]]:
        """Where a name is mentioned, latest first: document, session, context, when, the names beside it, the terms."""
        rows = all_rows(self.session.connection, "names.company", (self.session.bank_id, number))
        return [(*row[:-2], from_json(row[-2]), from_json(row[-1])) for row in rows]

    def term_counts(self, terms: Iterable[str]) -> list[int]:
        """In how many facts each of the terms is."""
        wanted = {"bank_id": self.session.bank_id, "terms": to_json(sorted(terms))}
        return [count for _, count in all_rows(self.session.connection, "names.term_counts", wanted)]

    def flush(self) -> None:
        """Write what changed."""
        session = self.session
        session.connection.executemany(
            sql("names.write"),
            [
                {
                    "bank_id": session.bank_id,
                    "number": row.number,
                    "parent": row.parent,
                    "entity": row.entity,
                    "status": int(row.status),
                    "awaited": row.awaited,
                    "candidates": to_json(row.candidates) if row.candidates else None,
                    "flags": row.flags,
                }
                for row in self._held.values()
                if row.dirty
            ],
        )
        if self.regrouped:
            session.connection.execute(sql("names.regrouped"), (session.version, session.bank_id))

    def _all(self, statement: str, numbers: Iterable[int]) -> list[tuple[Any, ...]]:
        values = {"bank_id": self.session.bank_id, "numbers": to_json(list(numbers))}
        return all_rows(self.session.connection, statement, values)
