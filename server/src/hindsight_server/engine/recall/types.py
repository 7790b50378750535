"""What a recall is asked and what it answers, as plain immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.entities import Entity
from hindsight_server.ports.records import Chunk

_MEANINGS = 20  # tags that a fuzzy one was taken for, in a trace


class Budget(StrEnum):
    """How hard to search. It bounds the candidates that are looked at, never the number of results.

    ``LOW`` ranks by words and pooled vectors; ``MID`` also compares word by word (MaxSim) for the best 100;
    ``HIGH`` does so for the best 300 and lets every arm bring more.
    """

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class TimeField(StrEnum):
    """Which time of a fact a time filter looks at."""

    OCCURRED = "occurred"
    MENTIONED = "mentioned"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow:
    """A span of time, open where an end is None. Aware datetimes, both ends included."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFilter:
    """Lets through only facts whose time touches the window; a fact without that time is left out.

    With `OCCURRED`, a fact that has no time of its own is judged by when it was mentioned.
    """

    window: TimeWindow
    on: TimeField = TimeField.OCCURRED


@dataclass(frozen=True, slots=True, kw_only=True)
class MinScores:
    """Score floors, each inclusive; None is no floor.

    `semantic` and `keyword` bound only what their own arm brings; `reranker` and `final` hold for every result.
    """

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFactsOption:
    """Budgets for the facts that observations were drawn from, in tokens; -1 is no limit."""

    max_tokens: int = 4096
    max_tokens_per_observation: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A question to a bank.

    Args:
        query: the words; more than 500 tokens are cut (the trace says so).
        types: fact types to look at (``world``, ``experience``, ``observation``); None or empty is all. The retired
            ``opinion`` is accepted and matches nothing.
        budget: how hard to search.
        max_tokens: tokens of result texts at most.
        query_timestamp: the "now" of the question, for relative dates and recency; None is the clock's now.
        tags: which tags the facts must have; None is no filter. `TagAnd` joins several groups.
        temporal_window: ranks facts of that time higher, instead of times found in the words.
        time_filter: leaves out facts of other times.
        prefer_observations: leave out a fact that a returned observation was drawn from.
        min_scores: score floors.
        entities_max_tokens: token budget of the entities to include; None includes none.
        chunks_max_tokens: token budget of the chunks to include; None includes none.
        source_facts: budgets of the source facts to include; None includes none.
        trace: fill the ranked lists of the trace (its timings and notes are always there).
        left_open: options that the caller did not give, among ``max_tokens``, ``prefer_observations``, ``chunks``
            (whether any are included) and ``chunks_max_tokens``; where the bank has a setting for one, that counts.
        deadline_seconds: a model that still loads, or an arm that is late, is waited for no longer than this.
    """

    query: str
    types: tuple[str, ...] | None = None
    budget: Budget = Budget.MID
    max_tokens: int = 4096
    query_timestamp: datetime | None = None
    tags: TagFilter | None = None
    temporal_window: TimeWindow | None = None
    time_filter: TimeFilter | None = None
    prefer_observations: bool = False
    min_scores: MinScores = field(default_factory=MinScores)
    entities_max_tokens: int | None = None
    chunks_max_tokens: int | None = None
    source_facts: SourceFactsOption | None = None
    trace: bool = False
    left_open: frozenset[str] = frozenset()
    deadline_seconds: float = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Scores of one result at each stage; results are ordered by `final`, which lies in 0-1.

    Args:
        final: the score the order follows.
        reranker: calibrated 0-1 value of the word-by-word comparison; None when it did not run.
        semantic: cosine similarity; None when the semantic arm did not bring this fact.
        keyword: BM25; None when the keyword arm did not bring this fact.
    """

    final: float
    reranker: float | None = None
    semantic: float | None = None
    keyword: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """One result: the fact, why it is where it is, and the arms that brought it (``exact``, ``semantic``, ...).

    `copies` are other visible facts that say the same, best first, at most 20; `proof_count` counts all of them and
    the fact itself.
    """

    fact: Fact
    scores: Scores
    arms: tuple[str, ...] = ()
    copies: tuple[Fact, ...] = ()
    proof_count: int = 1


@dataclass(frozen=True, slots=True)
class IncludedChunk:
    """A chunk that results were taken from; `text` may be cut, `truncated` says so."""

    chunk: Chunk
    text: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class IncludedEntity:
    """An entity that results name, and the newest other memories of it that the recall may see."""

    entity: Entity
    observations: tuple[Fact, ...] = ()


class LeftOut(StrEnum):
    """Why a candidate is not among the results."""

    FLOOR_FINAL = "floor_final"
    FLOOR_RERANKER = "floor_reranker"
    SUPERSEDED = "superseded"
    FOLDED = "folded"
    BUDGET = "budget"


class ArmStatus(StrEnum):
    OK = "ok"
    SKIPPED = "skipped"
    FAILED = "failed"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """One line of an arm's own list."""

    fact_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTrace:
    """What one arm did. `detail` says why it was skipped, failed or was late; `ranked` is empty unless traced."""

    name: str
    status: ArmStatus
    candidates: int = 0
    seconds: float = 0.0
    detail: str | None = None
    ranked: tuple[RankedEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedWindow:
    """A time that the search looked at.

    Args:
        window: with `trace`, as it was used: a month without a year is that of a year that has facts.
        phrase: the words that name it; None for a window given with the query.
        source: ``query`` (its words), ``request`` (its `temporal_window`) or ``event`` (the words name an event).
        event_memory_id: the memory that tells when the event was.
    """

    window: TimeWindow
    phrase: str | None = None
    source: str = "query"
    event_memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCandidate:
    """Why a candidate is where it is, or why it is not there.

    Args:
        rank: in the final order, from 1; those that were left out are counted.
        left_out: why it is not among the results; None when it is.
        exact: whether it goes before all others.
        first_score: of the linear model before any words were compared.
        score: of the linear model that counted in the end, boosts included; `final` and `reranker` as in `Scores`.
        arms: for each arm that brought it, its rank there and that arm's own score.
        features: what is not 0 of it, each with what it adds to the score (value times weight).
        boosts: what is added to the score besides.
    """

    fact_id: str
    rank: int
    left_out: LeftOut | None
    exact: bool
    first_score: float
    score: float
    final: float
    reranker: float | None
    arms: Mapping[str, tuple[int, float]]
    features: Mapping[str, tuple[float, float]]
    boosts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTrace:
    """How a recall came to its answer. What is marked * is there only when the query asks for a trace.

    Args:
        query: the words that were searched (cut, when `query_truncated`).
        degraded: names of the arms that failed or were late.
        notes: in plain words, what was left out or cut, and why.
        time_windows: times found in the words, or given.
        facts_visible: facts that the filters let through.
        hidden: for each filter, how many facts it leaves out by itself.
        tag_meanings: for each fuzzy tag, those of the bank that it was taken for.
        candidates: facts that were ranked.
        left_out: how many of them are not among the results, by reason.
        stage_seconds: wall time of each stage.
        weights_file: name of the file that the weights are from.
        weights*: of the features; `attainable`* is the score of a fact that would be the best in each.
        explained*: the first candidates of the final order.
    """

    query: str
    query_truncated: bool = False
    terms: tuple[str, ...] = ()
    time_windows: tuple[TracedWindow, ...] = ()
    arms: tuple[ArmTrace, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts_visible: int = 0
    hidden: Mapping[str, int] = field(default_factory=dict)
    tag_meanings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    candidates: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    total_seconds: float = 0.0
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    weights_file: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    attainable: float = 0.0
    explained: tuple[ExplainedCandidate, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The trace as JSON-able values, for the wire."""
        return {
            "query": self.query,
            "query_truncated": self.query_truncated,
            "terms": list(self.terms),
            "time_windows": [_window_dict(one) for one in self.time_windows],
            "arms": [_arm_dict(arm) for arm in self.arms],
            "degraded": list(self.degraded),
            "notes": list(self.notes),
            "facts_visible": self.facts_visible,
            "hidden": dict(self.hidden),
            "tag_meanings": {tag: list(meant[:_MEANINGS]) for tag, meant in self.tag_meanings.items()},
            "candidates": self.candidates,
            "left_out": dict(self.left_out),
            "time_seconds": self.total_seconds,
            "stage_seconds": dict(self.stage_seconds),
            "weights_file": self.weights_file,
            "weights": dict(self.weights),
            "attainable": self.attainable,
            "explained": [_candidate_dict(one) for one in self.explained],
        }


def _iso(value: datetime | None) -> str | None:
    return value.isoformat() if value else None


def _window_dict(traced: TracedWindow) -> dict[str, Any]:
    known = {
        "start": _iso(traced.window.start),
        "end": _iso(traced.window.end),
        "phrase": traced.phrase,
        "source": traced.source,
    }
    return known if traced.event_memory_id is None else {**known, "event_memory_id": traced.event_memory_id}


def _candidate_dict(one: ExplainedCandidate) -> dict[str, Any]:
    return {
        "id": one.fact_id,
        "rank": one.rank,
        "left_out": one.left_out.value if one.left_out else None,
        "exact": one.exact,
        "first_score": one.first_score,
        "score": one.score,
        "final": one.final,
        "reranker": one.reranker,
        "arms": {name: {"rank": rank, "score": score} for name, (rank, score) in one.arms.items()},
        "features": {name: {"value": value, "adds": adds} for name, (value, adds) in one.features.items()},
        "boosts": dict(one.boosts),
    }


def _arm_dict(arm: ArmTrace) -> dict[str, Any]:
    ranked = [{"id": e.fact_id, "rank": e.rank, "score": e.score} for e in arm.ranked]
    return {
        "name": arm.name,
        "status": arm.status.value,
        "candidates": arm.candidates,
        "time_seconds": arm.seconds,
        "detail": arm.detail,
        "ranked": ranked,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOutcome:
    """The answer to a `RecallQuery`. What was not asked for is None.

    Args:
        results: best first.
        chunks: in the order of the results that were taken from them.
        entities: those of the results, in the order of the results.
        source_facts: the facts that the returned observations were drawn from.
        source_facts_truncated: whether the budget left some out.
        result_tokens: tokens of the result texts together.
        listed_tokens: tokens of the results as a numbered list, at most; this is what `max_tokens` bounds.
        truncated: whether `max_tokens` left out results that the floors let through.
    """

    results: tuple[ScoredFact, ...]
    trace: RecallTrace
    chunks: tuple[IncludedChunk, ...] | None = None
    entities: tuple[IncludedEntity, ...] | None = None
    source_facts: tuple[Fact, ...] | None = None
    source_facts_truncated: bool | None = None
    result_tokens: int = 0
    listed_tokens: int = 0
    truncated: bool = False
