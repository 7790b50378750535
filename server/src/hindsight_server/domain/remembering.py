"""Remembering what was worked out of single words, within a bound of bytes rather than of entries alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")


def remembered(*, most: int, longest: int = 40) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Remember what a function gave for the last short texts. It is asked anew for longer ones.

    A word may be as long as a whole document, and some thousand of those would fill the memory.

    Args:
        most: texts that are remembered.
        longest: characters of such a text.

    Example:
        >>> @remembered(most=100)
        ... def shouted(word: str) -> str:
        ...     return word.upper()
        >>> shouted("hey")
        'HEY'
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def ask(text: str) -> T:
            return known(text) if len(text) <= longest else function(text)

        return ask

    return decorate
