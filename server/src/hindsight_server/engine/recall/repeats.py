"""Stored questions that only repeat the query: they hold no answer, however well their words fit.

A user who asks the same thing day after day would fill the results with the question itself. Such questions become one
candidate, which goes beneath the others. What was said to them may be the answer, but after the best few of these
replies the rest goes beneath as well: they all owe their place to the same words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.cache import Postings, ViewCache, Warm
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import Float32Array, Int32Array, Int64Array
from hindsight_server.ports.analyzer import TextAnalyzer

DEMOTION = 5.0
"""Points that they lose: more than what tells good evidence from none, which is about 3."""

_SHARE = 0.75  # of the query's words that such a question holds; it holds no others
_FRAME = 12  # terms beside these, at most, and as many again for words of asking: the speaker, the date, a number
_MOST_READ = 256
_MOST_LOOKED_AT = 20_000  # the newest; a millisecond
_REPLIES = 3  # that keep their place

# A question mark, after which at most a number and closing signs stand: "Where do I live? (12)".
_ASKS = re.compile(r"[?？][\s\"'”’)）\]】#(（\[]*(?:\d{1,9}[\s\"'”’)）\]】]*)?$")
_COUNTED = re.compile(r"^[\s#(（\[]*\d{1,9}[.:)）\]、]\s")  # "12. Where do I live?"

# What stands before a question in the same text may be a statement: "I have a dog. Do you?", "I live in Rome, you?"
_PIECE = re.compile(r"([^.!?,;:。！？，；：\n]+)([.!?,;:。！？，；：\n]*)")
_OPENS = re.compile(
    r"\W*(?:(?:so|and|but|or|then)\W+)?"
    r"(?:what|where|who|whom|whose|when|why|which|how|do|does|did|is|are|was|were|am|can|could|would|should)\b"
    r"|.*(?:什么|甚麼|什麼|哪|谁|誰|怎|吗|嗎|几|幾|多少)",
    re.IGNORECASE,
)
_NONE: frozenset[str] = frozenset()
_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What repeats the query, by rows.

    Args:
        kept: the newest of these questions, first, and those that say the same to the letter, which are folded into it.
        dropped: the others; they are no candidates.
        replies: what was said next after any of them.
    """

    kept: Int32Array
    dropped: Int32Array
    replies: Int32Array

    def barred(self) -> Int32Array:
        """Rows that no arm brings, so that they take nobody's place."""
        return np.concatenate([self.kept[1:], self.dropped])

    def candidates(self, rows: Int32Array, exact: Int32Array) -> Int32Array:
        """Candidates without those that are dropped; what the query spells out stays."""
        wanted = rows[~np.isin(rows, self.dropped) | np.isin(rows, exact)]
        return np.union1d(wanted, self.kept).astype(np.int32) if self.kept[0] in wanted else wanted

    def demotions(self, rows: Int32Array, points: Float32Array, folds: Int64Array) -> Float32Array:
        """What is added to the points of candidates: 0, or less for those that go beneath.

        Args:
            folds: for each candidate the `fold` of its fact; replies that say the same count once.
        """
        added = np.zeros(len(rows), np.float32)
        added[np.isin(rows, self.kept)] = -DEMOTION
        replies = np.flatnonzero(np.isin(rows, self.replies))
        seen: set[int] = set()
        for place in replies[np.lexsort((-rows[replies], -points[replies]))].tolist():
            seen.add(int(folds[place]) or -place - 1)
            if len(seen) > _REPLIES:
                added[place] = -DEMOTION
        return added


class RepeatFinder:
    """Finds them for one recall after another.

    Args:
        cache: reads the facts, and keeps the words of questions.
        analyzer: makes terms.
    """

    def __init__(self, cache: ViewCache, analyzer: TextAnalyzer) -> None:
        self._cache = cache
        self._analyzer = analyzer

    async def find(
        self, bank_id: str, warm: Warm, scope: Scope, query: str, postings: Mapping[str, Postings]
    ) -> Repeats | None:
        """The stored questions that repeat the query; None when there are none."""
        asked = self._about(query)
        likely = _likely(scope, [postings[term] for term in sorted(asked) if term in postings], len(asked))
        if not len(likely):
            return None
        words = await self._words_of(bank_id, warm, scope, likely)
        least = math.ceil(_SHARE * len(asked))
        rows = likely[[len(held) >= least and held <= asked for held in words]]
        return _repeats(scope, rows) if len(rows) else None

    async def _words_of(self, bank_id: str, warm: Warm, scope: Scope, rows: Int32Array) -> list[frozenset[str]]:
        """The words of questions, none of other texts; the text of a `seq` never changes, so that it is read once."""
        seqs = scope.view.seq[rows].tolist()
        words = {seq: warm.questions[seq] for seq in seqs if seq in warm.questions}
        missing = [seq for seq in seqs if seq not in words]
        facts = await self._cache.facts(bank_id, warm, scope.view, missing) if missing else {}
        fresh = {seq: self._asked_in(_said(fact)) for seq, fact in facts.items()}
        warm.remember(fresh)
        words |= fresh
        return [words.get(seq, _NONE) for seq in seqs]

    def _asked_in(self, text: str) -> frozenset[str]:
        """What a text is about that asks and does nothing else; none of any other text."""
        if not _ASKS.search(text):
            return _NONE
        words = self._about(text)
        told = self._about(". ".join(_told(text)))
        return _NONE if len(told) >= _SHARE * len(words) else words

    def _about(self, text: str) -> frozenset[str]:
        """What a question is about: its terms without words of asking and the number that counts it.

        Any other number may be the answer: "My code is 4711, do you know it?"
        """
        return frozenset(self._analyzer.query_terms(_COUNTED.sub("", _ASKS.sub("?", text))))


def _likely(scope: Scope, held: list[Postings], asked: int) -> Int32Array:
    """Visible facts with most words of the query and few others, the newest `_MOST_READ`."""
    view = scope.view
    least = math.ceil(_SHARE * asked)
    if not asked or len(held) < least:
        return _NO_ROWS
    # Who lacks the rarest of them all has too few of the rest.
    rarest = sorted(held, key=lambda entry: len(entry.rows))[: len(held) - least + 1]
    rows = np.unique(np.concatenate([entry.rows[-_MOST_LOOKED_AT:] for entry in rarest]))[-_MOST_LOOKED_AT:]
    if not len(rows):
        return _NO_ROWS
    distinct = np.zeros(len(rows), np.int16)
    together = np.zeros(len(rows), np.float32)
    for entry in held:
        if len(entry.rows):
            place = np.minimum(np.searchsorted(entry.rows, rows), len(entry.rows) - 1)
            holds = entry.rows[place] == rows
            distinct += holds
            together += np.where(holds, entry.counts[place], np.float32(0))
    rows = rows[(distinct >= least) & view.alive[rows] & (view.length[rows] <= 2 * together + _FRAME)]
    return scope.visible(rows.astype(np.int32))[-_MOST_READ:]


def _repeats(scope: Scope, rows: Int32Array) -> Repeats:
    """Told apart: rows ascend, so that the newest is the last."""
    folds = scope.view.fold[rows]
    same = folds == folds[-1] if folds[-1] else np.zeros(len(rows), np.bool_)
    same[-1] = True
    replies = _NO_ROWS if scope.following is None else scope.following[rows]
    return Repeats(kept=rows[same][::-1], dropped=rows[~same], replies=np.setdiff1d(replies[replies >= 0], rows))


def _told(text: str) -> list[str]:
    """The pieces of a text that ask nothing."""
    return [piece for piece, end in _PIECE.findall(text) if not set(end) & {"?", "？"} and not _OPENS.match(piece)]


def _said(fact: Fact) -> str:
    speaker = f"{fact.speaker}:"
    return fact.text[len(speaker) :] if fact.speaker and fact.text.startswith(speaker) else fact.text
