"""Token budgets: which results fit, and how much of the last text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hindsight_server.ports.analyzer import TextAnalyzer

_MISSES = 20  # results that may fail to fit before the search for shorter ones ends: far down, little is relevant
_HALF = 0.5  # a text's count may be rounded down by this much


@lru_cache(maxsize=2048)
def line_tokens(number: int) -> float:
    """Tokens that the n-th of a list of results takes beyond its text: the digits, the full stop, the line end.

    Rounding included, so that a list ``1. ...\\n2. ...`` whose texts were counted one by one never has more in all.

    Example:
        >>> line_tokens(12), line_tokens(1000)
        (3.5, 4.5)
    """
    return (len(str(number)) + 2) // 3 + 2 + _HALF


def fitting(tokens: Sequence[float], budget: int) -> list[int]:
    """Positions that fit the budget as lines of a numbered list, taken in order.

    One that does not fit is passed over for shorter ones after it.

    Args:
        tokens: of the texts alone.

    Example:
        >>> fitting([5, 9, 3], budget=15)
        [0, 2]
    """
    taken: list[int] = []
    left, misses, line = float(budget), 0, line_tokens(1)
    for place, size in enumerate(tokens):
        if size + line <= left:
            taken.append(place)
            left -= size + line
            line = line_tokens(len(taken) + 1)
        else:
            misses += 1
        if misses > _MISSES or left <= line:
            break
    return taken


def list_tokens(tokens: Sequence[float]) -> int:
    """Tokens that these texts take at most as a numbered list."""
    return round(sum(tokens) + sum(map(line_tokens, range(1, len(tokens) + 1))))


def cut_to_tokens(text: str, budget: int, analyzer: TextAnalyzer) -> str:
    """The beginning of the text that has at most `budget` tokens, whole words where there are spaces."""
    if budget <= 0:
        return ""
    tokens = analyzer.count_tokens(text)
    if tokens <= budget:
        return text
    while text and tokens > budget:
        text = text[: min(len(text) - 1, int(len(text) * budget / tokens))]
        tokens = analyzer.count_tokens(text)
    head, space, _ = text.rpartition(" ")
    return head if space and head.strip() else text
