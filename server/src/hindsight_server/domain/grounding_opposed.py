"""Whether a statement says the opposite of the texts that it was drawn from, which may contradict each other.

The rules are those of `grounding_turned` and `grounding_han`, for a statement that rests on several texts: what was so
and is no longer so is told of two that stand against each other. A text that says the statement's words without
standing against them bears it out, whatever another one says. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.domain.grounding_clauses import Clause
from hindsight_server.domain.grounding_han import HAN, HanLine, is_asked_in_han, is_turned_in_han
from hindsight_server.domain.grounding_turned import Said, Told

_AUXILIARIES_TEXT = "do does did is are was were has have had will would can could should"
_AUXILIARIES = frozenset(_AUXILIARIES_TEXT.split())
_ASKING_TEXT = "ask asks asked asking wonder wonders wondered whether question curious if"
_ASKING = frozenset(_ASKING_TEXT.split())
# Share of a clause that stands in another text, from which on that text speaks of the same.
_BORNE = 0.5


def is_opposed(text: str, sources: Sequence[Said], speakers: Sequence[str] = ()) -> bool:
    """Whether a statement says the opposite of one of its sources, or has its people exchanged, and none bears it out.

    Example:
        >>> is_opposed("Ada likes tea.", [Said("Ada hates tea.")])
        True
        >>> is_opposed("Ada liked tea, and hates it now.", [Said("Ada likes tea."), Said("Ada hates tea.")])
        False
    """
    if HAN.search(text):
        return _is_opposed_in_han(text, sources, speakers)
    told = Told(sources, speakers)
    for clause in Said(text).clauses:
        if clause.ends and len(sources) > 1:
            continue  # that it was so is told by one, and by another, in whatever words, that it is no more
        against = {seat for seat in range(len(sources)) if told.is_clause_turned(clause, seat)}
        plain = clause.content - {word.lemma for word in clause.words if word.is_capital}
        near = max((len(plain & sources[seat].content) for seat in against), default=0)
        others = [source for seat, source in enumerate(sources) if seat not in against]
        if against and not any(0 < near <= 2 * len(plain & source.content) for source in others):
            return True
    return False


def is_only_asked(text: str, sources: Sequence[Said]) -> bool:
    """Whether a statement says what its only source asks, with nothing behind the question that may answer it.

    Only a plain question counts, "does Bob own a boat?": others take for granted what they name.

    Example:
        >>> is_only_asked("Bob owns a boat.", [Said("Ada asked: does Bob own a boat?")])
        True
    """
    if len(sources) != 1 or text.rstrip().endswith(("?", "？")):
        return False
    if HAN.search(text):
        return is_asked_in_han(text, sources[0].text)
    told = sources[0].sentences
    if not told or not all(clause.is_question for clause in told[-1]):
        return False
    words = [word for clause in Said(text).clauses for word in clause.words]
    content = {word.lemma for word in words if not word.is_function}
    if not words or not _ASKING.isdisjoint(word.folded for word in words):
        return False
    if any(content <= clause.content for sentence in told[:-1] for clause in sentence):
        return False
    return any(_asks(clause, words[0].folded, content) for clause in told[-1])


def _asks(clause: Clause, subject: str, content: set[str]) -> bool:
    begun = [word.folded for word in clause.words[:4]]
    if clause.denies or len(begun) < 2 or not content <= clause.content:
        return False
    return begun[0] in _AUXILIARIES and subject in begun[1:]


def _is_opposed_in_han(text: str, sources: Sequence[Said], speakers: Sequence[str]) -> bool:
    lines = [HanLine(source.text, source.speaker, speakers) for source in sources]
    against = {seat for seat in range(len(lines)) if is_turned_in_han(text, seat, lines, speakers)}
    if not against:
        return False
    said = HanLine(text, None, speakers).clauses
    return not any(
        seat not in against and any(clause.share(one) >= _BORNE for clause in line.clauses for one in said if one.pairs)
        for seat, line in enumerate(lines)
    )
