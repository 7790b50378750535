"""Token budgets: which results fit, and how much of the last text."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.ports.analyzer import TextAnalyzer

_MISSES = 20  # results that may fail to fit before the search for shorter ones ends: far down, little is relevant


def fitting(tokens: Sequence[int], budget: int) -> list[int]:
    """Positions that fit the budget, taken in order; one that does not fit is passed over for shorter ones after it.

    Example:
        >>> fitting([5, 9, 3], budget=10)
        [0, 2]
    """
    taken: list[int] = []
    left, misses = budget, 0
    for place, size in enumerate(tokens):
        if size <= left:
            taken.append(place)
            left -= size
        else:
            misses += 1
        if misses > _MISSES or left <= 0:
            break
    return taken


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
