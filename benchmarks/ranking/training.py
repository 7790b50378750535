"""Questions with their candidates' features, the fit of weights to them, and how good an order is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from conversations import Asked, CachedEncoder, Conversation

from hindsight_server.adapters.text.analyzer import Analyzer
from hindsight_server.domain.time import find_times
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.features import FIRST, SECOND
from hindsight_server.engine.recall.fill import fitting
from hindsight_server.engine.recall.model import SCAN, load_weights, shortfall
from hindsight_server.engine.recall.question import parse
from hindsight_server.engine.recall.ranking import LIMITS, Inputs, first_pass
from hindsight_server.engine.recall.reranking import QueryWords, compare, rows_to_compare, with_second, word_weights
from hindsight_server.engine.recall.scope import scope_of
from hindsight_server.engine.recall.types import Budget, MinScores, RecallQuery

NOW = datetime(2026, 1, 1, tzinfo=UTC)
L2 = 1e-3
TOKEN_CUTS = (512, 1024, 2048, 4096)
NOTHING = Postings(1, 0, np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidates: features (first and second), raw similarity, rows, and which are evidence."""

    conversation: str
    asked: Asked
    rows: np.ndarray
    features: np.ndarray
    similarity: np.ndarray
    evidence: np.ndarray
    tokens: np.ndarray


def cases(
    conversation: Conversation, analyzer: Analyzer, encode: CachedEncoder, first_weights: np.ndarray, limit: int
) -> Iterable[Case]:
    """Run the server's own search on every question; `first_weights` choose what is compared word by word."""
    weights = replace(load_weights(), first=first_weights)
    limits = replace(LIMITS[Budget.MID], compared=limit)
    scope = scope_of(conversation.view)
    for asked in conversation.questions:
        question = parse(RecallQuery(query=asked.text), analyzer, find_times, NOW)
        encoding = encode(asked.text)
        inputs = Inputs(
            scope=scope,
            question=question,
            postings={term: conversation.postings.get(term, NOTHING) for term in question.terms},
            exact_terms={},
            vectors={encoding.space: encoding.vector},
            entities=np.array(
                [
                    conversation.entities[one]
                    for name in question.names
                    if (one := name.casefold()) in conversation.entities
                ],
                np.int32,
            ),
            min_scores=MinScores(),
            limits=limits,
            weights=weights,
            until=float("inf"),
        )
        first = first_pass(inputs)
        if encoding.tokens is None:
            raise SystemExit("The embeddings have no word vectors; there is nothing to compare word by word.")
        stems = [analyzer.stem(word) for word in encoding.tokens.words]
        words = QueryWords(encoding.space, encoding.tokens.vectors, word_weights(stems, first.rarity))
        compared = compare(
            conversation.view, first, rows_to_compare(scope, first, limits.compared), words, conversation.tokens
        )
        yield Case(
            conversation.name,
            asked,
            first.rows,
            with_second(first, compared).astype(np.float64),
            compared.similarity.own,
            np.isin(first.rows, [row for turn in asked.evidence for row in turn]),
            conversation.view.tokens[first.rows],
        )


def fit(train: Sequence[Case], columns: Sequence[int], l2: float = L2, steps: int = 400) -> np.ndarray:
    """Weights of the chosen columns (0 elsewhere), by Adam on the whole set at once."""
    blocks = [(case.features[:, columns], case.evidence) for case in train if case.evidence.any()]
    stacked = np.concatenate([block for block, _ in blocks])
    positive = np.concatenate([mark for _, mark in blocks])
    starts = np.cumsum([0] + [len(mark) for _, mark in blocks[:-1]])
    owner = np.repeat(np.arange(len(blocks)), [len(mark) for _, mark in blocks])
    count = float(positive.sum())
    weights, momentum, square = np.zeros(len(columns)), np.zeros(len(columns)), np.zeros(len(columns))
    for step in range(1, steps + 1):
        scores = stacked @ weights
        top = np.maximum.reduceat(scores, starts)
        raised = np.exp(scores - top[owner])
        others = np.add.reduceat(np.where(positive, 0, raised), starts)
        # Each positive competes with all negatives of its question: d/ds of -s_p + log(e^s_p + sum e^s_n).
        share = raised / (raised + others[owner])
        negative_pull = np.add.reduceat(np.where(positive, 1 / (raised + others[owner]), 0), starts)
        slope = np.where(positive, share - 1, raised * negative_pull[owner])
        gradient = stacked.T @ slope / count + 2 * l2 * weights
        momentum = 0.9 * momentum + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = 0.3 * (1 - step / steps) + 0.005
        weights -= rate * (momentum / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    full = np.zeros(len(FIRST) + len(SECOND))
    full[list(columns)] = weights
    return full


def prepared(
    conversations: Sequence[Conversation],
    analyzer: Analyzer,
    encode: CachedEncoder,
    limit: int = LIMITS[Budget.MID].compared,
    columns: Sequence[int] | None = None,
    l2: float = L2,
) -> tuple[np.ndarray, list[Case]]:
    """Weights of the first features (`columns` of them), and cases whose best by those were compared word by word."""

    def run(first: np.ndarray) -> list[Case]:
        return [case for one in conversations for case in cases(one, analyzer, encode, first, limit)]

    chosen = range(len(FIRST)) if columns is None else columns
    first = fit(run(load_weights().first), chosen, l2)
    return first, run(first[: len(FIRST)].astype(np.float32))


def measures(case: Case, scores: np.ndarray) -> dict[str, float]:
    """Shares of the evidence found, at several depths and token budgets, and the reciprocal rank."""
    order = np.lexsort((-case.rows, -scores))
    ranked = case.rows[order]

    def share(rows: np.ndarray) -> float:
        held = set(rows.tolist())
        return float(np.mean([held.issuperset(turn) for turn in case.asked.evidence]))

    found = {f"R@{k}": share(ranked[:k]) for k in (5, 10, 25)}
    hit = case.evidence[order]
    found["MRR"] = 1 / (1 + int(np.argmax(hit))) if hit.any() else 0.0
    tokens = case.tokens[order]
    kept = fitting(tokens.tolist(), 4096)
    sums = np.cumsum(tokens[kept])
    for cut in TOKEN_CUTS:
        found[f"tok{cut}"] = share(ranked[kept][sums <= cut])
    return found


def logistic(scores: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    """Slope and offset by Newton's method."""
    x = np.stack([scores, np.ones_like(scores)], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2)
        weights += np.linalg.solve(hessian, x.T @ (positive - p))
    return {"slope": round(float(weights[0]), 3), "offset": round(float(weights[1]), 3)}


def rounded(weights: np.ndarray, names: Sequence[str]) -> dict[str, float]:
    return {
        name: round(float(weight), 1) for name, weight in zip(names, weights, strict=False) if round(float(weight), 1)
    }


def weights_file(data: Sequence[Case], first: np.ndarray, kept: Sequence[int], l2: float) -> dict[str, object]:
    """What is written: rounded weights, and how their scores become 0-1."""
    names = FIRST + SECOND
    second = fit(data, kept, l2)
    scan = fit(data, [names.index(name) for name in SCAN], l2)
    positive = np.concatenate([case.evidence for case in data]).astype(float)
    r_first = np.array([rounded(first, names).get(name, 0.0) for name in names])
    r_second = np.array([rounded(second, names).get(name, 0.0) for name in names])
    known = np.concatenate([~np.isnan(case.similarity) for case in data])
    similarity = np.concatenate([case.similarity for case in data])
    return {
        "provenance": (
            f"Fitted by benchmarks/ranking/fit.py on the evidence turns of {len(data)} questions of"
            f" {len({case.conversation for case in data})} LoCoMo conversations (snap-research/locomo):"
            " listwise softmax, L2, rounded to 0.1."
        ),
        "scan": rounded(scan[[names.index(name) for name in SCAN]], SCAN),
        "first": rounded(first[: len(FIRST)], FIRST),
        "second": rounded(second, names),
        "probability": {
            "first": logistic(np.concatenate([shortfall(case.features, r_first) for case in data]), positive),
            "second": logistic(np.concatenate([shortfall(case.features, r_second) for case in data]), positive),
            "reranker": logistic(similarity[known], positive[known]),
        },
    }
