"""The yardstick: plain fusion of BM25 and vectors over the facts that the server stored, with the server's own words
and vectors and nothing else of it.

BM25 is Lucene's form (k1 1.2, b 0.75; Robertson and Zaragoza 2009). Both arms give their best 100. ``minmax`` adds half
of each arm's scores, scaled to 0..1 among those; ``rrf`` adds 1 / (60 + rank) (Cormack et al. 2009).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from suite_scores import Result

from hindsight_server.domain.model import FactType
from hindsight_server.engine.indexing import indexed_text
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.embedder import Embedder, Float32Array

ARM = 100
_K1, _B, _RRF = 1.2, 0.75, 60
_SHOWN = 400

Scores = dict[int, float]


@dataclass(frozen=True, kw_only=True)
class StoredFact:
    """A fact as the server lists it."""

    text: str
    document_id: str | None
    mentioned_at: datetime | None
    fact_type: FactType = FactType.WORLD
    speaker: None = None


class PlainFusion:
    """Ranks stored facts for a question.

    Args:
        facts: all of the bank.
        analyzer: words and token counts.
        embedder: its models are loaded at the first use.
    """

    def __init__(self, facts: Sequence[StoredFact], analyzer: TextAnalyzer, embedder: Embedder) -> None:
        self._analyzer, self._embedder = analyzer, embedder
        self._results = [
            Result(text=fact.text, document_id=fact.document_id, tokens=analyzer.count_tokens(fact.text))
            for fact in facts
        ]
        texts = [indexed_text(fact) for fact in facts]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        for row, text in enumerate(texts):
            terms = analyzer.index_terms(text)
            self._lengths.append(len(terms))
            for term, count in Counter(terms).items():
                self._postings.setdefault(term, []).append((row, count))
        self._spaces = _vectors(texts, embedder)

    @property
    def results(self) -> Sequence[Result]:
        """All facts, in no order."""
        return self._results

    def rankings(self, question: str) -> dict[str, list[Result]]:
        """The facts, best first, by each way of fusing."""
        words, meaning = self._bm25(question), self._dense(question)
        return {name: self._ranked(fuse(words, meaning)) for name, fuse in FUSIONS.items()}

    def _ranked(self, fused: Mapping[int, float]) -> list[Result]:
        rows = sorted(fused, key=lambda row: (-fused[row], row))
        return [self._results[row] for row in rows[:_SHOWN]]

    def _bm25(self, question: str) -> Scores:
        count, mean = len(self._lengths), sum(self._lengths) / max(1, len(self._lengths))
        totals: Scores = {}
        for term in dict.fromkeys(self._analyzer.query_terms(question)):
            pairs = self._postings.get(term, [])
            idf = math.log(1 + (count - len(pairs) + 0.5) / (len(pairs) + 0.5))
            for row, often in pairs:
                damped = often + _K1 * (1 - _B + _B * self._lengths[row] / mean)
                totals[row] = totals.get(row, 0.0) + idf * often * (_K1 + 1) / damped
        return _best(totals)

    def _dense(self, question: str) -> Scores:
        totals: Scores = {}
        for encoding in self._embedder.encode_query(question, list(self._spaces)):
            rows, matrix = self._spaces[encoding.space]
            similar = matrix @ encoding.vector
            totals |= {row: float(score) for row, score in zip(rows, similar, strict=True)}
        return _best(totals)


def _vectors(texts: Sequence[str], embedder: Embedder) -> dict[str, tuple[list[int], Float32Array]]:
    rows: dict[str, list[int]] = {}
    vectors: dict[str, list[Float32Array]] = {}
    for row, encoding in enumerate(embedder.encode(list(texts))):
        rows.setdefault(encoding.space, []).append(row)
        vectors.setdefault(encoding.space, []).append(encoding.vector)
    return {space: (rows[space], np.stack(vectors[space])) for space in rows}


def _best(totals: Scores) -> Scores:
    return dict(sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))[:ARM])


def _minmax(words: Scores, meaning: Scores) -> Scores:
    fused: Scores = {}
    for arm in (words, meaning):
        if not arm:
            continue
        low, high = min(arm.values()), max(arm.values())
        for row, score in arm.items():
            scaled = (score - low) / (high - low) if high > low else 1.0
            fused[row] = fused.get(row, 0.0) + 0.5 * scaled
    return fused


def _rrf(words: Scores, meaning: Scores) -> Scores:
    fused: Scores = {}
    for arm in (words, meaning):
        for rank, row in enumerate(arm, start=1):
            fused[row] = fused.get(row, 0.0) + 1 / (_RRF + rank)
    return fused


FUSIONS: Mapping[str, Callable[[Scores, Scores], Scores]] = {"minmax": _minmax, "rrf": _rrf}
