"""English sentences and their words: all-MiniLM-L6-v2, int8, from files inside this package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING

import numpy as np

from hindsight_server.adapters.embed.files import check_file, encodable
from hindsight_server.adapters.embed.wordpiece import WordPiece
from hindsight_server.ports.embedder import Encoding, Float32Array, TokenVectors

if TYPE_CHECKING:
    import onnxruntime

DATA = Path(__file__).parent / "data"
MODEL_FILE = "minilm-l6-int8.onnx"
TOKENIZER_FILE = "minilm-tokenizer.json"
PROJECTION_FILE = "minilm-projection.npy"
PROBE_FILE = "saturation-probe.onnx"
SHA256 = {
    MODEL_FILE: "b4e28829d577e5bc8d85f8ca31fbe22b6626969597b3dc8c9a03663343e55aca",
    TOKENIZER_FILE: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    PROJECTION_FILE: "e180aa3d06ce0e9af5a480661169cb89ce762efa3fc544d48adc2a94b3d3e3c7",
    PROBE_FILE: "2714275842dccba76dc9d3cc3aa973dd6e809a032d529200cc535a135302461e",
}

_MAX_TOKENS = 256  # the length that the model was trained with
_MAX_CHARACTERS = 8192  # more can't matter to 256 tokens of ordinary text; bounds the tokenizer's work
_RUNS_AT_ONCE = 2  # a run of 256 tokens takes some 20 MB; many request threads must not take it many times
_ERRORS_ONLY = 3


class MiniLMEmbedder:
    """The space ``minilm-l6-384``; `load` reads the files, before that nothing is imported or opened.

    A text is encoded alone, cut to 256 tokens. Its vector is the mean of its token states at unit length; its token
    vectors come from the same run (see `TokenVectors`).

    Args:
        folder: where the model files are; the ones of this package by default.
    """

    space = "minilm-l6-384"
    dimension = 384

    def __init__(self, folder: Path = DATA) -> None:
        self._folder = folder
        self._slots = Semaphore(_RUNS_AT_ONCE)
        self._session: onnxruntime.InferenceSession
        self._pieces: WordPiece
        self._projection: Float32Array

    def load(self) -> None:
        """Check and open the model; some 0.2 seconds and 80 MB of memory.

        Raises:
            EmbeddingUnavailable: a file is missing or not the one expected.
        """
        paths = {name: check_file(self._folder / name, sha256) for name, sha256 in SHA256.items()}
        self._session = _open(paths[MODEL_FILE], wide_products=_saturates(paths[PROBE_FILE]))
        self._projection = np.load(paths[PROJECTION_FILE], allow_pickle=False)
        self._pieces = WordPiece.from_file(paths[TOKENIZER_FILE], limit=_MAX_TOKENS)

    def encode(self, text: str) -> Encoding:
        """Encode one text, once loaded; some 5 ms for 50 tokens, from any thread."""
        pieces = self._pieces.encode(encodable(text[:_MAX_CHARACTERS]))
        ids = np.array(pieces.ids, np.int64)
        with self._slots:
            states: Float32Array = self._session.run(None, {"input_ids": ids})[0]
        pooled = states.mean(axis=0)
        pooled /= np.sqrt(pooled @ pooled)
        return Encoding(self.space, pooled, self._token_vectors(pieces.words, pieces.spans, states))

    def _token_vectors(
        self, words: tuple[str, ...], spans: Sequence[tuple[int, int]], states: Float32Array
    ) -> TokenVectors:
        if not words:
            return TokenVectors((), np.zeros((0, self._projection.shape[1]), np.int8))
        projected = word_means(states, spans) @ self._projection
        projected *= 127 / np.sqrt(np.einsum("ij,ij->i", projected, projected))[:, None]
        return TokenVectors(words, np.rint(projected).astype(np.int8))


def _open(path: Path, *, wide_products: bool) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    # One thread a run: two are 20 % faster but take 30 % more processor time from everything else.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Texts differ in length: the arena would keep the memory of the longest for ever.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    if wide_products:
        options.add_session_config_entry("session.x64quantprecision", "1")
    # By path: from bytes the file would be held in memory twice.
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _saturates(probe: Path) -> bool:
    """Whether this processor's fast int8 products overflow (x86 before VNNI); the exact ones take twice the time."""
    values = np.full((4, 64), 255, np.uint8)
    sums = _open(probe, wide_products=False).run(None, {"values": values})[0]
    return bool((sums != 255 * 127 * 64).any())


def word_means(states: Float32Array, spans: Sequence[tuple[int, int]]) -> Float32Array:
    """The mean of the token states of each span of pieces; a row a span."""
    means: Float32Array = states.take([start for start, _ in spans], axis=0)
    for row, (start, end) in enumerate(spans):
        if end - start > 1:  # most words are one piece
            means[row] = states[start:end].mean(axis=0)
    return means
