"""The embedder without a model."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hindsight_server.adapters.embed import hashing, make_embedder
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.domain.errors import EmbeddingUnavailable, InvalidInput

TEXTS = [
    "Ana: the ferry leaves at nine",
    "汇率换算 tool",
    "",
    "the",
    "🙂",
    "código, café",
    "\ud800 lone surrogate",
]


def test_a_text_alone_equals_the_same_text_among_others() -> None:
    together = HashingEmbedder().encode(TEXTS)
    for text, expected in zip(TEXTS, together, strict=True):
        alone = HashingEmbedder().encode([text])[0]
        assert alone.vector.tobytes() == expected.vector.tobytes()
        assert alone.tokens is not None
        assert expected.tokens is not None
        assert alone.tokens.words == expected.tokens.words
        assert alone.tokens.vectors.tobytes() == expected.tokens.vectors.tobytes()


def test_shapes_and_lengths() -> None:
    for encoding in HashingEmbedder().encode([*TEXTS, "word " * 10_000, " ".join(map(str, range(10_000)))]):
        assert encoding.space == "hashing-384"
        assert encoding.vector.shape == (384,)
        assert encoding.vector.dtype == np.float32
        assert np.linalg.norm(encoding.vector) == pytest.approx(1, abs=1e-5)
        assert encoding.tokens is not None
        assert encoding.tokens.vectors.shape == (len(encoding.tokens.words), 128)
        assert encoding.tokens.vectors.dtype == np.int8
        lengths = np.linalg.norm(encoding.tokens.vectors.astype(np.float32), axis=1)
        assert np.all(np.abs(lengths - 127) < 8)


def test_words_that_overflow_the_cache_do_not_change_what_comes_after() -> None:
    embedder = HashingEmbedder()
    before = embedder.encode(["a small blue boat"])[0].vector
    for start in range(0, 30_000, 3_000):
        embedder.encode([" ".join(f"w{n}" for n in range(start, start + 3_000))])
    assert embedder.encode(["a small blue boat"])[0].vector.tobytes() == before.tobytes()


def test_shared_words_rank_above_none() -> None:
    embedder = HashingEmbedder()
    query = embedder.encode_query("when do the ferries leave", ["hashing-384"])[0].vector
    near, far = embedder.encode(["the ferry leaves at nine", "she paints portraits in oil"])
    assert query @ near.vector > query @ far.vector + 0.2


def test_many_threads_agree_with_one() -> None:
    texts = [f"turn {n} about topic {n % 7}" for n in range(200)]
    expected = [encoding.vector.tobytes() for encoding in HashingEmbedder().encode(texts)]
    embedder = HashingEmbedder()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: embedder.encode([text])[0].vector.tobytes(), texts))
    assert found == expected


def test_without_tokens() -> None:
    assert HashingEmbedder(tokens=False).encode(["a blue boat"])[0].tokens is None


def test_an_unknown_space_is_named() -> None:
    with pytest.raises(EmbeddingUnavailable, match="minilm-l6-384"):
        HashingEmbedder().encode_query("x", ["minilm-l6-384"])


def test_an_unknown_provider_names_the_setting() -> None:
    with pytest.raises(InvalidInput, match="HINDSIGHT_API_EMBEDDINGS_PROVIDER"):
        make_embedder("openai")


def test_words_as_long_as_documents_are_encoded_and_not_kept() -> None:
    embedder = HashingEmbedder()
    before = embedder.encode(["red apples"])[0].vector
    texts = [letter * 10_000 + " apples" for letter in "abcdefghijklmnopqrst"]
    tracemalloc.start()
    try:
        alone = [embedder.encode([text])[0].vector for text in texts]
        snapshot = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    # Only what the embedder's own code asked for: threads of other tests may still be at work.
    ours = snapshot.filter_traces([tracemalloc.Filter(True, str(Path(hashing.__file__).with_name("*")))])
    assert sum(trace.size for trace in ours.traces) < 100_000
    assert np.array_equal(alone, [encoding.vector for encoding in embedder.encode(texts)])
    assert np.array_equal(embedder.encode(["red apples"])[0].vector, before)
