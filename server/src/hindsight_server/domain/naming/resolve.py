"""Which entity a name belongs to, as a decision over all the names of a bank that can be made again at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from hindsight_server.domain.naming import words
from hindsight_server.domain.naming.forms import Kind, NameForm
from hindsight_server.domain.naming.rules import Need, could_be, is_abbreviated, is_respelt_person, looks_like_person


class Status(IntEnum):
    """How the decision over a name went."""

    SETTLED = 0
    WAITING = 1  # there is one that it could be, but nothing speaks for it yet
    AMBIGUOUS = 2  # there are several that it could be


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A name of a bank.

    Args:
        number: its number in the bank.
        form: the name taken apart.
        person: some mention says that it is a person.
        other: some mention says that it is a place, a firm or a thing.
        literal: a caller supplied it to be taken as it is.
        entity: the number of the entity it belongs to now.

    Attributes:
        rank: its place in the order from the least to the most telling name; total, and the same for the same names
            always.
    """

    number: int
    form: NameForm
    person: bool = False
    other: bool = False
    literal: bool = False
    entity: int = 0
    rank: tuple[int, int, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Of two writings with the same letters the one with fewer signs stands for both.
        rank = _fullness(self.form), -len(self.form.text), self.form.text
        object.__setattr__(self, "rank", rank)


@dataclass(frozen=True, slots=True)
class Choice:
    """The decision over one name.

    Args:
        parent: the fuller name that it is another writing of, or None.
        status: whether the decision is final.
        candidates: the names that an ambiguous or waiting one could be, ascending.
    """

    parent: int | None
    status: Status = Status.SETTLED
    candidates: tuple[int, ...] = ()


def fuller(known: Known) -> tuple[int, int, str]:
    """The key that orders names from the least to the most telling one."""
    return known.rank


def related(less: Known, more: Known) -> Need | None:
    """`could_be` for names of a bank, with what the bank knows of them."""
    if less.literal or more.literal:
        return None
    if less.form.fold == more.form.fold:
        return Need.NOTHING
    if less.other and not less.person and less.form.kind not in (Kind.PLAIN, Kind.POSSESSIVE):
        return could_be(less.form, more.form, person=False, known_person=False)
    same_first = (
        is_abbreviated(less.form)
        or (less.person and less.form.given == more.form.given)
        or is_respelt_person(less.form, more.form)
    )
    person = looks_like_person(more.form, known=more.person or same_first) and (more.person or not more.other)
    need = could_be(less.form, more.form, person=person, known_person=less.person)
    only_first = same_first and less.form.kind is Kind.WORD and not looks_like_person(more.form, known=more.person)
    return Need.COMPANY if need is Need.TIME and only_first else need


def _rivals(less: Known, more: Known) -> bool:
    """Whether a name that nothing shows to be a person's would fit if it were: enough to make another one doubtful."""
    if less.literal or more.literal or (more.other and not more.person):
        return False
    if more.form.kind is Kind.FULL and more.form.family in words.NO_FAMILY:
        return False
    return could_be(less.form, more.form, person=True, known_person=True) is not None


def choose(
    name: Known,
    others: Sequence[Known],
    *,
    says: Callable[[Known, Known, Need], bool],
    told: Callable[[Known, Known], int] = lambda one, other: 0,
) -> Choice:
    """Decide what a name is another writing of.

    A name joins a fuller one only when all the names that it could be are one entity, and something speaks for it.

    Args:
        name: the name in question.
        others: names that share a key with it, with the entities that they belong to.
        says: whether something speaks for two names being one, as much as is needed.
        told: above 0 when a text or a user said that two names are one, below 0 when they said that they are two.
            A name that was told apart still leaves a short one in doubt, since it told of one mention, not of all.
    """
    if name.literal:
        return Choice(None)
    rank = fuller(name)
    above: list[tuple[Known, Need]] = []
    twins: list[Known] = []
    rivals: list[Known] = []
    for other in others:
        if other.number == name.number or fuller(other) <= rank:
            continue
        said = told(name, other)
        need = Need.NOTHING if said > 0 else None if said < 0 else related(name, other)
        if need is not None:
            above.append((other, need))
            if other.form.fold == name.form.fold:
                twins.append(other)
        elif _rivals(name, other):
            rivals.append(other)
    if twins:
        return Choice(max(twins, key=fuller).number)
    if not above:
        return Choice(None)
    fitting = [*(other for other, _ in above), *rivals]
    if len({other.entity for other in fitting}) > 1:
        return Choice(None, Status.AMBIGUOUS, tuple(sorted(other.number for other in fitting)))
    if any(need is Need.NOTHING or says(name, other, need) for other, need in above):
        return Choice(max((other for other, _ in above), key=fuller).number)
    return Choice(None, Status.WAITING, tuple(sorted(other.number for other, _ in above)))


_FULLNESS = {
    Kind.TITLED: 6,
    Kind.ORGANISATION: 40,
    Kind.REGION: 40,
    Kind.POSSESSIVE: -1,
    Kind.HAN_REFERENCE: 2,
    Kind.HAN_WORD: 3,
}


def _fullness(form: NameForm) -> int:
    if form.kind is Kind.FULL:
        given = 1 if len(form.given) == 1 else 3 if form.given in words.nicknames() else 4
        family = 2 if len(form.family) == 1 else 6
        middle = max((1 if len(word) == 1 else 2 for word in form.middle), default=0)
        return 10 + 2 * (given + family + middle) + bool(form.title)
    if form.kind is Kind.HAN_FULL:
        return 50 + len(form.given)
    if form.kind is Kind.WORD:
        return 3 if form.given in words.nicknames() else 4
    return _FULLNESS.get(form.kind, 5)
