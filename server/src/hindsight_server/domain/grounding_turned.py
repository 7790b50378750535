"""Whether a statement turns around what a text says: a "not" lost or added, or two people exchanged. Pure functions.

Only what is plain counts: nearly all that the statement says must stand in one clause, which says the opposite. A
paraphrase in other words ("gave up" for "didn't keep") is left alone. The rules are our own; they were made by the
extraction suites, which tell how well they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_server.domain.grounding_clauses import (
    Clause,
    Stand,
    Word,
    content,
    is_passive,
    lemmas,
    opposites,
    sentences,
)
from hindsight_server.domain.grounding_han import HAN, HanLine, is_turned_in_han
from hindsight_server.domain.grounding_often import besides, how_often, is_against, is_general, tells_how_often
from hindsight_server.domain.grounding_people import (
    CALLED,
    KIN,
    has_one_subject,
    may_be_of,
    named,
    object_of,
    objects_of,
    person,
    place_before,
    subject_of,
)
from hindsight_server.domain.remembering import once

_OPPOSITES_TEXT = (
    "love hate, like hate, like dislike, love dislike, enjoy hate, enjoy dislike, "
    "approve reject, accept reject, accept decline, allow forbid"
)
_CONVERSES_TEXT = (
    "buy sell, lend borrow, win lose, find lose, gain lose, pass fail, hire fire, marry divorce, remember forget, "
    "start stop, start quit, begin stop, open close"
)
_OPPOSITES, _CONVERSES = opposites(_OPPOSITES_TEXT), opposites(_CONVERSES_TEXT)
_OPPOSED = _OPPOSITES.keys() | _CONVERSES.keys()
_MUTUAL = lemmas("meet marry date divorce talk speak chat play work live fight argue agree quarrel split share say")
_DETERMINERS_TEXT = "a an the some any no my your his her its our their this that these those each every"
_DETERMINERS = frozenset(_DETERMINERS_TEXT.split())
_OWN = frozenset(["i", "me", "my", "mine", "we", "us", "our"])
_TELLING = lemmas("ask wonder want offer suggest advise recommend invite thank curious surprise know")


@dataclass(frozen=True)
class Said:
    """A line or a statement: what was said, and by whom."""

    text: str
    speaker: str | None = None

    @once
    def sentences(self) -> list[list[Clause]]:
        return sentences(self.text)

    @once
    def clauses(self) -> list[Clause]:
        return [clause for sentence in self.sentences for clause in sentence]

    @once
    def followers(self) -> dict[tuple[str, str], set[str]]:
        """The words of meaning that follow two words of a clause."""
        found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for clause in self.clauses:
            for first, second, word in zip(clause.words, clause.words[1:], clause.words[2:], strict=False):
                if not word.is_function:
                    found[first.lemma, second.lemma].add(word.lemma)
        return dict(found)

    @once
    def content(self) -> frozenset[str]:
        return frozenset([word for clause in self.clauses for word in clause.content])

    @once
    def denied(self) -> frozenset[str]:
        """The words that are denied without doubt in one of its clauses."""
        return frozenset([word for clause in self.clauses for word in clause.denied])


class Told:
    """Lines, and the statements that turn them around.

    Args:
        lines: in their order.
        speakers: everybody who speaks in the document.
    """

    def __init__(self, lines: Sequence[Said], speakers: Sequence[str]) -> None:
        self.lines = lines
        self._speakers = tuple(speakers)

    def is_turned(self, fact: Said, seat: int) -> bool:
        """Whether a statement that was read in line `seat` says the opposite of it, or has its people exchanged.

        Example:
            >>> Told([Said("Ann didn't sell the boat.")], ()).is_turned(Said("Ann sold the boat."), 0)
            True
        """
        if HAN.search(fact.text):
            return is_turned_in_han(fact.text, seat, self._han_lines, self._speakers)
        checks = (self._is_denied, self._is_of_other_frequency, self._is_exchanged, self._is_replaced)
        return any(check(one, seat) for one in fact.clauses for check in checks)

    def is_clause_turned(self, fact: Clause, seat: int) -> bool:
        """The same of one clause of a statement, which may join words of several lines."""
        checks = (self._is_denied, self._is_of_other_frequency, self._is_exchanged)
        return any(check(fact, seat) for check in checks)

    # A "not" lost or added

    def _is_denied(self, fact: Clause, seat: int) -> bool:
        line = self.lines[seat]
        for word in fact.content & (fact.denied | line.denied):
            stand = fact.stand(word)
            if stand not in (Stand.SAID, Stand.DENIED):
                continue
            against = Stand.DENIED if stand is Stand.SAID else Stand.SAID
            for clause in line.clauses:
                if (
                    clause.stand(word) is against
                    and clause.frame(word) == fact.frame(word)
                    and not (against is Stand.DENIED and clause.ends and fact.is_past(word))
                    and not _is_of_what_follows(fact.content - {word} - self._people, clause, line)
                    and self._is_plain(fact, clause, {word}, against)
                    and not self._is_said_elsewhere(fact, clause, word, line)
                ):
                    return True
        return any(
            self._is_opposite(fact, word, against, line)
            for word in fact.content & _OPPOSED
            for against in (_OPPOSITES.get(word, frozenset()) | _CONVERSES.get(word, frozenset())) & line.content
        )

    def _is_opposite(self, fact: Clause, word: str, against: str, line: Said) -> bool:
        """Whether a clause has the opposite of a word. One buys what another sells: of converses both are of one."""
        is_converse = word in _CONVERSES
        if fact.stand(word) is not Stand.SAID or (is_converse and word in line.content):
            return False
        return any(
            clause.stand(against) is Stand.SAID
            and (not is_converse or has_one_subject(fact, word, clause, against, line.speaker))
            and self._is_plain(fact, clause, {word, against}, Stand.DENIED)
            and not self._is_said_elsewhere(fact, clause, word, line)
            for clause in line.clauses
        )

    def _is_plain(self, fact: Clause, clause: Clause, heads: set[str], against: Stand) -> bool:
        """Whether nearly all that a clause of the fact says stands in a clause of the line."""
        if fact.limits != clause.limits:
            return False
        rest = fact.content - heads - self._people
        if against is Stand.DENIED and is_general(clause):
            rest -= how_often(fact)  # "often" does not part a fact from the "never" that it lost
        inside, new = rest & clause.content, rest - self._content
        if 4 * len(new) > len(rest):
            return False
        if clause.leans:
            return against is Stand.DENIED or not new
        if against is Stand.SAID:
            return 5 * len(inside) >= 3 * len(rest)
        if not rest <= clause.around and not clause.content <= fact.content | heads | self._people:
            return False  # it is of something else
        return 4 * len(inside) >= 3 * len(rest & clause.around)

    def _is_said_elsewhere(self, fact: Clause, against: Clause, word: str, line: Said) -> bool:
        """Whether another clause, which is as near, does not stand against the fact."""
        near, stand = self._nearness(fact, against, line), against.stand(word)
        return any(
            clause is not against
            and clause.stand(word) not in (None, stand)
            and (stand is not None or not clause.is_question)
            and self._nearness(fact, clause, other) >= near
            and (other is line or may_be_of(fact, word, clause, other.speaker, self._called))
            for other in self.lines
            for clause in other.clauses
        )

    def _nearness(self, fact: Clause, clause: Clause, line: Said) -> int:
        own = line.speaker is not None and person(line.speaker) in fact.folded
        return len(fact.content & clause.content) + (own and not clause.folded.isdisjoint(_OWN))

    # "Rarely" told as "often"

    def _is_of_other_frequency(self, fact: Clause, seat: int) -> bool:
        if not tells_how_often(fact):
            return False
        against = [clause for clause in self.lines[seat].clauses if is_against(fact, clause)]
        if not against:
            return False
        rest = besides(fact) - self._people
        head = next((word.lemma for word in fact.words if word.lemma in rest), "")
        told = [
            clause
            for other in self.lines
            for clause in other.clauses
            if (rest <= clause.content or (clause.leans and head in clause.content))
            and may_be_of(fact, head, clause, other.speaker, self._called)
        ]
        return bool(rest and told) and all(
            any(clause is one for one in against) and clause.limits == fact.limits for clause in told
        )

    # A word put in the place of another

    def _is_replaced(self, fact: Clause, seat: int) -> bool:
        """Whether after the same two words, or after the same verb, something stands that the line does not have.

        After two words it must come from another line, since a word from nowhere may be a paraphrase; after a verb it
        must be two new words.
        """
        line = self.lines[seat]
        words = fact.words
        for at in range(2, len(words)):
            word = words[at]
            if word.is_function or word.lemma in line.content or word.lemma not in self._content:
                continue
            lead = (words[at - 2].lemma, words[at - 1].lemma)
            if words[at - 2].is_function and words[at - 1].is_function:
                continue
            if line.followers.get(lead, set()) - fact.content:
                return True
        new = {word.lemma for word in words if not word.is_function} - self._content
        return len(new) > 1 and any(self._has_new_object(fact, at, line) for at in range(1, len(words)))

    def _has_new_object(self, fact: Clause, at: int, line: Said) -> bool:
        verb = fact.words[at]
        if verb.is_function or verb.is_capital or subject_of(fact.words, at, None) is None:
            return False
        told = _object_words(fact.words, at)
        if len(told) < 2 or not told.isdisjoint(self._content):
            return False
        places = [(clause, place) for clause in line.clauses for place in _places(clause, verb.lemma)]
        meant = [_object_words(clause.words, place) for clause, place in places]
        return bool(meant) and all(one and one.isdisjoint(fact.content) for one in meant)

    # What was only asked

    def is_asked(self, fact: Said, seat: int) -> bool:
        """Whether a statement tells of who speaks in line `seat` what he only asks another.

        Example:
            >>> line = Said("Since when do you play the piano?", "Tom")
            >>> Told([line], ["Tom"]).is_asked(Said("Tom plays the piano."), 0)
            True
        """
        line = self.lines[seat]
        if line.speaker is None or "?" not in line.text:
            return False
        content = fact.content
        folded = {word for clause in fact.clauses for word in clause.folded}
        asked = {word for clause in line.clauses for word in clause.folded}
        if person(line.speaker) not in folded or "you" not in asked:
            return False
        others = {person(one) for one in self._speakers} - {person(line.speaker)}
        if not asked.isdisjoint(_OWN) or not content.isdisjoint(_TELLING) or not others.isdisjoint(folded):
            return False
        near = [clause for clause in line.clauses if clause.content & content - self._people]
        return bool(near) and all(clause.is_question for clause in near)

    # People exchanged

    def _is_exchanged(self, fact: Clause, seat: int) -> bool:
        line = self.lines[seat]
        if not any(word.is_capital or word.lemma in CALLED for word in fact.words):
            return False  # it names nobody
        for at, verb in enumerate(fact.words):
            if verb.is_function or verb.is_capital or verb.lemma in KIN:
                continue
            if verb.lemma in _MUTUAL:
                return False
            subject = subject_of(fact.words, at, None)
            if subject is None or is_passive(fact.words, at):
                continue
            object_ = object_of(fact.words, at, None)
            places = _nearest(fact, line, verb.lemma)
            judged = (self._judged(clause.words, place, subject, object_, fact, line) for clause, place in places)
            # What follows is no verb of the subject.
            return bool(places) and all(judged) and self._is_near(fact, places[0][0], verb.lemma)
        return False

    def _is_near(self, fact: Clause, clause: Clause, verb: str) -> bool:
        rest = {word for word in fact.content if word in self._content} - {verb} - self._people
        return clause.leans or 2 * len(rest & clause.content) >= len(rest)

    def _judged(
        self, words: Sequence[Word], at: int, subject: str, object_: str | None, fact: Clause, line: Said
    ) -> bool:
        """Whether a clause has the people of a statement the other way round."""
        speaker = person(line.speaker or "")
        doer, before = subject_of(words, at, line.speaker), named(words[:at], line.speaker)
        if is_passive(words, at) or subject in before or (doer is None and _is_subject(words, at)):
            return False
        if subject in objects_of(words, at, line.speaker) or (object_ is not None and doer == object_):
            return True
        place = place_before(words, at)
        if place < 0:
            return False
        if subject == speaker:  # who speaks does not call himself so
            return words[place].folded in ("he", "she", "they")
        if words[place].folded != "i" or subject in named(words, line.speaker):
            return False
        return speaker in fact.folded or subject in {person(one) for one in self._speakers}

    @once
    def _han_lines(self) -> list[HanLine]:
        return [HanLine(line.text, line.speaker, self._speakers) for line in self.lines]

    @once
    def _content(self) -> frozenset[str]:
        return frozenset([word for line in self.lines for word in line.content]) | self._people

    @once
    def _called(self) -> frozenset[str]:
        return frozenset(person(one) for one in self._speakers)

    @once
    def _people(self) -> frozenset[str]:
        return frozenset().union(*map(content, self._speakers))


def _is_of_what_follows(words: frozenset[str], clause: Clause, line: Said) -> bool:
    """Whether of the sentences of a line only those behind a clause have some words, so that it means none of them."""
    behind = False
    for sentence in line.sentences:
        if not words.isdisjoint(sentence[0].around):
            return behind
        behind = behind or any(one is clause for one in sentence)
    return False


def near_sentence(line: Said, fact: Said) -> str:
    """The words of the sentence of a line that shares most words with a statement; all of it when none shares any.

    Example:
        >>> near_sentence(Said("I am away. Please show Kim the pump."), Said("Lee shows Kim the pump."))
        'please show kim the pump'
    """
    if HAN.search(line.text):
        return line.text
    shares = [len(fact.content & one[0].around) for one in line.sentences]
    if not any(shares):
        return line.text
    return " ".join(word.folded for clause in line.sentences[shares.index(max(shares))] for word in clause.words)


def _object_words(words: Sequence[Word], at: int) -> set[str]:
    """The words of the object that follows a verb; empty when none follows at once."""
    found: set[str] = set()
    for word in words[at + 1 :]:
        if word.is_function and word.folded not in _DETERMINERS:
            break
        if not word.is_function:
            found.add(word.lemma)
    return found


def _nearest(fact: Clause, line: Said, verb: str) -> list[tuple[Clause, int]]:
    """Where a verb stands in a line: in the clauses that share most with the fact, and deny if it denies."""
    places = [
        (clause, place)
        for clause in line.clauses
        if clause.denies or not fact.denies
        for place in _places(clause, verb)
    ]
    most = max((len(fact.content & clause.content) for clause, _ in places), default=0)
    return [(clause, place) for clause, place in places if len(fact.content & clause.content) == most]


def _places(clause: Clause, verb: str) -> list[int]:
    """Where a verb stands in a clause; with an article before it, a word is none."""
    return [
        at
        for at, word in enumerate(clause.words)
        if word.lemma == verb and (at == 0 or clause.words[at - 1].folded not in _DETERMINERS)
    ]


def _is_subject(words: Sequence[Word], at: int) -> bool:
    """Whether a verb is what another one is said of: "losing the job gave me time"."""
    return words[at].folded.endswith("ing") and (at == 0 or words[at - 1].folded in ("so", "and", "but", "because"))
