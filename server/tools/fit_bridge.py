"""Fit the map from the multilingual space into the English one (`adapters/embed/bridge.py`).

Run it after `convert_minilm.py`, with the server's own requirements installed; some five minutes::

    PYTHONPATH=server/src python server/tools/fit_bridge.py

Each text is encoded in both spaces, and ridge regression takes one to the other. The text is small talk of our own
(`sentences.py`) whose names and things are words of the tokenizer's vocabulary, so that the map learns words rather
than sayings. A last part is kept back to see how often a mapped vector is nearest to its own text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sentences import sentences

from hindsight_server.adapters.embed import bridge, minilm
from hindsight_server.adapters.embed.minilm import MiniLMEmbedder
from hindsight_server.adapters.embed.use import UseEmbedder
from hindsight_server.adapters.embed.words import STOP_WORDS

SENTENCES = 12_000
KEPT_BACK = 1000
VOCABULARY = 15_000  # the tokenizer lists the commoner words first
PENALTY = 3.0

Array = npt.NDArray[np.float64]


def corpus() -> list[str]:
    known = json.loads((minilm.DATA / minilm.TOKENIZER_FILE).read_text())["model"]["vocab"]
    words = [word for word in known if re.fullmatch("[a-z]{3,}", word) and word not in STOP_WORDS]
    return list(sentences(SENTENCES, seed=2, words=words[:VOCABULARY]))


def encoded(embedder: MiniLMEmbedder | UseEmbedder, texts: list[str]) -> Array:
    embedder.load()
    return np.stack([embedder.encode(text).vector for text in texts]).astype(np.float64)


def fitted(source: Array, target: Array) -> Array:
    """Ridge regression with an unpenalised offset, which is the last row."""
    means = source.mean(axis=0), target.mean(axis=0)
    centred = source - means[0]
    matrix = np.linalg.solve(centred.T @ centred + PENALTY * np.eye(source.shape[1]), centred.T @ (target - means[1]))
    return np.concatenate([matrix, (means[1] - means[0] @ matrix)[None]])


def first_hits(whole: Array, source: Array, target: Array) -> float:
    """How often a mapped vector is nearest to its own text among the targets."""
    mapped = source @ whole[:-1] + whole[-1]
    return float((np.argmax(mapped @ target.T, axis=1) == np.arange(len(target))).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the map from the multilingual space into the English one.")
    parser.add_argument("--output", type=Path, default=bridge.PATH)
    output = parser.parse_args().output
    texts = corpus()
    english, multilingual = encoded(MiniLMEmbedder(), texts), encoded(UseEmbedder(), texts)
    part = fitted(multilingual[:-KEPT_BACK], english[:-KEPT_BACK])
    np.save(output, fitted(multilingual, english).astype(np.float16))
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}")
    print(f"corpus {hashlib.sha256(chr(10).join(texts).encode()).hexdigest()}")
    print(f"nearest to its own text: {first_hits(part, multilingual[-KEPT_BACK:], english[-KEPT_BACK:]):.1%}")
    print(f"written {output} {hashlib.sha256(output.read_bytes()).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
