"""How good a ranking of results is for a question, and how sure a difference of two rankings is."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from suite_format import Evidence, Question, normalised

TOKENS_A_RESULT = 100
MEASURES = ("R@5", "R@10", "hit@3", "tok1024", "tok4096")
RESAMPLES = 4000


@dataclass(frozen=True, kw_only=True)
class Result:
    """One recalled or ranked fact."""

    text: str
    document_id: str | None
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Mean difference with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def scores(question: Question, results: Sequence[Result], short: Sequence[Result]) -> dict[str, float]:
    """The `MEASURES` of one question.

    ``R@k`` is the share of its evidence within the first k results, ``hit@3`` is 1 when any is within the first 3; k
    results count only up to k times 100 tokens in all, so that long results buy nothing. ``tok1024`` and ``tok4096``
    are the shares within so many tokens.

    Args:
        question: with its evidence.
        results: best first, of a recall with 4,096 tokens.
        short: likewise with 1,024 tokens.
    """
    return {
        "R@5": _share(question.evidence, _top(results, 5)),
        "R@10": _share(question.evidence, _top(results, 10)),
        "hit@3": float(_share(question.evidence, _top(results, 3)) > 0),
        "tok1024": _share(question.evidence, within(short, 1024)),
        "tok4096": _share(question.evidence, within(results, 4096)),
    }


def found(evidence: Evidence, results: Sequence[Result]) -> bool:
    """True when a result of the evidence's document holds its snippet."""
    wanted = normalised(evidence.snippet)
    return any(wanted in normalised(one.text) and evidence.document_id in (None, one.document_id) for one in results)


def within(results: Sequence[Result], tokens: int) -> Sequence[Result]:
    """The results before the first that does not fit."""
    spent = 0
    for at, one in enumerate(results):
        spent += one.tokens
        if spent > tokens:
            return results[:at]
    return results


def mean_scores(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure."""
    return {name: statistics.mean(row[name] for row in rows) for name in MEASURES}


def by_kind(questions: Sequence[Question], rows: Sequence[dict[str, float]]) -> dict[str, list[dict[str, float]]]:
    """The rows of each kind of question, under ``all`` those of all."""
    groups: dict[str, list[dict[str, float]]] = {"all": list(rows)}
    for question, row in zip(questions, rows, strict=True):
        groups.setdefault(question.kind, []).append(row)
    return groups


def difference(ours: Sequence[float], theirs: Sequence[float], seed: int = 1) -> Interval:
    """Paired percentile bootstrap over the questions (Efron and Tibshirani 1993, chapter 13)."""
    gaps = [one - other for one, other in zip(ours, theirs, strict=True)]
    pick = random.Random(seed)
    means = sorted(statistics.fmean(pick.choices(gaps, k=len(gaps))) for _ in range(RESAMPLES))
    return Interval(
        mean=statistics.fmean(gaps), low=means[int(0.025 * RESAMPLES)], high=means[int(0.975 * RESAMPLES) - 1]
    )


def _top(results: Sequence[Result], count: int) -> Sequence[Result]:
    return within(results[:count], count * TOKENS_A_RESULT)


def _share(evidence: Sequence[Evidence], results: Sequence[Result]) -> float:
    return statistics.fmean(found(one, results) for one in evidence)
