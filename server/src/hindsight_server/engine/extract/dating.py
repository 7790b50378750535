"""Which of the times that a passage names may be the time of a fact. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.grounding_times import matching, quoted, times_told
from hindsight_server.domain.model import Interval
from hindsight_server.domain.time import TimeMention
from hindsight_server.engine.extract.answers import ModelFact
from hindsight_server.engine.extract.passages import Line

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDS = re.compile(r"[.!?](?=\s|\Z)|[\n。！？]")
_OF_SPEAKER = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine)\b|我(?!们)", re.IGNORECASE)
_OF_BOTH = re.compile(
    r"\b(?:you|your|yours|we|us|our|ours|both|together|everyone)\b|你|您|我们|咱们|大家|一起",
    re.IGNORECASE,
)
# "I heard that ..." tells of something else than of who speaks.
_TELLING = re.compile(
    r"\b(?:i|i've|i'd|i'll)\s+(?:\w+\s+)?(?:suggest|recommend|propose|think|guess|believe|hear|heard|read|know|knew|"
    r"remember|see|saw|checked?|book|booked|set|scheduled?|planned?)\b"
    r"|我(?:建议|推荐|觉得|认为|听说|记得|知道|看|查|订|安排)",
    re.IGNORECASE,
)
_TIED = re.compile(
    r"\b(?:too|also|same|either|neither|likewise|then|that (?:day|week|month|year|time)|when|ok|okay|yes|yeah|sure|"
    r"agreed|deal|fine|great|works|join|with you|so (?:do|did|am|was|have|will) i)\b"
    r"|\?|？|也|同样|那天|那时|什么时候|好的|可以|一起",
    re.IGNORECASE,
)


class Dating:
    """The times that the lines of a passage name.

    Args:
        ordered: which lines give orders; the times of those count for no other line.

    Attributes:
        told: the times of each line.
        all_told: those of all lines that give no orders.
    """

    def __init__(self, lines: Sequence[Line], ordered: Sequence[bool]) -> None:
        self._lines = lines
        self._ordered = ordered
        self.told = [times_told(line.text, line.turn.timestamp) for line in lines]
        self.all_told = [
            mention for told, orders in zip(self.told, ordered, strict=True) if not orders for mention in told
        ]

    def mention(
        self, fact: ModelFact, at: int, interval: Interval | None, times: Callable[[str, int], list[TimeMention]]
    ) -> TimeMention | None:
        """The told time of a fact: the one that its words quote, that its dates mean, or that its sentence names.

        Args:
            at: the line that the fact was read in.
            interval: when it happened, as the model has it.
            times: the times that a text names, said when a line was.
        """
        near = (self.told[at], self._of_others(fact, at))
        for told in near:
            if (mention := quoted(fact.time_words, told)) is not None:
                return mention
        is_said = fact.time_words and fold(fact.time_words) in fold(self._lines[at].text)
        # By themselves the words may be plainer than in their sentence.
        if is_said and (alone := times(fact.time_words, at)):
            return alone[0]
        if not any(near):
            return None
        if interval is not None:
            for told in near:
                if (mention := matching(interval, told)) is not None:
                    return mention
        for named in times(f"{fact.what} | {fact.when}" if fact.when else fact.what, at):
            for told in near:
                if (mention := matching(named.interval, told)) is not None:
                    return mention
        return None

    def _of_others(self, fact: ModelFact, at: int) -> list[TimeMention]:
        """The times of all lines that may be those of a fact of line `at`.

        What another speaker says of himself is no time of it, unless the fact tells of him or its line takes it up.
        """
        if not self.all_told or all(line.turn.speaker == self._lines[at].turn.speaker for line in self._lines):
            return self.all_told
        text = fold(f"{fact.what} {fact.who}")
        return [
            mention
            for seat, (line, told) in enumerate(zip(self._lines, self.told, strict=True))
            if told and not self._ordered[seat]
            for mention in told
            if line.turn.speaker == self._lines[at].turn.speaker
            or stands_in(line.turn.speaker or "", text)
            or (abs(seat - at) == 1 and _TIED.search(self._lines[at].text) is not None)
            or not _is_of_speaker(line.text, mention)
        ]


def _is_of_speaker(text: str, mention: TimeMention) -> bool:
    """Whether the sentence that names a time tells of nobody but who speaks."""
    start = max((match.end() for match in _ENDS.finditer(text, 0, mention.start)), default=0)
    end = _ENDS.search(text, mention.end)
    sentence = text[start : end.start() if end is not None else len(text)]
    if not _OF_SPEAKER.search(sentence):
        return False
    return not _OF_BOTH.search(sentence) and not _TELLING.search(sentence)


def stands_in(name: str, folded: str) -> bool:
    """Whether a name stands in a folded text, as words of their own."""
    wanted = fold(name)
    if not wanted or wanted not in folded:
        return False
    if _CJK.search(wanted):
        return True
    return re.search(rf"(?<![^\W_]){re.escape(wanted)}(?![^\W_])", folded) is not None
