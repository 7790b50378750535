"""Whether a statement is surer than the text it was drawn from: a "may", "plans to" or "I heard" lost. Pure functions.

Only what is plain counts: the very verb that is hedged must be told as a fact, with what it is of, and no other clause
may say it without a hedge. A statement that has any word of doubt, plan, wish or condition is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.grounding_clauses import PRONOUNS, Clause, Word, lemmas, sentences
from hindsight_server.domain.grounding_han import HAN
from hindsight_server.domain.grounding_hedged_han import is_firmer_in_han
from hindsight_server.domain.grounding_turned import Said
from hindsight_server.domain.hedges import (
    BEFORE_NOUN,
    GETTING,
    Scope,
    Sure,
    joined,
    leans,
    may_be_hedged,
    scopes,
    written_out,
)
from hindsight_server.domain.remembering import once

# Words of a statement that keep a hedge, and those that only keep that something is to come.
_SOFT = re.compile(
    r"might|could|would|can|should|must|ought|maybe|perhaps|(?:im)?possib\w+|potential\w*|probab\w+|presum\w+|suppos\w+|"
    r"alleged\w*|apparent\w*|reported\w*|(?:un)?likely|(?:un)?sure|(?:un)?certain\w*|unclear|undecided|doubt\w*|"
    r"tentativ\w+|hesita\w+|plan\w*|inten\w+|want\w*|wish\w*|hop(?:e|es|ed|ing|eful\w*)|dream\w*|desir\w+|aim\w*|goals?|"
    r"aspir\w+|ambition\w*|consider\w*|contemplat\w+|ponder\w*|weigh\w*|debat\w+|explor\w+|tempt\w+|lean\w*|inclin\w+|"
    r"wonder\w*|think\w*|thought\w*|believ\w+|guess\w*|expect\w*|assum\w+|suspect\w*|imagin\w+|feels?|felt|seem\w*|"
    r"interest\w*|keen|eager|curious|fanc(?:y|ies|ied)|ideas?|options?|prefer\w*|look\w* (?:to|for|into|at|forward|on)|"
    r"seek\w*|need\w*|request\w*|ask\w*|inquir\w+|offer\w*|invit\w+|suggest\w*|recommend\w*|advis\w+|propos\w+|"
    r"discuss\w*|promis\w+|tr(?:y|ies|ied|ying) to|attempt\w*|if|whether|unless|depend\w*|condition\w*|provided|case|"
    r"otherwise|almost|nearly|narrowly|close to|about to|willing|ready|open to|has to|have to|had to|talk\w*"
)
_KEEPS = re.compile(rf"\b(?:{_SOFT.pattern})\b")
_MODAL_MAY = re.compile(r"\bmay\b(?!\s*\d)")  # in a text with its capitals
_AHEAD = re.compile(
    r"\b(?:will|shall|going to|scheduled|upcoming|future|due|set to|is to|are to|arrang\w+|prepar\w+)\b|'ll\b"
)
_RETOLD = re.compile(
    r"\b(?:hear[sd]?|hearing|sa(?:id|ys?|ying)|t(?:old|ells?)|claim\w*|according|rumou?r\w*|mention\w*|learn(?:ed|t))\b"
)
_TIME = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|"
    r"winter|next|tomorrow|tonight|soon|later|\w+day|weekend|\d{4})\b"
)

_FIRM = lemmas("decide choose agree begin start continue proceed manage")
_BEGUN = lemmas("start begin keep finish resume")
_NOT_TOLD = frozenset(["if", "whether", "unless", "when", "whenever", "where", "who", "how", "what", "until", "once"])
_NOT_OF_GERUND = frozenset(["about", "of", "for", "from", "in", "on", "by", "with", "without", "at", "after", "before"])
_BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being"])
_HAVE = frozenset(["has", "have", "had", "owns", "got"])


class Hedged:
    """Lines, and the statements that are surer than they.

    Args:
        lines: in their order.
        speakers: everybody who speaks in the document.
    """

    def __init__(self, lines: Sequence[Said], speakers: Sequence[str]) -> None:
        self._lines = lines
        self._speakers = tuple(speakers)
        self._known: dict[int, tuple[list[Clause], list[Scope]]] = {}

    def is_firmer(self, fact: Said, seat: int) -> bool:
        """Whether a statement that was read in line `seat` tells as a fact what the line only plans or supposes.

        Example:
            >>> hedged = Hedged([Said("I might sell the boat.")], ())
            >>> hedged.is_firmer(Said("Ann sold the boat."), 0), hedged.is_firmer(Said("Ann may sell the boat."), 0)
            (True, False)
        """
        line = self._lines[seat]
        if HAN.search(fact.text):
            return is_firmer_in_han(fact.text, seat, [one.text for one in self._lines], self._speakers)
        if not may_be_hedged(line.text):
            return False
        hedges = [one for one in self._read(seat)[1] if not self._is_answered(one, seat)]
        if not hedges or fact.text.rstrip().endswith("?"):
            return False
        folded = fold(fact.text)
        if _KEEPS.search(folded) or _MODAL_MAY.search(fact.text):
            return False
        is_ahead, is_retold = _AHEAD.search(folded) is not None, _RETOLD.search(folded) is not None
        return any(
            self._is_of(clause, scope)
            for scope in hedges
            if not (is_ahead and scope.sure < Sure.DOUBTED) and not (is_retold and scope.is_view)
            for clause in fact.clauses
            if clause.words[0].folded not in _NOT_TOLD
        )

    @once
    def _people(self) -> frozenset[str]:
        return frozenset([word for one in self._speakers for word in lemmas(fold(one))])

    def _read(self, seat: int) -> tuple[list[Clause], list[Scope]]:
        """The clauses of a line, and what of them is hedged."""
        if seat not in self._known:
            line = self._lines[seat]
            text = written_out(line.text)
            told = line.sentences if text == line.text else sentences(text)
            found: list[Scope] = []
            if may_be_hedged(text):
                content = frozenset([word for sentence in told for clause in sentence for word in clause.content])
                found = [scope for sentence in told for scope in scopes(sentence, content)]
            self._known[seat] = ([clause for sentence in told for clause in sentence], found)
        return self._known[seat]

    def _is_answered(self, scope: Scope, seat: int) -> bool:
        """Whether it is said to somebody of himself, who may have answered."""
        return seat + 1 < len(self._lines) and "you" in scope.clause.folded

    def _is_of(self, fact: Clause, scope: Scope) -> bool:
        """Whether a clause of a statement tells what is hedged as a fact, and no other clause tells it."""
        if fact.denies and not scope.clause.denies:
            return False
        told = _told_verb(fact, scope) if scope.heads else None
        if scope.heads:
            if told is None or not _is_firm(fact, told, scope.sure):
                return False
            rest = fact.content - scope.heads - self._people - {told.lemma}
            if 2 * len(rest & scope.content) < len(rest):
                return False
        elif not _is_all_hedged(fact, scope, self._people):
            return False
        return not self._is_said(fact, scope)

    def _is_said(self, fact: Clause, scope: Scope) -> bool:
        """Whether a clause without a hedge says as much of it."""
        content = fact.content - self._people
        near = len(content & scope.clause.content)
        for seat in range(len(self._lines)):
            told, found = self._read(seat)
            hedged = {id(one.clause) for one in found}
            for clause in told:
                if clause.is_question or id(clause) in hedged:
                    continue
                shared = content & clause.content
                if scope.heads and clause.content.isdisjoint(scope.heads):
                    continue
                if shared and (len(shared) >= near or (scope.heads and _takes_up(clause, content | scope.heads))):
                    return True
        return False


def is_firmer_than_all(text: str, sources: Sequence[Said], speakers: Sequence[str] = ()) -> bool:
    """Whether a statement tells as a fact what each of its sources only plans or supposes.

    Example:
        >>> plan = Said("Ann may sell the boat.")
        >>> is_firmer_than_all("Ann sold the boat.", [plan, Said("Ann wants to sell the boat.")])
        True
        >>> is_firmer_than_all("Ann sold the boat.", [plan, Said("Bob bought the boat.")])
        False
    """
    hedged, statement = Hedged(sources, speakers), Said(text)
    return bool(sources) and all(hedged.is_firmer(statement, seat) for seat in range(len(sources)))


def _takes_up(clause: Clause, content: frozenset[str]) -> bool:
    """Whether a clause leaves out what the one before named: "I was to come at 8, and came at 9"."""
    return leans(clause) or (clause.opener in ("and", "but") and clause.content <= content)


def _told_verb(fact: Clause, scope: Scope) -> Word | None:
    """The verb of a statement that is hedged in its line."""
    for word in fact.words:
        if word.lemma in scope.heads and not word.is_capital:
            return word
        if word.folded in _HAVE and not scope.heads.isdisjoint(GETTING):
            return word
    return None


def _is_firm(fact: Clause, verb: Word, sure: Sure) -> bool:
    """Whether a verb of a statement tells that something is or was so."""
    at = next(place for place, word in enumerate(fact.words) if word is verb)
    before = [word for word in fact.words[:at] if not word.folded.endswith("ly")]
    last = before[-1] if before else None
    if last is not None and (last.is_owner or last.folded in BEFORE_NOUN or last.folded in _NOT_OF_GERUND):
        return False
    if last is not None and last.folded == "to":
        return sure is Sure.DOUBTED and len(before) > 1 and before[-2].lemma in _FIRM
    is_form = verb.folded.endswith(("ing", "s")) or fact.is_past(verb.lemma)
    if last is not None and len(before) == 1 and last.folded in ("and", "or") and not is_form:
        return False  # "he left to dance and make it his job"
    is_being = any(word.folded in _BE for word in before[-3:])
    if verb.folded.endswith("ing"):
        begun = any(word.lemma in _BEGUN for word in before[-2:])
        is_planned = sure is Sure.PLANNED and _TIME.search(joined(fact.words)) is not None
        return sure is not Sure.TO_COME and (is_being or begun) and not is_planned
    if sure is not Sure.TO_COME:
        return True
    is_present = any(word.folded in ("is", "are", "am", "be") for word in before[-3:])
    return fact.is_past(verb.lemma) and not is_present


def _is_all_hedged(fact: Clause, scope: Scope, people: frozenset[str]) -> bool:
    """Whether nearly all that a clause of a statement says of its subject is hedged."""
    subject = 0
    while subject < len(fact.words) and (fact.words[subject].is_capital or fact.words[subject].folded in PRONOUNS):
        subject += 1
    said = fact.words[subject:]
    if not said or said[0].folded.endswith("ing"):
        return False
    if scope.is_view and any(word.folded in _BE for word in said):
        return False
    if scope.sure is Sure.TO_COME and not any(fact.is_past(word.lemma) for word in said):
        return False
    content = {word.lemma for word in said if not word.is_function and len(word.folded) > 1} - people
    hedged = {word.lemma for word in scope.words if not word.is_function}
    return bool(content) and 4 * len(content & hedged) >= 3 * len(content)
