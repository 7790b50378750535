"""Which two names could be one, and how much must speak for it."""

from __future__ import annotations

from enum import IntEnum

from hindsight_server.domain.naming import words
from hindsight_server.domain.naming.forms import Kind, NameForm
from hindsight_server.domain.naming.spelling import is_slip, skeleton

_NEUTRAL = ("", "role")


class Need(IntEnum):
    """What must speak for two names being one besides their likeness, from nothing to the most."""

    NOTHING = 0
    TIME = 1  # named within the same weeks
    COMPANY = 2  # the same document, session, or others named beside them


def could_be(less: NameForm, more: NameForm, *, person: bool, known_person: bool) -> Need | None:
    """Whether `less` could be another writing of `more`, and what it takes; None when it could not.

    Args:
        less, more: two names, the fuller one second.
        person: whether `more` may be a person (nothing says that it is a place, a firm or a thing).
        known_person: whether `less` is known to be a person: a speaker, or named as one.

    Example:
        >>> could_be(read_name("alice c."), read_name("alice chen"), person=True, known_person=False)
        <Need.TIME: 1>
    """
    if less.fold == more.fold:
        return Need.NOTHING
    if Kind.FIXED in (less.kind, more.kind):
        return None
    if less.fold == more.spelt or more.fold == less.spelt:
        return Need.TIME
    if Kind.REGION in (less.kind, more.kind):
        return Need.COMPANY if more.kind is Kind.REGION and less.fold == more.base else None
    if more.kind is Kind.ORGANISATION or less.kind is Kind.POSSESSIVE:
        base = more.base if more.kind is Kind.ORGANISATION else less.base
        other = less if more.kind is Kind.ORGANISATION else more
        return Need.TIME if other.fold == base and other.kind is not Kind.ORGANISATION else None
    if not person or not _agree(less, more):
        return None
    if more.kind is Kind.HAN_FULL:
        return _han(less, more)
    if less.kind is Kind.WORD:
        return _word(less, more, known_person=known_person)
    if less.kind is Kind.TITLED and more.kind is Kind.FULL:
        return _titled(less, more)
    if less.kind is Kind.FULL and more.kind is Kind.FULL:
        return _full(less, more)
    return None


def looks_like_person(form: NameForm, *, known: bool) -> bool:
    """Whether a name may be taken for a person's: by a title, a common given name, or because it is known."""
    if form.kind in (Kind.HAN_FULL, Kind.HAN_REFERENCE, Kind.TITLED):
        return True
    if form.kind is Kind.WORD:
        return known or (words.is_given(form.given) and form.given not in words.NOT_ALONE)
    if form.kind is not Kind.FULL:
        return False
    if any(len(word) == 1 for word in form.middle):
        return True
    if form.family in words.NO_FAMILY:
        return False
    return known or bool(form.title) or words.is_given(form.given) or bool(form.sounds)


def is_abbreviated(form: NameForm) -> bool:
    """Whether a name is an initial and a family name: nothing but a person is written so."""
    return form.kind is Kind.FULL and len(form.given) == 1 and len(form.family) > 1


def is_respelt_person(less: NameForm, more: NameForm) -> bool:
    """Whether a name is a person's whose transliteration differs, so that lists of given names may lack the other."""
    both_full = less.kind is Kind.FULL and more.kind is Kind.FULL and less.given != more.given
    return both_full and words.is_given(less.given) and skeleton(less.given) == skeleton(more.given)


def _agree(one: NameForm, other: NameForm) -> bool:
    """Nothing in the two says that they are two people."""
    if one.suffix != other.suffix:
        return False
    if one.gender and other.gender and one.gender != other.gender:
        return False
    if Kind.HAN_FULL in (one.kind, other.kind) or one.title == other.title:
        return True
    return one.title in _NEUTRAL or other.title in _NEUTRAL


def _word(less: NameForm, more: NameForm, *, known_person: bool) -> Need | None:
    word = less.given
    if more.kind is Kind.WORD:
        return Need.COMPANY if more.given in words.nicknames().get(word, ()) else None
    if word in words.NOT_ALONE and not known_person:
        return None
    if more.kind is Kind.TITLED:
        return Need.TIME if more.given == word else None
    if more.kind is not Kind.FULL:
        return None
    if more.given == word:
        return Need.TIME
    if more.given in words.nicknames().get(word, ()) or more.family == word:
        return Need.COMPANY
    return None


def _titled(less: NameForm, more: NameForm) -> Need | None:
    if less.given not in (more.family, more.given):
        return None
    return Need.TIME if less.title == more.title or less.given == more.given else Need.COMPANY


def _full(less: NameForm, more: NameForm) -> Need | None:
    if less.sounds & more.sounds:
        return Need.TIME
    if _begins(less, more):
        return Need.COMPANY
    if not _family_fits(less.family, more.family):
        return _respelt(less, more)
    initials = _run_together(less)
    if initials and more.given.startswith(initials[0]) and more.middle and more.middle[0].startswith(initials[1]):
        return Need.TIME
    if not _middle_fits(less.middle, more.middle):
        return None
    if less.given == more.given or (len(less.given) == 1 and more.given.startswith(less.given)):
        return Need.TIME if _only_middle_names(less, more) else Need.COMPANY
    return Need.COMPANY if more.given in words.nicknames().get(less.given, ()) else _respelt(less, more)


def _begins(less: NameForm, more: NameForm) -> bool:
    """The given names alone of a longer name: "Fatima Zahra" of "Fatima Zahra El Idrissi"."""
    return not less.middle and less.given == more.given and more.middle[:1] == (less.family,)


def _respelt(less: NameForm, more: NameForm) -> Need | None:
    """The same two words in another transliteration or alphabet, or with a slip in the longer of them."""
    if less.middle != more.middle:
        return None
    if skeleton(less.given) == skeleton(more.given) and skeleton(less.family) == skeleton(more.family):
        return Need.TIME if less.text.isascii() != more.text.isascii() else Need.COMPANY
    slipped = less.given == more.given and is_slip(less.family, more.family)
    return Need.COMPANY if slipped else None


def _run_together(form: NameForm) -> str:
    """Two initials written as one word, "J.R. Patel"; an empty text when it may be a given name."""
    two = len(form.given) == 2 and not form.middle and not words.is_given(form.given)
    return form.given if two and not form.sounds else ""


def _only_middle_names(less: NameForm, more: NameForm) -> bool:
    """What the fuller name has in its middle alone are initials or given names, not words like "Hill"."""
    further = [word for word in more.middle if word not in less.middle]
    return all(len(word) == 1 or words.is_given(word) for word in further)


def _family_fits(less: str, more: str) -> bool:
    return less == more or (len(less) == 1 and more.startswith(less))


def _middle_fits(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """One's middle names are among the other's, in order, each whole or as an initial."""
    if any(word in words.QUALIFIERS for word in {*one} ^ {*other}):
        return False
    fewer, more = sorted((one, other), key=len)
    left = iter(more)
    return all(
        any(b.startswith(a) if len(a) == 1 else a.startswith(b) if len(b) == 1 else a == b for b in left) for a in fewer
    )


def _han(less: NameForm, more: NameForm) -> Need | None:
    if less.kind is Kind.FULL:
        return Need.TIME if less.sounds & more.sounds else None
    if less.kind is Kind.HAN_REFERENCE:
        by_surname = less.family == more.family
        by_given = bool(less.given) and more.given.endswith(less.given)
        return Need.COMPANY if by_surname or by_given else None
    if less.kind in (Kind.HAN_WORD, Kind.HAN_FULL):
        return Need.TIME if len(more.given) == 2 and less.text == more.given else None
    return None
