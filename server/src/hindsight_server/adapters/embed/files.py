"""Model files are checked against pinned hashes: a vector space is only as stable as the bytes behind it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hindsight_server.domain.errors import EmbeddingUnavailable


def check_file(path: Path, sha256: str) -> Path:
    """The path again, once its content has the expected hash.

    Raises:
        EmbeddingUnavailable: the file is missing, unreadable or not the one expected; names file and remedy.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingUnavailable(
            f"Model file '{path.name}' can't be read ({error.strerror}); install the package again."
        ) from error
    if found != sha256:
        raise EmbeddingUnavailable(
            f"Model file '{path.name}' is damaged or another version: its sha256 is {found}, "
            f"expected {sha256}; install the package again."
        )
    return path


def encodable(text: str) -> str:
    """The text without lone surrogates, which no tokenizer accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
