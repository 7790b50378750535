"""Questions in other scripts than Latin find English texts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.embed.bridge import PATH, Bridge
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.ports.embedder import Embedder

ENGLISH, MULTILINGUAL = "minilm-l6-384", "use-multilingual-512"
TEXTS = [
    "The office moves to the old harbour next spring.",
    "My sister is allergic to peanuts.",
    "The invoice was paid by credit card on Friday.",
    "We repaired the roof after the storm.",
    "He plays the violin in a small orchestra.",
    "The train to the airport was two hours late.",
]
ASKED = [
    ("办公室要搬到哪里？", 0),
    ("谁对花生过敏？", 1),
    ("发票是怎么付款的？", 2),
    ("暴风雨之后修了什么？", 3),
    ("На каком инструменте он играет в оркестре?", 4),
    ("공항 가는 기차가 얼마나 늦었어요?", 5),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return make_embedder("local")


@pytest.mark.feature("S6")
@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_a_question_in_another_script_is_nearest_to_the_english_text_that_answers_it(
    embedder: Embedder, question: str, answer: int
) -> None:
    matrix = np.stack([encoding.vector for encoding in embedder.encode(TEXTS)])
    (asked,) = embedder.encode_query(question, [ENGLISH])
    assert asked.space == ENGLISH
    assert asked.tokens is None
    assert float(asked.vector @ asked.vector) == pytest.approx(1, abs=1e-5)
    assert int(np.argmax(matrix @ asked.vector)) == answer


def test_only_what_the_english_space_does_not_understand_crosses(embedder: Embedder) -> None:
    alone, both = (
        embedder.encode_query("谁对花生过敏？", [ENGLISH]),
        embedder.encode_query("谁对花生过敏？", [MULTILINGUAL, ENGLISH]),
    )
    assert [encoding.space for encoding in both] == [MULTILINGUAL, ENGLISH]
    assert both[1].vector.tobytes() == alone[0].vector.tobytes()
    assert both[0].vector.tobytes() == embedder.encode(["谁对花生过敏？"])[0].vector.tobytes()
    (english,) = embedder.encode_query("Who is allergic?", [ENGLISH])
    assert english.vector.tobytes() == embedder.encode(["Who is allergic?"])[0].vector.tobytes()


def test_a_damaged_or_missing_map_says_so(tmp_path: Path) -> None:
    copy = tmp_path / PATH.name
    shutil.copy(PATH, copy)
    copy.write_bytes(copy.read_bytes()[:-1])
    for path in (copy, tmp_path / "none.npy"):
        with pytest.raises(EmbeddingUnavailable, match=r"install the package again"):
            Bridge(path)(np.ones(512, np.float32))
