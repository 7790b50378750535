"""Names as they are written: found or made by their normalised form, counted by the facts that mention them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hindsight_server.adapters.sqlite.naming import GIVEN_FLAGS, settle_names
from hindsight_server.adapters.sqlite.queries import all_rows, one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import EntityMention, NameLink
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import Kind, read_name
from hindsight_server.domain.naming.flags import mention_flags


class Mentioned(NamedTuple):
    """A name in a fact: its number, and what the mention says of it."""

    number: int
    flags: int


class EntityNumbers:
    """The numbers of names, looked up or handed out during one transaction."""

    def __init__(self, session: BankSession) -> None:
        self._session = session
        self._known: dict[str, tuple[int, int]] = {}
        self._mentioned: dict[tuple[str, str, bool, bool], Mentioned] = {}
        self._folds: dict[str, int] = {}

    def of(self, mentions: Iterable[EntityMention], spoken: Sequence[str] = ()) -> tuple[Mentioned, ...]:
        """Each name once, in the order of mention; blank names have none.

        Args:
            spoken: folds of words that mention a name if the bank knows one of that fold.
        """
        found: dict[int, Mentioned] = {}
        for mention in mentions:
            key = (mention.name, mention.type, mention.literal, mention.tag)
            held = self._mentioned.get(key)
            if held is None:
                held = self._mentioned[key] = self._looked_up(mention)
            before = found.get(held.number)
            found[held.number] = held if before is None else Mentioned(held.number, before.flags | held.flags)
        found.pop(0, None)
        for number in self._known_by(spoken) if spoken else ():
            found.setdefault(number, Mentioned(number, 0))
        return tuple(found.values())

    def _known_by(self, folds: Sequence[str]) -> list[int]:
        """The first name of each fold; names made in this transaction are findable before it ends."""
        here = {fold: self._folds[fold] for fold in folds if fold in self._folds}
        wanted = {"bank_id": self._session.bank_id, "keys": to_json([fold for fold in folds if fold not in here])}
        for fold, number, normal in all_rows(self._session.connection, "names.spoken", wanted):
            form = read_name(normal)
            if fold not in here and (form.fold == fold or (form.kind is Kind.ORGANISATION and "&" in fold)):
                here[fold] = number
        touched = [number for fold, number in here.items() if fold not in self._folds]
        if touched:
            touch(self._session, touched)
        return list(here.values())

    def _looked_up(self, mention: EntityMention) -> Mentioned:
        flags = mention_flags(mention)
        number, known = self._known.get(mention.name, (-1, 0))
        if number < 0 or flags & ~known:
            number, known = self._find_or_make(mention, flags)
            self._known[mention.name] = number, known | flags
        return Mentioned(number, flags)

    def _find_or_make(self, mention: EntityMention, flags: int) -> tuple[int, int]:
        """The number, and the flags that the name had."""
        session = self._session
        normal = normal_name(mention.name)
        if not normal:
            return 0, 0
        row = one_row(session.connection, "names.by_normal_name", (session.bank_id, normal))
        if row is None:
            number = make_name(session, mention.name, mention.type, flags)
            self._folds.setdefault(read_name(normal).fold, number)
            return number, flags
        number, kind, held, status, awaited = row
        if kind == "CONCEPT" != mention.type:
            session.connection.execute(sql("names.set_type"), (mention.type, session.bank_id, number))
        if status or awaited or flags & ~held:
            touch(session, [number])
        return number, held


def make_name(session: BankSession, name: str, kind: str, flags: int = 0, *, entity: int | None = None) -> int:
    """A new name with a fresh number, without mentions, of that entity or one of its own."""
    number = session.take_entity()
    values = {
        "bank_id": session.bank_id,
        "number": number,
        "entity_id": new_id(),
        "normal": normal_name(name),
        "name": " ".join(name.split()),
        "type": kind,
        "flags": flags,
        "entity": number if entity is None else entity,
    }
    session.connection.execute(sql("names.create"), values)
    touch(session, [number])
    return number


def touch(session: BankSession, numbers: Iterable[int]) -> None:
    """Have the decisions over these names made again before the transaction ends."""
    session.touched_names.update(numbers)
    session.before_save(settle_names)


def add_mentions(session: BankSession, mentions: Sequence[tuple[Mentioned, int, int]]) -> None:
    """Count mentions, given as (name, fact number, when)."""
    spans: dict[int, tuple[int, int, int, int]] = {}
    for (number, flags), _, seen in mentions:
        count, first, last, held = spans.get(number, (0, seen, seen, 0))
        spans[number] = (count + 1, min(first, seen), max(last, seen), held | flags)
    session.connection.executemany(
        sql("names.mention"),
        sorted((session.bank_id, number, seq, seen, flags) for (number, flags), seq, seen in mentions),
    )
    session.connection.executemany(
        sql("names.count_mentions"),
        [
            {
                "bank_id": session.bank_id,
                "number": number,
                "mentions": count,
                "first": first,
                "last": last,
                "flags": flags,
            }
            for number, (count, first, last, flags) in spans.items()
        ],
    )


def remove_mentions(session: BankSession, mentions: Sequence[tuple[int, int]]) -> None:
    """Forget mentions, given as (number, fact number); names that no fact mentions at the end of the transaction, and
    what was learnt from the mentions alone, go with them."""
    session.connection.executemany(
        sql("names.forget_mention"), [(session.bank_id, number, seq) for number, seq in mentions]
    )
    numbers = sorted({number for number, _ in mentions})
    session.connection.executemany(
        sql("names.recount"),
        [{"bank_id": session.bank_id, "number": number, "kept": GIVEN_FLAGS} for number in numbers],
    )
    touch(session, numbers)


def add_links(session: BankSession, seq: int, links: Iterable[NameLink]) -> None:
    """Keep what a fact says of two names. Names that are blank or not in the bank are passed over."""
    rows = []
    for link in links:
        pair = [
            one_row(session.connection, "names.by_normal_name", (session.bank_id, normal_name(name)))
            for name in (link.one, link.other)
        ]
        if pair[0] is None or pair[1] is None or pair[0][0] == pair[1][0]:
            continue
        one, other = pair[0][0], pair[1][0]
        rows += [(session.bank_id, seq, one, other, link.same), (session.bank_id, seq, other, one, link.same)]
        touch(session, [one, other])
    session.connection.executemany(sql("names.add_link"), rows)


def add_label_tags(session: BankSession, seqs: Sequence[int]) -> None:
    """Give facts that got the tags of their document their labels back that are tags."""
    wanted = {"bank_id": session.bank_id, "seqs": to_json(list(seqs))}
    labels: dict[int, list[str]] = {}
    for seq, name in all_rows(session.connection, "names.label_tags", wanted):
        labels.setdefault(seq, []).append(name)
    for seq, names in labels.items():
        tags = from_json(scalar(session.connection, "names.tags", (session.bank_id, seq)))
        values = (to_json(list(dict.fromkeys([*tags, *names]))), session.bank_id, seq)
        session.connection.execute(sql("facts.set_tags"), values)
