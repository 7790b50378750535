"""What a person decided about a memory holds when the words it came from are read again."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

# Shares of its terms with which a fact that was read says what a person changed. A fact that was the only one of its
# words stood for all of them, so less is asked for. Chosen by judgement, not measured.
_ALIKE = 0.7
_ALIKE_ALONE = 0.6
_ALIKE_ANEW = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a fact says, and where.

    Args:
        terms: its index terms, of its own words.
        turn: of its document.
        place: where its words stand in its chunk, and how long they are; None when unknown.
        anew: whether it was read from words that were not there before: they may tell something new.
    """

    terms: frozenset[str]
    turn: int
    place: tuple[int, int] | None
    anew: bool = False

    def is_of(self, other: Said) -> bool:
        """Whether both come from the same words."""
        if self.place is None or other.place is None:
            return self.turn == other.turn
        return self.place[0] < sum(other.place) and other.place[0] < sum(self.place)


def own_terms(text: str, terms: Iterable[str]) -> frozenset[str]:
    """The index terms that stand in a fact's text, without those of its date; a stem may differ in its last letter."""
    folded = "".join(one for one in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(one))
    return frozenset(term for term in terms if (term[:-1] if len(term) > 3 else term) in folded)


def replaced_by(changed: Said, edited: bool, read: Sequence[Said], unchanged: Collection[Said]) -> set[int]:
    """The places in `read` of what must not come beside a fact that a person edited or invalidated.

    Args:
        changed: the fact as it is by now; both it and `read` are facts of one chunk.
        edited: it may say something else than its words, so that one fact of them goes even if none is like it.
        unchanged: the facts that were read from the chunk before and that nobody changed: what says the same stays.
    """
    beside = [one for one in unchanged if one.is_of(changed)]
    known = {one.terms for one in beside} - {changed.terms}
    free = [at for at, one in enumerate(read) if one.is_of(changed) and one.terms not in known]
    same = {at for at in free if read[at].terms == changed.terms}
    if same:
        return same
    again = [at for at in free if not read[at].anew]
    least = _ALIKE if beside else _ALIKE_ALONE
    alike = {at for at in again if _share(read[at], changed) >= least or _share(changed, read[at]) >= _ALIKE}
    alike |= {at for at in free if read[at].anew and _only_names_more(read[at], changed)}
    if alike or not edited or not again:
        return alike
    return {max(again, key=lambda at: _share(read[at], changed))}


def _only_names_more(one: Said, other: Said) -> bool:
    """Whether one of two facts says all that the other says, and hardly more."""
    shares = sorted((_share(one, other), _share(other, one)))
    return shares[1] == 1 and shares[0] >= _ALIKE_ANEW


def _share(one: Said, other: Said) -> float:
    """How much of what one fact says the other one says too."""
    return len(one.terms & other.terms) / max(1, len(one.terms))
