"""What turns text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
Int8Array = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The vectors of a text's words (stop words and punctuation left out), for late interaction (MaxSim).

    Args:
        words: the words, lower-cased and joined from their pieces; length n.
        vectors: unit vectors times 127, rounded; shape (n, token_dimension), int8.
    """

    words: tuple[str, ...]
    vectors: Int8Array


@dataclass(frozen=True, slots=True)
class Encoding:
    """One text encoded once: the pooled unit vector, and the token vectors where the space has them.

    `crossed` tells a vector that was made in another space and taken into this one: an approximation, worth less than a
    comparison in the space that it comes from.
    """

    space: str
    vector: Float32Array
    tokens: TokenVectors | None = None
    crossed: bool = False


class Embedder(Protocol):
    """One or more vector spaces; each text is encoded in the space of its script.

    Encoding a text alone or among others gives the same vector, so that what was stored can be reproduced.
    Methods block and are safe to call from several threads.
    """

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces this embedder can encode into: the default one first, last the one that takes every script."""
        ...

    def dimension(self, space: str) -> int:
        """Length of the pooled vectors of a space."""
        ...

    @property
    def ready(self) -> bool:
        """True once the default space is loaded."""
        ...

    @property
    def failure(self) -> str | None:
        """Why loading failed, or None."""
        ...

    def start(self) -> None:
        """Begin loading the default space in the background; returns at once."""
        ...

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the default space is loaded, at most `timeout` seconds; the new value of `ready`."""
        ...

    def space_of(self, text: str) -> str:
        """The space that `text` is encoded in, by its script."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode texts for storing, each in the space of its script, one encode a text."""
        ...

    def encode_query(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        """Encode a query in each of the given spaces, or a text to be stored in a further space than its script's."""
        ...
