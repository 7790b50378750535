"""Collecting what a ranking needs: vectors, posting lists and entities, side by side and each on its own risk."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from hindsight_server.domain.errors import BankNotFound, EmbeddingUnavailable
from hindsight_server.engine.recall.cache import BankMoved, Postings, ViewCache, Warm
from hindsight_server.engine.recall.encodings import LastEncodings
from hindsight_server.engine.recall.groups import known_version, learn
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.types import ArmStatus
from hindsight_server.engine.recall.view import BankView, Float32Array, Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.embedder import Embedder, Encoding
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)

T = TypeVar("T")
Missing = tuple[ArmStatus, str]

# The share of the time that may go by before a model that still loads is given up, so that the other arms can answer.
_LOADING_SHARE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was found.

    Args:
        encoding: the question in the space of its script, when the bank uses that space.
        space: of the question's script, whether the bank uses it or not.
        crossed: the spaces of `vectors` that the question reached from another one only.
        missing: the arms whose inputs could not be had, with the reason.
    """

    vectors: Mapping[str, Float32Array]
    encoding: Encoding | None
    postings: Mapping[str, Postings]
    exact_terms: Mapping[str, tuple[str, ...]]
    entities: Int32Array
    space: str | None = None
    crossed: frozenset[str] = frozenset()
    missing: Mapping[str, Missing] = field(default_factory=dict)


class Gatherer:
    """Gathers for one recall after another.

    Args:
        store: the banks.
        embedder: encodes questions.
        analyzer: makes terms.
        cache: keeps posting lists.
    """

    def __init__(self, store: Store, embedder: Embedder, analyzer: TextAnalyzer, cache: ViewCache) -> None:
        self._store = store
        self._embedder = embedder
        self._analyzer = analyzer
        self._cache = cache
        self._encoded = LastEncodings(self._encode_each)

    async def gather(
        self, bank_id: str, warm: Warm, view: BankView, question: Question, until: float, *, strict: bool = False
    ) -> Gathered:
        """Everything at once. Raises BankNotFound when the bank goes meanwhile; BankMoved if `strict` and it grows."""
        spelled = (*question.identifiers, *question.quoted)
        exact_terms = {text: tuple(self._analyzer.index_terms(text)) for text in spelled}
        terms = (*question.terms, *(term for some in exact_terms.values() for term in some))
        (encodings, no_vectors), (postings, no_words), (entities, no_entities) = await asyncio.gather(
            guarded("semantic", self._encode(view, question.sought, until), until),
            guarded("keyword", self._cache.postings(bank_id, warm, view, terms, strict=strict), until),
            guarded("graph", self._entities(bank_id, view, question), until),
        )
        missing = {"semantic": no_vectors, "keyword": no_words, "exact": no_words, "graph": no_entities}
        encodings = encodings or []
        own = self._embedder.space_of(question.sought)
        encodings.sort(key=lambda encoding: encoding.space != own)  # the cosine that is shown is that of the first
        return Gathered(
            vectors={encoding.space: encoding.vector for encoding in encodings},
            crossed=frozenset(encoding.space for encoding in encodings if encoding.crossed),
            encoding=next((encoding for encoding in encodings if encoding.space == own), None),
            postings=postings or {},
            exact_terms=exact_terms,
            space=own,
            entities=np.empty(0, np.int32) if entities is None else entities,
            missing={name: why for name, why in missing.items() if why is not None},
        )

    async def _encode(self, view: BankView, text: str, until: float) -> list[Encoding]:
        made = self._embedder.spaces
        spaces = [space for space in view.vectors if space in made]
        if not spaces:
            return []
        if not self._embedder.ready and self._embedder.failure is None:
            patience = max(0.0, (until - time.monotonic()) * _LOADING_SHARE)
            await asyncio.to_thread(self._embedder.wait_ready, patience)
            if not self._embedder.ready and self._embedder.failure is None:
                raise TimeoutError("the embedding model is still being loaded")
        known = self._encoded.get(text, spaces)
        return await asyncio.to_thread(self._encoded, text, spaces) if known is None else known

    def _encode_each(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        """One space that can't be had leaves the others; EmbeddingUnavailable when there is none at all."""
        try:
            return self._embedder.encode_query(text, spaces)
        except EmbeddingUnavailable:
            if len(spaces) == 1:
                raise
            _log.debug("encoding the question space by space, to find the one that fails", exc_info=True)
        encodings: list[Encoding] = []
        problem: EmbeddingUnavailable | None = None
        for space in spaces:
            try:
                encodings += self._embedder.encode_query(text, [space])
            except EmbeddingUnavailable as unavailable:
                problem = unavailable
        if problem is not None and not encodings:
            raise problem
        return encodings

    async def _entities(self, bank_id: str, view: BankView, question: Question) -> Int32Array:
        if not len(view.entity_numbers) or not question.names:
            return np.empty(0, np.int32)
        found = await self._store.name_groups(bank_id, question.names, known_version(view))
        learn(view, found)
        return np.array(found.named, np.int32)


async def guarded(name: str, work: Coroutine[Any, Any, T], until: float) -> tuple[T | None, Missing | None]:
    """The result, or why there is none. Only what ends the recall, not an arm, is raised: BankNotFound and BankMoved.

    Args:
        until: reading of `time.monotonic` at which the work is given up.
    """
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            return await work, None
    except (BankNotFound, BankMoved):
        raise
    except TimeoutError as problem:
        return None, (ArmStatus.LATE, str(problem) or "no time was left")
    except EmbeddingUnavailable as problem:
        return None, (ArmStatus.FAILED, str(problem))
    except Exception as problem:  # whatever one input fails with (store, model, bad data), the other arms answer
        _log.exception("Recall goes on without its %s arm", name)
        return None, (ArmStatus.FAILED, type(problem).__name__)
