"""Fit the matrix that takes word vectors of the bundled encoder from 384 to 128 dimensions.

Run it after `convert_minilm.py`, with the server's own requirements installed::

    PYTHONPATH=server/src python server/tools/fit_projection.py

The text is small talk of our own (`sentences.py`) whose names and things are words drawn from the tokenizer's
vocabulary, so that the words vary as widely as the model knows them. The matrix holds the leading principal components
of the words' vectors (Jolliffe, Principal Component Analysis, 2002), without the mean: what all words share tells none
apart. Components of prose about software, or of small talk with few words, ranked worse than random directions.
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
import onnxruntime
from sentences import sentences

from hindsight_server.adapters.embed import minilm
from hindsight_server.adapters.embed.wordpiece import WordPiece
from hindsight_server.adapters.embed.words import STOP_WORDS

DIMENSION = 128
SENTENCES = 6000
VOCABULARY = 15_000  # the tokenizer lists the commoner words first


def corpus() -> list[str]:
    known = json.loads((minilm.DATA / minilm.TOKENIZER_FILE).read_text())["model"]["vocab"]
    words = [word for word in known if re.fullmatch("[a-z]{3,}", word) and word not in STOP_WORDS]
    return list(sentences(SENTENCES, seed=1, words=words[:VOCABULARY]))


def word_vectors(texts: list[str]) -> npt.NDArray[np.float32]:
    """Every word's vector of every text, at unit length."""
    wordpiece = WordPiece.from_file(minilm.DATA / minilm.TOKENIZER_FILE, limit=256)
    session = onnxruntime.InferenceSession(str(minilm.DATA / minilm.MODEL_FILE), providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        pieces = wordpiece.encode(text)
        states = session.run(None, {"input_ids": np.array(pieces.ids, np.int64)})[0]
        if pieces.spans:
            rows.append(minilm.word_means(states, pieces.spans))
    vectors: npt.NDArray[np.float32] = np.concatenate(rows)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def principal_components(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
    """The leading directions as columns, signs fixed, and the share of the variance that they hold."""
    values, directions = np.linalg.eigh(np.cov(vectors.astype(np.float64), rowvar=False))
    leading = directions[:, ::-1][:, :DIMENSION]
    largest = np.abs(leading).argmax(axis=0)
    leading = leading * np.sign(leading[largest, np.arange(DIMENSION)])
    return leading.astype(np.float32), float(values[::-1][:DIMENSION].sum() / values.sum())


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the projection of word vectors.")
    parser.add_argument("--output", type=Path, default=minilm.DATA / minilm.PROJECTION_FILE)
    output = parser.parse_args().output
    texts = corpus()
    vectors = word_vectors(texts)
    matrix, share = principal_components(vectors)
    np.save(output, matrix)
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, onnxruntime {onnxruntime.__version__}")
    print(f"corpus {hashlib.sha256(chr(10).join(texts).encode()).hexdigest()}")
    print(f"{len(texts)} texts, {len(vectors)} words; {DIMENSION} components hold {share:.1%} of the variance")
    print(f"written {output} {hashlib.sha256(output.read_bytes()).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
