"""From a question and a view to ranked candidates: everything that is arithmetic, none of it waits for anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hindsight_server.engine.recall.arms import (
    SEEDS,
    ArmReport,
    Hits,
    best,
    by_entities,
    by_time,
    closeness,
    floor_of,
    run_arm,
    skipped,
    spans,
)
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.exact import ExactHits, find_exact, spells_out
from hindsight_server.engine.recall.features import Evidence, Scaled, first_features
from hindsight_server.engine.recall.lexical import WordScores, word_scores
from hindsight_server.engine.recall.model import Weights
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.repeats import Repeats
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.semantic import MeaningScores, meaning_scores
from hindsight_server.engine.recall.types import ArmStatus, Budget, MinScores
from hindsight_server.engine.recall.view import Float32Array, Int32Array


@dataclass(frozen=True, slots=True)
class Limits:
    """How many facts each arm may bring, and how many are compared word by word."""

    arm: int
    context: int
    compared: int


LIMITS: Mapping[Budget, Limits] = {
    Budget.LOW: Limits(arm=60, context=200, compared=0),
    Budget.MID: Limits(arm=100, context=300, compared=100),
    Budget.HIGH: Limits(arm=300, context=1000, compared=300),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What was gathered for a ranking; an arm whose inputs could not be had is named in `missing` with the reason.

    `space` is that of the question's script; to those in `crossed` the question came from another one only. `repeats`
    are stored questions that only repeat it.
    """

    scope: Scope
    question: Question
    postings: Mapping[str, Postings]
    exact_terms: Mapping[str, tuple[str, ...]]
    vectors: Mapping[str, Float32Array]
    entities: Int32Array
    min_scores: MinScores
    limits: Limits
    weights: Weights
    until: float
    missing: Mapping[str, tuple[ArmStatus, str]] = field(default_factory=dict)
    space: str | None = None
    crossed: frozenset[str] = frozenset()
    repeats: Repeats | None = None

    def foreign(self) -> Int32Array | None:
        """Rows in another script than the question's; None when that is not known, or there are none."""
        held = self.scope.view.vectors
        others = [vectors.rows for space, vectors in held.items() if space != self.space]
        if not others or self.space is None:
            return None
        foreign = np.zeros(len(self.scope.view), np.bool_)
        for rows in others:
            foreign[rows] = True
        if not self.crossed and self.space in held:
            foreign[held[self.space].rows] = False  # in its own script, with vectors in further spaces, too
        return np.flatnonzero(foreign).astype(np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPass:
    """Candidates, best first by the first features.

    Args:
        rows: the candidates.
        features: shape (rows, len(FIRST)).
        scores: by the model without word-by-word comparison.
        reports: one for each arm.
        search: what the arms left, for further candidates.
        exact: rows of the exact arm, and those whose text has yet to be looked at.
        rarity: inverse document frequencies of the terms.
        repeats: stored questions that only repeat this one.
    """

    rows: Int32Array
    features: Float32Array
    scores: Float32Array
    reports: tuple[ArmReport, ...]
    search: _Search
    exact: ExactHits
    rarity: Mapping[str, float]
    skipped_terms: tuple[str, ...] = ()
    repeats: Repeats | None = None


def first_pass(inputs: Inputs) -> FirstPass:
    """Run the arms and rank what they bring."""
    search = _Search(inputs)
    return _ranked(search, search.run())


def with_rows(first: FirstPass, rows: Int32Array) -> FirstPass:
    """The same with further candidates, which the graph arm brings."""
    return _ranked(first.search, [_bringing(report, rows) for report in first.reports])


def _bringing(report: ArmReport, rows: Int32Array) -> ArmReport:
    if report.name != "graph":
        return report
    hits = report.hits
    scores = np.concatenate([hits.scores, np.zeros(len(rows), np.float32)])
    return replace(report, hits=Hits(np.concatenate([hits.rows, rows]), scores))


def _ranked(search: _Search, reports: Sequence[ArmReport]) -> FirstPass:
    inputs = search.inputs
    rows = np.unique(np.concatenate([report.hits.rows for report in reports])).astype(np.int32)
    if inputs.repeats is not None:
        rows = inputs.repeats.candidates(rows, search.exact.sure)
    times = closeness(inputs.scope.view, rows, search.spans) if search.spans else None
    features = first_features(inputs.scope, search.evidence(), search.scaled, rows, times)
    scores = features @ inputs.weights.first
    order = np.lexsort((-rows, -scores))
    return FirstPass(
        rows=rows[order],
        features=features[order],
        scores=scores[order],
        reports=tuple(reports),
        search=search,
        exact=search.exact,
        rarity=search.words.rarity if search.words else {},
        skipped_terms=search.words.skipped if search.words else (),
        repeats=inputs.repeats,
    )


class _Search:
    """One run over a view; the arms leave here what later ones build on."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._scope = inputs.scope
        self._entity_scores: Float32Array | None = None
        self._scan = np.zeros(0, np.float32)
        self.words: WordScores | None = None
        self.meaning: MeaningScores | None = None
        self.exact = ExactHits.none()
        self.spans = spans(inputs.scope, inputs.question.times)

    def run(self) -> list[ArmReport]:
        """All arms; the words and the meaning first, since the others start from them."""
        question = self.inputs.question
        semantic = self._arm("semantic", self._semantic, None if self.inputs.vectors else "the bank has no vectors")
        keyword = self._arm("keyword", self._keyword, None if question.terms else "the question holds no search term")
        self.scaled = Scaled(self._scope, self.words, self.meaning, self.inputs.foreign())
        self._scan = self._without_repeats(self.scaled.joined(self.inputs.weights.scan))
        return [
            self._arm("exact", self._exact, None if spells_out(question) else "the question spells nothing out"),
            semantic,
            keyword,
            self._arm("context", self._context, None),
            self._arm("graph", self._graph, None),
            self._arm("temporal", self._temporal, None if self.spans else "no time in the question"),
        ]

    def evidence(self) -> Evidence:
        question = self.inputs.question
        speakers = self._scope.view.buffers.speaker_names.named(question.text)
        return Evidence(entities=self._entity_scores, speakers=speakers, asks_when=question.asks_when)

    def _arm(self, name: str, search: Callable[[], Hits], unneeded: str | None) -> ArmReport:
        missing = self.inputs.missing.get(name)
        if missing is not None:
            return ArmReport(name, missing[0], detail=missing[1])
        return skipped(name, unneeded) if unneeded else run_arm(name, search, until=self.inputs.until)

    def _without_repeats(self, scores: Float32Array, instead: float = 0.0) -> Float32Array:
        """Scores in which stored questions that only repeat this one take nobody's place."""
        repeats = self.inputs.repeats
        if repeats is None:
            return scores
        scores = scores.copy()
        scores[repeats.barred()] = instead
        return scores

    def _semantic(self) -> Hits:
        meaning = meaning_scores(self._scope, self.inputs.vectors, self.inputs.crossed)
        floor = self.inputs.min_scores.semantic
        ranked = (
            meaning.scaled if floor is None else np.where(meaning.cosine >= floor_of(floor), meaning.scaled, np.nan)
        )
        hits = best(self._without_repeats(ranked, np.nan), self.inputs.limits.arm, floor=-np.inf)
        self.meaning = meaning
        return Hits(hits.rows, meaning.cosine[hits.rows])

    def _keyword(self) -> Hits:
        words = word_scores(self._scope, {term: self.inputs.postings[term] for term in self.inputs.question.terms})
        floor = self.inputs.min_scores.keyword
        scores = self._without_repeats(words.turn)
        hits = best(scores, self.inputs.limits.arm, None if floor is None else max(floor, 1e-9))
        self.words = words
        return hits

    def _context(self) -> Hits:
        """Facts whose neighbourhood fits, though neither their words nor their meaning alone are among the best."""
        return best(self._scan, self.inputs.limits.context)

    def _graph(self) -> Hits:
        seeds = best(self._scan, SEEDS).rows
        hits = by_entities(self._scope, self.inputs.entities, seeds, self.inputs.limits.arm)
        self._entity_scores = np.zeros(len(self._scope.view), np.float32)
        self._entity_scores[hits.rows] = hits.scores
        return hits

    def _temporal(self) -> Hits:
        return by_time(self._scope, self.spans, self._scan, self.inputs.limits.arm)

    def _exact(self) -> Hits:
        inputs = self.inputs
        exact = find_exact(self._scope, inputs.question, inputs.postings, inputs.exact_terms, self._scan)
        rows = np.concatenate([exact.sure, exact.unsure])
        self.exact = exact
        return Hits(rows, np.ones(len(rows), np.float32))
