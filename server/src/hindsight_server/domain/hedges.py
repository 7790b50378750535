"""What a text only plans or supposes: "may", "plans to", "I heard", and the words that they are of. Pure functions.

How sure a text is has three steps here: what is yet to come ("will sell"), what is planned or wished, and what is in
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from hindsight_server.domain.grounding_clauses import PRONOUNS, Clause, Word, lemmas
from hindsight_server.domain.remembering import once

# A line without any of these has no hedge, which most lines have not.
_SIGNS_TEXT = """
might may could would should shall will 'll ’ll 'd ’d perhaps possib probab presum suppos alleg apparent report likely
hope hoping wish plan want wanna gonna gotta going_to inten aim mean dream goal about_to ought_to must need_to needs_to
have_to has_to think thought guess believe suspect assume imagine reckon figure consider idea option lean close
tempt sure certain doubt _if_ whether unless almost nearly hear rumo word say said claim look interest feel expect keen
eager
"""
_SIGNS = tuple(sign.replace("_", " ") for sign in _SIGNS_TEXT.split())
_LONGEST = 80  # words of a clause that is looked at: without marks, a text is one of thousands
_SHORT = re.compile(
    r"['’](?:ll\b|d(?=\s+(?:\w+ly\s+)?(?:like|love|prefer|rather|hate|want|consider)\b))|\b(?:gonna|wanna|gotta)\b",
    re.IGNORECASE,
)
_LONG = {"ll": " will", "d": " would", "gonna": "going to", "wanna": "want to", "gotta": "have to"}

_BETWEEN = r"(?:(?:\w+ly|just|also|even|still|then|not|soon|well|as|someday|have|has|be|been|get) )*"
_PLANS = (
    r"(?:want\w*|hop(?:e|es|ed|ing)|plan\w*|inten(?:d|ds|ded|ding|tion)|wish(?:es|ed|ing)?|aim\w*|mean|means|meant|"
    r"expect\w*|dream\w*|goal|idea|looking|keen|eager|would (?:\w+ly )?(?:like|love|prefer))"
)
_NO_VERB_TEXT = """
bed school church work lunch dinner class town college university hospital therapy court jail sleep
"""
_NO_VERB = frozenset(_NO_VERB_TEXT.split())
# "I want to thank Bo" thanks him.
_DONE_BY_SAYING = lemmas(
    "thank say tell ask mention share add apologize apologise congratulate remind know note clarify emphasize stress "
    "let report introduce recommend suggest invite confirm point wish warn assure see hear"
)
_LIGHT = lemmas("start begin try go get come keep")
_CONDITIONS = frozenset(["if", "whether", "unless"])
_BEFORE_NOUN_TEXT = """
a an the my your his her its our their this that these those all some any no of in since until last next early late
mid by during with
"""
BEFORE_NOUN = frozenset(_BEFORE_NOUN_TEXT.split())
_SENSES = re.compile(
    r"\b(?:finally|only|see|hear|feel|smell|taste|afford|remember|tell|understand|always|back|barely)\b"
)
_AS_A_RESULT = frozenset(["so", "where", "what", "all", "everything", "whatever", "wherever", "best", "how", "that"])
_CUT = frozenset(["where", "how", "what", "why", "as", "before", "after", "since", "than", "like"])
_ELSEWHERE = frozenset(["there", "here", "it", "that", "this", "one", "them", "him", "her"])
_SAME_TEXT = """
move relocate live settle reside; buy purchase acquire get own order adopt; go travel visit fly drive tour;
learn play speak study; quit leave resign; book reserve; marry wed; sell; start begin; take attend; rent lease
"""
_GROUPS = [lemmas(one) for one in _SAME_TEXT.split(";")]
GETTING = lemmas("buy purchase acquire get own order adopt have")


class Sure(IntEnum):
    """How sure a text is of what it tells."""

    TO_COME = 1
    PLANNED = 2
    DOUBTED = 3


@dataclass(frozen=True, slots=True)
class Scope:
    """Words of a clause that are hedged.

    Args:
        heads: lemmas of the verb that is hedged and of those that say the same; without any, all words are.
        is_view: it is what somebody thinks or heard: what is told as said is kept, and a judgement is no event.
        content: what may be told of it: the words of its clause, of the line where it has a pronoun.
    """

    sure: Sure
    clause: Clause
    words: tuple[Word, ...]
    content: frozenset[str]
    heads: frozenset[str] = frozenset()
    is_view: bool = False


@dataclass(frozen=True)
class _Sentence:
    clauses: Sequence[Clause]

    @once
    def is_past(self) -> bool:
        """Whether it tells of a time that is over."""
        return any(
            clause.is_past(word.lemma) for clause in self.clauses for word in clause.words if not word.is_function
        )

    @once
    def is_conditional(self) -> bool:
        return any(clause.words[0].folded == "if" for clause in self.clauses)

    @once
    def is_to_somebody(self) -> bool:
        return any("you" in clause.folded for clause in self.clauses)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A hedge.

    Args:
        of: the ``verb``, ``past`` verb, ``gerund`` or ``thing`` that follows it, or the ``rest`` of the clause, that
            may be somebody's ``view``.
        is_meant: whether it is one, by its sentence, its clause and the text of the clause before it.
    """

    sure: Sure
    of: str
    pattern: re.Pattern[str]
    is_meant: Callable[[_Sentence, Clause, str], bool] = lambda sentence, clause, before: True


def _is_possible(sentence: _Sentence, clause: Clause, before: str) -> bool:
    """Whether "could" tells of what is possible, and not of what somebody was able to do."""
    text = joined(clause.words)
    if "could have " in text:
        return True
    begun = before.split()
    if clause.denies or _SENSES.search(text) or (begun and not _AS_A_RESULT.isdisjoint(begun[:1] + begun[-1:])):
        return False
    return not sentence.is_past


def _is_conditional(sentence: _Sentence, clause: Clause, before: str) -> bool:
    return sentence.is_conditional


def _is_affirmed(sentence: _Sentence, clause: Clause, before: str) -> bool:
    return not clause.denies


def _is_of_others(sentence: _Sentence, clause: Clause, before: str) -> bool:
    """Whether what was heard is not of the one who is spoken to, who will say whether it is so."""
    return not clause.denies and not sentence.is_to_somebody


_OWN_VIEW = r"^(?:(?:and|but|so|well|though|because) )?(?:i|we) (?:(?:\w+ly|just|still|do|kind of|sort of|am|was) )*"
_RULES = (
    _Rule(Sure.DOUBTED, "verb", re.compile(rf"\bmight {_BETWEEN}")),
    _Rule(Sure.DOUBTED, "verb", re.compile(rf"\bmay {_BETWEEN}"), _is_affirmed),
    _Rule(Sure.DOUBTED, "verb", re.compile(rf"\bcould {_BETWEEN}"), _is_possible),
    _Rule(Sure.DOUBTED, "verb", re.compile(rf"\bwould (?:\w+ly )?have {_BETWEEN}"), _is_affirmed),
    _Rule(Sure.DOUBTED, "verb", re.compile(rf"\bwould {_BETWEEN}"), _is_conditional),
    _Rule(
        Sure.DOUBTED,
        "verb",
        re.compile(
            rf"\b(?:(?:was|were) (?:\w+ly )?(?:going|planning|about|supposed|hoping)|had (?:planned|hoped|wanted)|"
            rf"tempted) to {_BETWEEN}"
        ),
        _is_affirmed,
    ),
    _Rule(Sure.DOUBTED, "past", re.compile(r"(?<=\w )(?:almost|nearly) "), _is_affirmed),
    _Rule(
        Sure.DOUBTED,
        "gerund",
        re.compile(
            r"\b(?:th(?:ink(?:ing|s)?|ought) (?:\w+ )?(?:of|about)|consider\w* (?:\w+ly )?|(?:idea|thought|option) of|"
            r"(?:could|can) (?:imagine|see (?:myself|us|ourselves))|"
            r"(?:leaning|leans?) towards?|(?:came|was|were) close to) ?"
        ),
        _is_affirmed,
    ),
    _Rule(Sure.PLANNED, "verb", re.compile(rf"\b{_PLANS}(?: \w+){{0,3}}? to {_BETWEEN}"), _is_affirmed),
    _Rule(Sure.PLANNED, "verb", re.compile(rf"\bwould (?:\w+ly )?rather {_BETWEEN}"), _is_affirmed),
    _Rule(
        Sure.PLANNED,
        "gerund",
        re.compile(r"\b(?:plan\w* on|looking (?:forward to|into|at)|interested in|dream\w* (?:of|about)|feel like) "),
        _is_affirmed,
    ),
    _Rule(
        Sure.PLANNED,
        "thing",
        re.compile(r"\b(?:want\w*|would (?:\w+ly )?(?:like|love|prefer)) (?=(?:a|an|some|another|two|my own) )"),
        _is_affirmed,
    ),
    _Rule(
        Sure.TO_COME,
        "verb",
        re.compile(
            rf"\b(?:will|shall|should|must|(?:going|need|needs|have|has|ought|about|like|likely) to) {_BETWEEN}"
        ),
        _is_affirmed,
    ),
    _Rule(
        Sure.DOUBTED,
        "rest",
        re.compile(
            r"\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|apparently|reportedly|likely) "
        ),
    ),
    _Rule(
        Sure.DOUBTED,
        "rest",
        re.compile(r"^(?:it|there)(?: is)? (?:\w+ ){0,2}?(?:possible|chance|possibility) "),
        _is_affirmed,
    ),
    _Rule(Sure.DOUBTED, "rest", re.compile(r"\b(?:not (?:\w+ly |so |quite )?(?:sure|certain)|(?<!no )doubt|unsure) ")),
    _Rule(Sure.PLANNED, "rest", re.compile(rf"\bhopefully |{_OWN_VIEW}(?:hope|hoping|hoped) (?!to )"), _is_affirmed),
    _Rule(Sure.DOUBTED, "rest", re.compile(rf"{_OWN_VIEW}wish (?!to )"), _is_affirmed),
    _Rule(
        Sure.DOUBTED,
        "view",
        re.compile(
            rf"{_OWN_VIEW}(?:think|guess|suppose|believe|suspect|assume|imagine|reckon|figure) (?!of |about |to |so )"
        ),
        _is_affirmed,
    ),
    _Rule(
        Sure.DOUBTED,
        "view",
        re.compile(
            rf"{_OWN_VIEW}heard (?!(?:from|about|of|some|a|an|any|no|many|such|it|this|these|those|what|how|so) )|"
            r"^(?:someone|somebody|people|they) (?:say|said|claim) |^(?:rumou?r|word) has it "
        ),
        _is_of_others,
    ),
)  # fmt: skip


def may_be_hedged(text: str) -> bool:
    """Whether a text has a word with which hedges begin; a quick look, which most texts end with."""
    return any(map(f" {text.lower()}".__contains__, _SIGNS))


def written_out(text: str) -> str:
    """A text without the short forms in which a hedge is lost from its clauses.

    Example:
        >>> written_out("I'll sell it, I'd like a boat.")
        'I will sell it, I would like a boat.'
    """
    return _SHORT.sub(lambda match: _LONG[match[0].lower().lstrip("'’")], text)


def scopes(sentence: Sequence[Clause], line: frozenset[str]) -> Iterator[Scope]:
    """What is hedged in a sentence.

    Args:
        line: the lemmas of the text in which it stands.

    Example:
        >>> from hindsight_server.domain.grounding_clauses import clauses
        >>> [sorted(scope.heads) for scope in scopes(clauses("We hope to repair it."), frozenset())]
        [['repair']]
    """
    before: Scope | None = None
    whole = _Sentence(sentence)
    for at, clause in enumerate(sentence):
        if clause.is_question:
            return
        found = []
        if len(clause.words) <= _LONGEST and may_be_hedged(joined(clause.words)):
            found = [scope for rule in _RULES for scope in _of_rule(rule, whole, at, line)]
        if clause.words[0].folded in _CONDITIONS:
            found.append(Scope(Sure.DOUBTED, clause, _cut(clause.words[1:]), _around(clause, line)))
        if before is not None and not found and _goes_on(clause):
            found.append(_scope_of_verb(before.sure, clause, 1, line))
        yield from found
        before = next((scope for scope in found if scope.heads and scope.clause is clause), None)


def _of_rule(rule: _Rule, sentence: _Sentence, at: int, line: frozenset[str]) -> Iterator[Scope]:
    clause = sentence.clauses[at]
    text = joined(clause.words)
    for match in rule.pattern.finditer(text):
        begun, end = text.count(" ", 0, match.start()), text.count(" ", 0, match.end())
        if _is_noun(clause.words, begun) or not rule.is_meant(sentence, clause, text[: match.start()]):
            continue
        if rule.of in ("rest", "view"):
            yield from _of_rest(rule, sentence.clauses, at, end, line)
        elif rule.of == "thing":
            yield Scope(rule.sure, clause, clause.words[end:], _around(clause, line), GETTING)
        elif end < len(clause.words):
            yield from _of_verb(rule, clause, end, match[0], line)


def _of_verb(rule: _Rule, clause: Clause, at: int, marker: str, line: frozenset[str]) -> Iterator[Scope]:
    word = clause.words[at]
    if rule.of == "gerund" and word.folded in ("a", "an") and at + 1 < len(clause.words):
        at, word = at + 1, clause.words[at + 1]  # "thinking about a move"
    elif rule.of == "gerund" and not word.folded.endswith("ing"):
        return
    if rule.of == "past" and not (clause.is_past(word.lemma) or clause.words[max(0, at - 2)].folded in PRONOUNS):
        return
    if word.is_function or word.is_capital:
        if re.search(r"\b(?:be|have|been|get) $", marker):
            yield Scope(rule.sure, clause, _cut(clause.words[at:]), _around(clause, line))
        return
    if word.lemma not in _DONE_BY_SAYING and word.folded.isalpha() and not _is_place(word, marker):
        yield _scope_of_verb(rule.sure, clause, at, line)


def _is_place(word: Word, marker: str) -> bool:
    """Whether somebody is only going somewhere: "going to work"."""
    return marker.startswith("going to") and word.folded in _NO_VERB


def _scope_of_verb(sure: Sure, clause: Clause, at: int, line: frozenset[str]) -> Scope:
    words = clause.words
    heads = {words[at].lemma}
    if words[at].lemma in _LIGHT:
        heads |= {word.lemma for word in words[at + 1 : at + 3] if word.folded.endswith("ing")}
    if sure is not Sure.TO_COME:
        heads |= {word for head in tuple(heads) for group in _GROUPS if head in group for word in group}
    return Scope(sure, clause, words[at:], _around(clause, line), frozenset(heads))


def _of_rest(rule: _Rule, sentence: Sequence[Clause], at: int, end: int, line: frozenset[str]) -> Iterator[Scope]:
    """What follows a hedge in its clause; when it stands alone, the clause after it, or at the end the one before."""
    clause = sentence[at]
    words = clause.words[end:]
    if not words and len(sentence) > 1:
        clause = sentence[at + 1] if at + 1 < len(sentence) else sentence[at - 1]
        words = clause.words
    if (
        not words
        or any(sign.isdigit() for sign in words[0].folded)
        or words[0].folded in ("about", "around", "a", "an")
    ):
        return
    is_ahead = rule.of == "view" and not {word.folded for word in words}.isdisjoint(("will", "going"))
    sure = Sure.PLANNED if is_ahead else rule.sure
    yield Scope(sure, clause, _cut(words), _around(clause, line), is_view=rule.of == "view")


def _goes_on(clause: Clause) -> bool:
    """Whether a clause is a further verb of the one before: "... and move to Oslo"."""
    if clause.words[0].folded not in ("and", "or") or len(clause.words) < 2:
        return False
    word = clause.words[1]
    return not word.is_function and not word.is_capital and not clause.is_past(word.lemma)


def _is_noun(words: Sequence[Word], at: int) -> bool:
    """Whether what looks like a hedge is a month, a name or a noun."""
    word = words[at]
    if word.is_capital and (at > 0 or word.folded in ("may", "will", "hope")):
        return True
    if word.folded not in ("may", "might", "will") or at == 0:
        return False
    return words[at - 1].folded in BEFORE_NOUN or words[at - 1].is_owner


def _cut(words: Sequence[Word]) -> tuple[Word, ...]:
    """Words up to a clause that hangs on them: "maybe we visit the town | where I grew up"."""
    end = next((at for at, word in enumerate(words) if at and word.folded in _CUT), len(words))
    return tuple(words[:end])


def _around(clause: Clause, line: frozenset[str]) -> frozenset[str]:
    return line if leans(clause) else clause.content


def leans(clause: Clause) -> bool:
    """Whether a clause speaks of something that is named elsewhere."""
    return clause.leans or not clause.folded.isdisjoint(_ELSEWHERE)


def joined(words: Sequence[Word]) -> str:
    """Folded words with a space behind each."""
    return "".join(f"{word.folded} " for word in words)
