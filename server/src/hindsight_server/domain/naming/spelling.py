"""Writings of one word: other alphabets in Latin letters, transliterations that differ, and slips of the keyboard."""

from __future__ import annotations

import re

_LETTERS = """
а:a б:b в:v г:g д:d е:e ё:e ж:zh з:z и:i й:y к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh ц:ts ч:ch ш:sh щ:shch ъ:
ы:y ь: э:e ю:yu я:ya і:i ї:yi є:ye ґ:g
α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o
ά:a έ:e ή:i ί:i ό:o ύ:y ώ:o ϊ:i ϋ:y ΐ:i ΰ:y
"""
_LATIN = str.maketrans({letter: plain for letter, plain in (pair.split(":") for pair in _LETTERS.split())})
_DIGRAPHS = (("ου", "ou"), ("μπ", "b"), ("ντ", "nt"), ("γγ", "ng"))

# How one name of Russian, Arabic, Turkish or Indian origin is spelt in Latin letters differs in these alone.
_ALIKE = (
    (re.compile("[ou]u|oo"), "u"),
    (re.compile("(?<=[aeo])[iy]{1,2}|[iy]{1,2}j?|ij|ee"), "i"),
    (re.compile("kh|(?<=[aeiou])h(?![aeiou])"), "h"),
    (re.compile(r"([b-df-hj-np-tv-z])\1"), r"\1"),
    (re.compile("mohamad|mohamed|muhamad|muhamed|mahomed|mehmed"), "muhamad"),
    (re.compile("ei"), "i"),
    (re.compile("ou"), "u"),
)
_SHORTEST_SLIP = 6


def in_latin(text: str) -> str:
    """Lower-case Cyrillic and Greek in Latin letters; other signs stay.

    Example:
        >>> in_latin("дмитрий орлов")
        'dmitriy orlov'
    """
    if text.isascii():
        return text
    for pair, plain in _DIGRAPHS:
        text = text.replace(pair, plain)
    return text.translate(_LATIN)


def skeleton(word: str) -> str:
    """Equal for common transliterations of one name.

    Example:
        >>> skeleton("sergei") == skeleton("sergey"), skeleton("yousuf") == skeleton("yusuf")
        (True, True)
    """
    for pattern, plain in _ALIKE:
        word = pattern.sub(plain, word)
    return word


def is_slip(one: str, other: str) -> bool:
    """Whether two long words differ by two letters swapped or one letter doubled: slips, seldom two surnames.

    Example:
        >>> is_slip("ashworth", "ashwroth"), is_slip("clarkson", "clarkston")
        (True, False)
    """
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST_SLIP or len(long) - len(short) > 1 or one == other:
        return False
    at = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) == len(long):
        return short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return short[at:] == long[at + 1 :] and at > 0 and long[at] == long[at - 1]
