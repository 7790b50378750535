"""The bundled models themselves: what they understand, and that they repeat themselves bit by bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hindsight_server.adapters.embed.minilm import DATA, SHA256, MiniLMEmbedder
from hindsight_server.adapters.embed.use import UseEmbedder
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.ports.embedder import Encoding, Float32Array

TEXTS = [
    "Ana (3 May 2021): We sold the old boat and bought a tent.",
    "",
    "   ",
    "who is it?",
    "naïve café, déjà vu",
    "🙂🙂",
    "\ud800 a lone surrogate",
    "[CLS] [SEP] are words here",
    "汇率换算",
    "word " * 10_000,
    "x" * 100_000,
    " ".join(map(str, range(10_000))),
]


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    model = MiniLMEmbedder()
    model.load()
    return model


@pytest.fixture(scope="module")
def use() -> UseEmbedder:
    model = UseEmbedder()
    model.load()
    return model


def _same(one: Encoding, other: Encoding) -> bool:
    if one.vector.tobytes() != other.vector.tobytes() or (one.tokens is None) != (other.tokens is None):
        return False
    if one.tokens is None or other.tokens is None:
        return True
    return one.tokens.words == other.tokens.words and np.array_equal(one.tokens.vectors, other.tokens.vectors)


def _ranking(model: MiniLMEmbedder | UseEmbedder, query: str, texts: list[str]) -> list[int]:
    vector = model.encode(query).vector
    scores = [float(vector @ model.encode(text).vector) for text in texts]
    return sorted(range(len(texts)), key=lambda i: -scores[i])


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:12]))
def test_minilm_shapes_and_lengths(minilm: MiniLMEmbedder, text: str) -> None:
    encoding = minilm.encode(text)
    assert encoding.space == "minilm-l6-384"
    assert encoding.vector.shape == (384,)
    assert encoding.vector.dtype == np.float32
    assert np.linalg.norm(encoding.vector) == pytest.approx(1, abs=1e-5)
    assert encoding.tokens is not None
    assert encoding.tokens.vectors.shape == (len(encoding.tokens.words), 128)
    assert encoding.tokens.vectors.dtype == np.int8
    lengths = np.linalg.norm(encoding.tokens.vectors.astype(np.float32), axis=1)
    assert np.all(np.abs(lengths - 127) < 5)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:12]))
def test_use_shapes_and_lengths(use: UseEmbedder, text: str) -> None:
    encoding = use.encode(text)
    assert encoding.space == "use-multilingual-512"
    assert encoding.vector.shape == (512,)
    assert encoding.vector.dtype == np.float32
    assert np.linalg.norm(encoding.vector) == pytest.approx(1, abs=1e-5)
    assert encoding.tokens is None


def test_words_are_whole_lower_cased_and_worth_a_vector(minilm: MiniLMEmbedder) -> None:
    tokens = minilm.encode("The Kubernetes upgrade, however, didn't break Dilara's 3 pipelines! 🙂").tokens
    assert tokens is not None
    assert tokens.words == ("kubernetes", "upgrade", "however", "break", "dilara", "3", "pipelines")


def test_token_vectors_see_their_context(minilm: MiniLMEmbedder) -> None:
    def bank_beside(text: str) -> Float32Array:
        tokens = minilm.encode(text).tokens
        assert tokens is not None
        return np.asarray(tokens.vectors[tokens.words.index("bank")] / 127, np.float32)

    river = bank_beside("We sat on the bank of the river and fished.")
    shore = bank_beside("The canoe drifted to the bank of the stream.")
    money = bank_beside("The bank raised the interest of my savings account.")
    assert river @ shore > river @ money + 0.1


def test_many_threads_agree_with_one(minilm: MiniLMEmbedder, use: UseEmbedder) -> None:
    texts = [f"{text[:200]} {n}" for n, text in enumerate(TEXTS * 3)]
    for model in (minilm, use):
        expected = [model.encode(text) for text in texts]
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(model.encode, texts))
        assert all(map(_same, found, expected))


def test_loading_again_gives_the_same_bits(minilm: MiniLMEmbedder, use: UseEmbedder) -> None:
    for model, again in ((minilm, MiniLMEmbedder()), (use, UseEmbedder())):
        again.load()
        assert _same(model.encode(TEXTS[0]), again.encode(TEXTS[0]))


def test_a_processor_that_saturates_gets_the_same_vectors(
    minilm: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindsight_server.adapters.embed.minilm._saturates", lambda probe: True)
    wide = MiniLMEmbedder()
    wide.load()
    assert float(wide.encode(TEXTS[0]).vector @ minilm.encode(TEXTS[0]).vector) > 0.9999


ENGLISH = [
    "My sister adopted a puppy from the shelter.",
    "The physician told me to rest my ankle for a month.",
    "The invoice must be paid before the end of the quarter.",
    "We spent our holiday hiking in the mountains.",
    "He repaired the car's engine by himself.",
    "The server ran out of memory and crashed at night.",
]
CHINESE = [
    "我姐姐从收容所领养了一只小狗。",
    "医生让我的脚踝休息一个月。",
    "这张发票必须在季度结束前付款。",
    "我们假期去山里徒步旅行了。",
    "他自己修好了汽车的发动机。",
    "服务器夜里内存不足，崩溃了。",
]
PARAPHRASES = [
    ("Who got a young dog?", "谁收养了幼犬？", 0),
    ("What did the doctor say about the injury?", "大夫对受伤的脚说了什么？", 1),
    ("When is the bill due?", "账单什么时候要付？", 2),
    ("Where did they go on vacation?", "他们度假去了哪里？", 3),
    ("Who fixed the automobile?", "谁修理了车子？", 4),
    ("Why did the machine go down?", "机器为什么宕机？", 5),
]


@pytest.mark.parametrize(("english", "_chinese", "wanted"), PARAPHRASES, ids=lambda value: str(value)[:20])
def test_minilm_finds_english_paraphrases(minilm: MiniLMEmbedder, english: str, _chinese: str, wanted: int) -> None:
    assert _ranking(minilm, english, ENGLISH)[0] == wanted


def test_use_finds_paraphrases_within_and_across_languages(use: UseEmbedder) -> None:
    first = {"zh→zh": 0, "en→zh": 0, "zh→en": 0}
    for english, chinese, wanted in PARAPHRASES:
        first["zh→zh"] += _ranking(use, chinese, CHINESE)[0] == wanted
        first["en→zh"] += _ranking(use, english, CHINESE)[0] == wanted
        first["zh→en"] += _ranking(use, chinese, ENGLISH)[0] == wanted
    assert min(first.values()) >= 4, first  # of 6; by chance it would be 1


@pytest.mark.parametrize("name", SHA256)
def test_a_damaged_or_missing_file_is_named(tmp_path: Path, name: str) -> None:
    for other in SHA256:
        if other != name:
            (tmp_path / other).symlink_to(DATA / other)
    with pytest.raises(EmbeddingUnavailable, match=f"'{name}' can't be read"):
        MiniLMEmbedder(tmp_path).load()
    content = bytearray((DATA / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbeddingUnavailable, match=f"'{name}' is damaged"):
        MiniLMEmbedder(tmp_path).load()


def test_the_converted_model_multiplies_integers() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is needed to build the model only")
    graph = onnx.load(DATA / "minilm-l6-int8.onnx").graph
    products = [node for node in graph.node if node.op_type == "MatMulInteger"]
    assert len(products) == 24
    assert {node.input[1] for node in products} <= {weights.name for weights in graph.initializer}
