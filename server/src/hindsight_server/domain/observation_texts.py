"""When two observations say the same thing. Pure functions."""

from __future__ import annotations

import re

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.numerals import find_numbers

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|stopped|quit|former|formerly)\b|n['’]t\b"
    r"|[不没沒无無非别別未勿]",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d_])[\w.-]+")


def plain_words(text: str) -> str:
    """The words of a text, folded, without punctuation."""
    return " ".join(_WORD.findall(fold(text)))


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts agree in everything that tells two facts apart although their words are alike.

    Numbers, words written with a capital, codes, and how often something is denied: "Ann likes tea" and "Ann does not
    like tea" are near each other in any vector space.
    """
    return plain_words(one) == plain_words(other) or _marks(one) == _marks(other)


def _marks(text: str) -> tuple[object, ...]:
    numbers = sorted(number.value for number in find_numbers(text))
    words = _WORD.findall(text)
    # The first word may have its capital from its place alone, but then it is the same word in both.
    capitals = sorted(fold(word) for word in words[1:] if word[0].isupper())
    first = fold(words[0]) if words and words[0][0].isupper() else ""
    return (numbers, first, capitals, sorted(map(fold, _CODE.findall(text))), len(_NEGATION.findall(text)))
