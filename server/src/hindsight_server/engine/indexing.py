"""The words and vectors under which a fact is found: shared by retain and by edits.

What is stored and shown stays verbatim; the speaker and the date of mention are added here, because questions name them
("What did Ann say in May?"). Measured on LoCoMo: without the date, pooled vectors alone lose a sixth of their recall.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.domain.model import FactType
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.embedder import Embedder, Encoding

_log = logging.getLogger(__name__)
_ENCODE_AT_ONCE = 64  # texts; between two such slices a cancelled request stops
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


class Indexable(Protocol):
    """Both `ExtractedFact` and `Fact` are."""

    @property
    def text(self) -> str: ...

    @property
    def fact_type(self) -> FactType: ...

    @property
    def speaker(self) -> str | None: ...

    @property
    def mentioned_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class IndexedWords:
    """Index terms with their frequencies, their number with repeats, and the tokens of the stored text."""

    terms: dict[str, int]
    length: int
    tokens: int


def indexed_text(fact: Indexable) -> str:
    """What is tokenized into index terms: ``Ann (7 May 2023): words``, ``words`` dated likewise when nobody speaks.

    Text in Chinese or Japanese gets its date in that form (``2023年5月7日``). An observation is found by its words
    alone: the day on which the last of its facts was said tells little of it.
    """
    words, speaker, said = fact.text, fact.speaker, fact.mentioned_at
    if said is None or fact.fact_type is FactType.OBSERVATION:
        return words
    if _HAN_OR_KANA.search(words):
        date = f"{said.year}年{said.month}月{said.day}日"
    else:
        date = f"{said.day} {_MONTHS[said.month - 1]} {said.year}"
    if speaker and words.startswith(speaker + ":"):
        return f"{speaker} ({date}){words[len(speaker) :]}"
    return f"({date}) {words}"


def embedded_text(fact: Indexable) -> str:
    """What is encoded into the fact's vectors: the same words as are indexed, in one encode."""
    return indexed_text(fact)


class Indexer:
    """Makes index terms and vectors of facts.

    Args:
        wait_seconds: how long to wait for a model that is still loading; after that facts are stored without vectors,
            and found by words only.

    Attributes:
        unencoded_facts: facts that got no vector since the start, because no model could encode them.
    """

    def __init__(self, analyzer: TextAnalyzer, embedder: Embedder, *, wait_seconds: float = 10.0) -> None:
        self._analyzer = analyzer
        self._embedder = embedder
        self._wait_seconds = wait_seconds
        self.unencoded_facts = 0

    def words(self, fact: Indexable) -> IndexedWords:
        """Terms, length and tokens of a fact; blocking, some tens of microseconds."""
        terms = self._analyzer.index_terms(indexed_text(fact))
        return IndexedWords(dict(Counter(terms)), len(terms), self._analyzer.count_tokens(fact.text))

    async def encode(self, texts: Sequence[str]) -> list[Encoding | None]:
        """An encoding for each text, made in worker threads; None for those that no model could encode."""
        if not texts:
            return []
        failed: dict[str, str] = {}
        if not self._embedder.ready and not await asyncio.to_thread(self._embedder.wait_ready, self._wait_seconds):
            failed[self._embedder.spaces[0]] = self._embedder.failure or "its model is still being loaded"
        encodings = await self._encode(texts, failed)
        self._tell(encodings, failed)
        return encodings

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._embedder.ready

    def encode_few(self, texts: Sequence[str]) -> list[Encoding | None]:
        """As `encode`, of a few texts in the caller's thread, once the model `is_ready`."""
        failed: dict[str, str] = {}
        encodings = self._encode_slice(texts, failed)
        self._tell(encodings, failed)
        return encodings

    def _tell(self, encodings: Sequence[Encoding | None], failed: Mapping[str, str]) -> None:
        if not failed:
            return
        missing = sum(encoding is None for encoding in encodings)
        self.unencoded_facts += missing
        reasons = "; ".join(f"space '{space}': {reason}" for space, reason in failed.items())
        _log.warning(
            "%d facts get no vector and are found by words only, until the model is there again; %s", missing, reasons
        )

    async def encode_later(self, texts: Sequence[str]) -> list[Encoding | None]:
        """Encode what could not be encoded before: without waiting for a model, and without a warning when it fails."""
        return await self._encode(texts, {}) if self._embedder.ready else [None] * len(texts)

    async def _encode(self, texts: Sequence[str], failed: dict[str, str]) -> list[Encoding | None]:
        encodings: list[Encoding | None] = []
        for start in range(0, len(texts), _ENCODE_AT_ONCE):
            encodings += await asyncio.to_thread(self._encode_slice, texts[start : start + _ENCODE_AT_ONCE], failed)
        return encodings

    def _encode_slice(self, texts: Sequence[str], failed: dict[str, str]) -> list[Encoding | None]:
        """Encode texts; a space that fails is noted in `failed`, and leaves only its own texts without a vector."""
        if not failed:
            try:
                return [*self._embedder.encode(texts)]
            except EmbeddingUnavailable:
                _log.debug("encoding space by space, to find the one that fails", exc_info=True)
        by_space: defaultdict[str, list[int]] = defaultdict(list)
        for position, text in enumerate(texts):
            by_space[self._embedder.space_of(text)].append(position)
        encodings: list[Encoding | None] = [None] * len(texts)
        for space, positions in by_space.items():
            if space in failed:
                continue
            try:
                made = self._embedder.encode([texts[position] for position in positions])
            except EmbeddingUnavailable as error:
                failed[space] = str(error)
            else:
                for position, encoding in zip(positions, made, strict=True):
                    encodings[position] = encoding
        return encodings
