"""Finding pages: by words (BM25) and by likeness, joined by rank. Pages are few, so that each is looked at."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.domain.pages.text import rendered
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.embedder import Embedder, Encoding
from hindsight_server.ports.mental_models import MentalModel

_log = logging.getLogger(__name__)
_K1, _B = 1.2, 0.75  # the usual constants of BM25 (Robertson and Zaragoza, 2009)
_RANK = 60  # reciprocal rank fusion (Cormack and others, 2009)
_LEAST_COSINE = 0.25  # two texts below it share no subject, in every space that is used here
_SNIPPET = 240
EMPTY = "No content yet."


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that was found. `score` is 1.0 when every way to search has it first."""

    model: MentalModel
    score: float
    snippet: str


class PageSearch:
    """Searches mental models. Without an embedding model it goes by words alone."""

    def __init__(self, analyzer: TextAnalyzer, embedder: Embedder) -> None:
        self._analyzer = analyzer
        self._embedder = embedder

    async def search(self, query: str, models: Sequence[MentalModel], limit: int) -> list[PageHit]:
        """The models that fit a question, the best first."""
        if not models or not query.strip():
            return []
        by_words, by_likeness = await asyncio.to_thread(self._ranks, query, models)
        arms = [arm for arm in (by_words, by_likeness) if arm]
        scores: defaultdict[int, float] = defaultdict(float)
        for arm in arms:
            for rank, position in enumerate(arm):
                scores[position] += (_RANK + 1) / (_RANK + 1 + rank) / len(arms)
        found = sorted(scores, key=lambda position: (-scores[position], models[position].mental_model_id))
        return [PageHit(models[one], scores[one], snippet_of(models[one])) for one in found[:limit]]

    def _ranks(self, query: str, models: Sequence[MentalModel]) -> tuple[list[int], list[int]]:
        return self._by_words(query, models), self._by_likeness(query, models)

    def _by_words(self, query: str, models: Sequence[MentalModel]) -> list[int]:
        terms = set(self._analyzer.query_terms(query))
        held = [self._terms(model) for model in models]
        lengths = [sum(one.values()) for one in held]
        average = sum(lengths) / len(lengths) or 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            having = [position for position, one in enumerate(held) if term in one]
            weight = math.log(1 + (len(models) - len(having) + 0.5) / (len(having) + 0.5))
            for position in having:
                count = held[position][term]
                scores[position] += (
                    weight * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * lengths[position] / average))
                )
        return sorted(scores, key=lambda position: (-scores[position], models[position].mental_model_id))

    def _terms(self, model: MentalModel) -> Counter[str]:
        return Counter(model.index.terms) + Counter(self._analyzer.index_terms(f"{model.name}\n{model.source_query}"))

    def _by_likeness(self, query: str, models: Sequence[MentalModel]) -> list[int]:
        spaces = sorted({made.space for model in models if (made := model.index.encoding)})
        if not spaces or not self._embedder.ready:
            return []
        try:
            asked = {made.space: made for made in self._embedder.encode_query(query, spaces)}
        except EmbeddingUnavailable:
            _log.warning("pages are searched by words alone: the question can't be encoded", exc_info=True)
            return []
        scores = {
            position: _cosine(asked[made.space], made)
            for position, model in enumerate(models)
            if (made := model.index.encoding) and made.space in asked
        }
        near = [position for position, cosine in scores.items() if cosine >= _LEAST_COSINE]
        return sorted(near, key=lambda position: (-scores[position], models[position].mental_model_id))


def snippet_of(model: MentalModel) -> str:
    """The opening of a page, on one line."""
    words = " ".join(rendered(model.content.text)[: 4 * _SNIPPET].split())
    if not words:
        return EMPTY
    return words if len(words) <= _SNIPPET else words[: _SNIPPET - 1].rstrip() + "…"


def _cosine(one: Encoding, other: Encoding) -> float:
    if one.vector.shape != other.vector.shape:
        return 0.0
    return float(np.dot(one.vector, other.vector))
