"""Texts of a size or shape that nobody writes: floods, padding, encoded files."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from hindsight_server.domain.defence.findings import narrowed

_UNBROKEN = re.compile("[A-Za-z0-9+/=_-]++")
_LEAST_REPETITION = 5_000  # characters; shorter texts that repeat themselves do no harm


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """What an item may look like.

    Args:
        max_chars: characters of an item, its context and metadata included.
        max_same_character: the same character in a row, white space and line-drawing included.
        max_unbroken: letters and digits in a row without any space (an encoded file). Only those of ASCII count:
            Chinese and Japanese put no spaces between words.
        min_variety: compressed size by plain size (zlib, level 1) of texts over 5,000 characters; prose lies at 0.3 to
            0.6, one page copied a hundred times at 0.01.
    """

    max_chars: int = 200_000
    max_same_character: int = 1_000
    max_unbroken: int = 5_000
    min_variety: float = 0.02


def size_anomalies(text: str, limits: SizeLimits) -> Iterator[str]:
    """What is wrong with the size or shape of a text, each as the end of a sentence that begins with "it".

    Example:
        >>> list(size_anomalies("a" * 20, SizeLimits(max_chars=10)))
        ['has 20 characters, more than 10']
    """
    if len(text) > limits.max_chars:
        yield f"has {len(text)} characters, more than {limits.max_chars}"
    if _has_run(text, limits.max_same_character + 1, re.compile(r"(.)\1*+", re.DOTALL)):
        yield f"repeats one character more than {limits.max_same_character} times"
    if _has_run(narrowed(text), limits.max_unbroken + 1, _UNBROKEN):
        yield f"holds more than {limits.max_unbroken} letters and digits without a space"
    if len(text) >= _LEAST_REPETITION:
        plain = text.encode("utf-8", "replace")
        if len(zlib.compress(plain, 1)) < limits.min_variety * len(plain):
            yield f"repeats itself: it compresses to less than {limits.min_variety:g} of its size"


def _has_run(text: str, length: int, run: re.Pattern[str]) -> bool:
    """Whether a run of at least `length` characters is in the text.

    Such a run fills one of the pieces of half that length from end to end; only around those is looked more closely.
    """
    half = max(1, length // 2)
    for start in range(0, len(text) - length + 1 + half, half):
        if run.fullmatch(text, start, min(start + half, len(text))) is None:
            continue
        around = text[max(0, start - length) : start + length]
        if any(match.end() - match.start() >= length for match in run.finditer(around)):
            return True
    return False
