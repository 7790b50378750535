"""An embedder without a model: hashed words and letter triples. Fast, and blind to meaning."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from zlib import crc32

import numpy as np

from hindsight_server.adapters.embed.words import content_words
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.ports.embedder import Encoding, Float32Array, Int8Array, TokenVectors

_TOKEN_DIMENSION = 128
_CACHED_WORDS = 8192
_LONGEST_CACHED = 64  # characters
_WORD_WEIGHT = 3  # against 1 for each letter triple: inflected forms come close, other words do not


class HashingEmbedder:
    """Feature hashing of words and of their letter triples (Weinberger et al. 2009), with signed buckets.

    All sums are of small whole numbers, so that they are exact and no order of texts or
    threads changes a bit.

    Args:
        dimension: length of the pooled vectors; a multiple of 128 (the token vectors are folded out of them).
        tokens: whether encodings carry token vectors.
    """

    def __init__(self, *, dimension: int = 384, tokens: bool = True) -> None:
        if dimension <= 0 or dimension % _TOKEN_DIMENSION:
            raise ValueError(f"dimension must be a positive multiple of {_TOKEN_DIMENSION}, not {dimension}")
        self._dimension = dimension
        self._tokens = tokens
        self._space = f"hashing-{dimension}"
        self._lock = Lock()
        self._rows: dict[str, int] = {}
        self._sums = np.zeros((_CACHED_WORDS, dimension), np.float32)
        self._units = np.zeros((_CACHED_WORDS, _TOKEN_DIMENSION), np.int8)

    @property
    def spaces(self) -> tuple[str, ...]:
        """The one space, ``hashing-384`` by default."""
        return (self._space,)

    def dimension(self, space: str) -> int:
        """Length of the pooled vectors; `EmbeddingUnavailable` for any other space."""
        self._check(space)
        return self._dimension

    @property
    def ready(self) -> bool:
        """Always: there is nothing to load."""
        return True

    @property
    def failure(self) -> str | None:
        """Never any."""
        return None

    def start(self) -> None:
        """Nothing to do."""

    def wait_ready(self, timeout: float) -> bool:
        """True at once."""
        return True

    def space_of(self, text: str) -> str:
        """The one space."""
        return self._space

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode texts; some tens of microseconds each."""
        split = [content_words(text) for text in texts]
        with self._lock:
            self._learn({word for words in split for word in words})
            return [self._encode_one(words) for words in split]

    def encode_query(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        """Encode a query; `EmbeddingUnavailable` if a space is not this embedder's."""
        for space in spaces:
            self._check(space)
        return self.encode([text]) * len(spaces)

    def _check(self, space: str) -> None:
        if space != self._space:
            raise EmbeddingUnavailable(f"Embedding space '{space}' is unknown; this embedder has '{self._space}'.")

    def _encode_one(self, words: list[str]) -> Encoding:
        # A text without any word still gets a unit vector: that of the empty word.
        sums, units = self._gather(words or [""])
        pooled = sums.sum(axis=0)
        norm = np.sqrt(pooled @ pooled)
        vector = pooled / norm if norm else self._gather([""])[0][0] / np.float32(_WORD_WEIGHT)
        if not self._tokens:
            return Encoding(self._space, vector)
        # Of a word said again there is nothing more to match, and of some texts a word is most of them.
        first = {word: at for at, word in reversed(list(enumerate(words)))}
        kept = sorted(first.values())
        return Encoding(self._space, vector, TokenVectors(tuple(words[at] for at in kept), units[kept]))

    def _gather(self, words: list[str]) -> tuple[Float32Array, Int8Array]:
        """Sums and unit vectors of the words, a row each; beside the cache when they are not for it."""
        distinct = set(words)
        known, sums, units = self._rows, self._sums, self._units
        if not self._learn(distinct):
            known = {word: row for row, word in enumerate(distinct)}
            sums, units = _word_vectors(list(distinct), self._dimension)
        rows = np.fromiter(map(known.__getitem__, words), np.intp, len(words))
        return sums.take(rows, axis=0), units.take(rows, axis=0)

    def _learn(self, distinct: set[str]) -> bool:
        """Have the words in the cache; False when they are too many for it, or too long."""
        missing = [word for word in distinct if word not in self._rows]
        if any(len(word) > _LONGEST_CACHED for word in missing):
            return False
        if len(self._rows) + len(missing) > _CACHED_WORDS:
            if len(distinct) > _CACHED_WORDS:
                return False
            self._rows.clear()
            missing = list(distinct)
        if missing:
            first = len(self._rows)
            fresh = slice(first, first + len(missing))
            self._sums[fresh], self._units[fresh] = _word_vectors(missing, self._dimension)
            self._rows.update(zip(missing, range(first, first + len(missing)), strict=True))
        return True


def _word_vectors(words: list[str], dimension: int) -> tuple[Float32Array, Int8Array]:
    """Sums, shape (n, dimension), and unit vectors, shape (n, 128), of words; worked out together, since one by one
    the calls cost ten times the arithmetic."""
    places: list[int] = []
    weights: list[int] = []
    for row, word in enumerate(words):
        marked = f"<{word}>"
        pieces = [marked]
        if len(word) > 2:
            pieces += [marked[i : i + 3] for i in range(len(marked) - 2)]
        for piece in pieces:
            digest = crc32(piece.encode("utf-8", "surrogatepass"))
            weight = _WORD_WEIGHT if piece is marked else 1
            places.append(row * dimension + digest % dimension)
            weights.append(weight if digest >> 31 else -weight)
    sums = np.bincount(places, weights, len(words) * dimension).astype(np.float32).reshape(len(words), dimension)
    folded = sums.reshape(len(words), -1, _TOKEN_DIMENSION).sum(axis=1)
    norms = np.sqrt((folded * folded).sum(axis=1, keepdims=True))
    scale = np.divide(np.float32(127), norms, out=np.zeros_like(norms), where=norms > 0)
    return sums, np.rint(folded * scale).astype(np.int8)
