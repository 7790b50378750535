"""How often a clause says that something happens: "often", "every day", "rarely". Pure functions."""

from __future__ import annotations

from itertools import pairwise

from hindsight_server.domain.grounding_clauses import Clause, lemmas

_OFTEN = lemmas(
    "often frequently always usually normally typically regularly constantly routinely daily nightly weekly"
)
_SOMETIMES = lemmas("sometimes occasionally monthly yearly")
_SELDOM = lemmas("rarely seldom hardly scarcely barely infrequently")
_SPANS = lemmas("time hour day night morning noon afternoon evening week weekend month year season single")
_TELLING = _OFTEN | _SELDOM | _SPANS
_DAYS = lemmas("weekday weekend monday tuesday wednesday thursday friday saturday sunday")
_EACH = frozenset(["every", "each", "per", "a", "all", "most", "single"])
_GENERAL = frozenset(["never", "do", "does", "longer", "anymore"])
_DENIALS = frozenset(["not", "never", "no", "nobody", "nothing", "none", "without"])
_OPEN = frozenset(["if", "unless", "whether", "when", "so"])


def how_often(clause: Clause) -> frozenset[str]:
    """The lemmas that tell how often something happens, though not those for seldom.

    Example:
        >>> from hindsight_server.domain.grounding_clauses import clauses
        >>> [sorted(how_often(clause)) for clause in clauses("Ann often sings, Bo sings every day, and Lee sings.")]
        [['often'], ['day'], []]
    """
    found = clause.content & (_OFTEN | _SOMETIMES)
    if clause.content.isdisjoint(_SPANS | _DAYS):
        return found
    words = [word for word in clause.words if word.folded != "the"]
    spans = {word.lemma for before, word in pairwise(words) if before.folded in _EACH and word.lemma in _SPANS | _DAYS}
    days = {
        word.lemma
        for before, word in pairwise(words)
        if before.folded == "on" and word.lemma in _DAYS and word.folded.endswith("s")
    }
    return found | spans | days


def tells_how_often(clause: Clause) -> bool:
    """Whether a clause may tell that something often or seldom happens; quick."""
    return not clause.content.isdisjoint(_TELLING) or "never" in clause.folded


def is_general(clause: Clause) -> bool:
    """Whether a clause that denies something denies it of all times, and names no times itself."""
    if clause.folded.isdisjoint(_GENERAL) or "had" in clause.folded:
        return False
    return clause.content.isdisjoint(_OFTEN | _SOMETIMES | _SPANS | _DAYS)


def is_against(fact: Clause, clause: Clause) -> bool:
    """Whether one of two clauses says that something happens often, and the other that it seldom does."""
    if clause.is_question or not (clause.folded | fact.folded).isdisjoint(_OPEN):
        return False
    return (_is_seldom(clause) and _is_often(fact)) or (_is_seldom(fact) and _is_often(clause))


def besides(clause: Clause) -> frozenset[str]:
    """What a clause says besides how often."""
    return clause.content - how_often(clause) - _SELDOM


def _is_seldom(clause: Clause) -> bool:
    if {"almost", "never"} <= clause.folded:
        return True
    return not clause.content.isdisjoint(_SELDOM) and clause.folded.isdisjoint(_DENIALS)


def _is_often(clause: Clause) -> bool:
    if not clause.folded.isdisjoint(_DENIALS | {"once"}) or not clause.content.isdisjoint(_SELDOM):
        return False
    return not (how_often(clause) - _SOMETIMES).isdisjoint(_OFTEN | _SPANS)
