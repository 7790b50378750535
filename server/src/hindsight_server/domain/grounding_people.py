"""Who stands where in a clause: before a verb, after it, or anywhere in it. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.grounding_clauses import Clause, Word, is_passive, lemmas

KIN = lemmas("mother father brother sister wife husband son daughter uncle aunt cousin grandma grandpa boss manager")
CALLED = KIN | lemmas("user assistant")
"""Words that are no names and stand for somebody."""
_NO_OBJECT_AFTER_TEXT = "of in on at by from with about like as than after before near and or"
_NO_OBJECT_AFTER = frozenset(_NO_OBJECT_AFTER_TEXT.split())
_PLACING = frozenset(["in", "at", "on", "from", "to", "with", "by", "for", "about", "near", "than"])
_SINGULAR = frozenset(["i", "me", "my", "mine", "myself"])
_SPEAKING = {"i": "i", "my": "i", "we": "we", "our": "we", "you": "you", "your": "you"}
_ANYBODY = frozenset(["he", "she", "they", "it", "who", "his", "her", "their", "everybody", "everyone", "both"])


def person(name: str) -> str:
    """What somebody is called by: the last word of a name.

    Example:
        >>> person("Dr. Ann Lee")
        'lee'
    """
    words = fold(name).split()
    return words[-1] if words else ""


def place_before(words: Sequence[Word], at: int) -> int:
    """Where the word before a verb stands, helpers between them aside; -1 when there is none."""
    place = at - 1
    while place >= 0 and words[place].is_helper:
        place -= 1
    return place


def subject_of(words: Sequence[Word], at: int, speaker: str | None) -> str | None:
    """Who stands right before a verb, helpers between them aside."""
    place = place_before(words, at)
    if place < 0:
        return None
    if place > 0 and words[place - 1].folded in _NO_OBJECT_AFTER - {"and"}:
        return None
    return _who(words[place], speaker, as_object=False)


def object_of(words: Sequence[Word], at: int, speaker: str | None) -> str | None:
    """Who stands right after a verb."""
    for word in words[at + 1 : at + 4]:
        if word.folded in _NO_OBJECT_AFTER:
            return None
        who = _who(word, speaker, as_object=True)
        if who is not None:
            return who
    return None


def objects_of(words: Sequence[Word], at: int, speaker: str | None) -> set[str]:
    """Everybody who may be the object of a verb."""
    found = set()
    for place in range(at + 1, len(words)):
        who = _who(words[place], speaker, as_object=True)
        if who is None:
            continue
        before = place - 1
        while before > at and (words[before].is_capital or words[before].folded in ("the", "his", "her", "my")):
            before -= 1
        if words[before].folded not in _NO_OBJECT_AFTER:
            found.add(who)
    return found


def named(words: Iterable[Word], speaker: str | None) -> set[str]:
    """Everybody who is named; the speaker by "I" or "me"."""
    return {who for word in words if (who := _who(word, speaker, as_object=None)) is not None}


def _who(word: Word, speaker: str | None, *, as_object: bool | None) -> str | None:
    if word.is_owner:
        return None
    own = {True: ("me", "us"), False: ("i", "we"), None: ("i", "we", "me", "us")}[as_object]
    if word.folded in own:
        return person(speaker) if speaker else None
    if word.folded in ("user", "assistant") or word.lemma in KIN:
        return word.lemma if word.lemma in KIN else word.folded
    return word.folded if word.is_capital and not word.is_function and len(word.folded) > 2 else None


def has_one_subject(fact: Clause, word: str, clause: Clause, told: str, speaker: str | None) -> bool:
    """Whether one and the same is the subject of a verb in a statement and of another verb in a clause."""
    (said, at), (other, place) = (
        (one.words, next(at for at, word in enumerate(one.words) if word.lemma == verb))
        for one, verb in ((fact, word), (clause, told))
    )
    subject = subject_of(said, at, None)
    if subject is None or is_passive(said, at) is not is_passive(other, place):
        return False
    return subject == subject_of(other, place, speaker)


def may_be_of(fact: Clause, word: str, clause: Clause, speaker: str | None, speakers: frozenset[str]) -> bool:
    """Whether a clause may say of the one whom a statement is about what the statement says of him with a word.

    A first-person clause is of who speaks, and of nobody else; another one is of whom it names before the word.

    Args:
        word: the lemma of what is said in both.
        speaker: who says the clause.
        speakers: what those who speak are called by.
    """
    me, meant = person(speaker or ""), _doer(fact, word)
    people = speakers & (fact.folded if meant else fact.around)
    people = people or speakers & fact.around
    if not me or not (meant or people):
        return True
    if people and me not in people and clause.folded.isdisjoint(people) and not clause.folded.isdisjoint(_SINGULAR):
        return False
    meant = meant or people
    doer = _doer(clause, word) or _left_out(clause, word, people)
    if not doer or not meant.isdisjoint(doer):
        return True
    if doer == {"i"}:
        return me in meant
    if doer == {"you"}:
        return me not in meant
    return doer == {"we"} or ((doer <= KIN or meant <= KIN) and meant.isdisjoint(speakers))


def _left_out(clause: Clause, told: str, people: frozenset[str]) -> frozenset[str]:
    """The "i" that a clause without a subject goes on with, or leaves out: "I sing, and like tea", "Love tea!"."""
    begun = next((word for word in clause.words if not word.is_helper and word.folded not in ("and", "but")), None)
    if begun is None or begun.lemma != told or not people.isdisjoint(clause.around):
        return frozenset()
    goes_on = "i" in clause.around and clause.opener != ""
    return frozenset(["i"] if goes_on or (not clause.opener and not begun.folded.endswith("s")) else [])


def _doer(clause: Clause, lemma_: str) -> frozenset[str]:
    """Who is named last before a word: names, kin, or "i", "you" and "we"; empty where it may be anybody."""
    words = clause.words
    at = next((place for place, word in enumerate(words) if word.lemma == lemma_), 0)
    for place in range(at - 1, -1, -1):
        word = words[place]
        if word.folded in _ANYBODY:
            return frozenset()
        if word.folded in _SPEAKING:
            return frozenset([_SPEAKING[word.folded]])
        if not _may_name(word):
            continue
        first = place
        while first and words[first - 1].is_capital and _may_name(words[first - 1]):
            first -= 1
        if first and words[first - 1].folded in _PLACING:
            continue
        return frozenset([one.lemma if one.lemma in KIN else one.folded for one in words[first : place + 1]])
    return frozenset()


def _may_name(word: Word) -> bool:
    return word.lemma in CALLED or (word.is_capital and not word.is_function)
