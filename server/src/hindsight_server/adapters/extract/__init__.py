"""Extraction of facts without a model, and the rules for names that checking a model's facts needs."""

from functools import cache

from hindsight_server.adapters.extract.builtin import BuiltinExtractor
from hindsight_server.adapters.extract.words import NO_NAMES, is_common
from hindsight_server.domain.naming.words import HAN_PLACES, given_names

__all__ = ["BuiltinExtractor", "is_ordinary", "opens_sentences"]


def opens_sentences(word: str) -> bool:
    """Whether a lower-case word is an ordinary opening of a sentence, and so no name by itself.

    Example:
        >>> opens_sentences("recently"), opens_sentences("oslo")
        (True, False)
    """
    return word in NO_NAMES


_LONG = 7
# What English makes words with, and hardly a name that is no given name.
_MADE_WITH = (
    *("tion", "tions", "sion", "sions", "ment", "ments", "ness", "ship", "ships", "ities", "ances", "ences", "ence"),
    *("ated", "ating", "izing", "ized", "ising", "ised", "ously", "ently", "ally", "ible", "able", "less", "ical"),
)


@cache
def _places() -> frozenset[str]:
    return frozenset(HAN_PLACES.values())


def is_ordinary(word: str) -> bool:
    """Whether a lower-case word is an ordinary one, and no given name or well-known place as well.

    Example:
        >>> is_ordinary("fees"), is_ordinary("zebulon"), is_ordinary("rose"), is_ordinary("berlin")
        (True, False, False, False)
    """
    if "-" in word:
        return all(is_ordinary(part) for part in word.split("-"))
    if word in NO_NAMES:
        return True
    if word in given_names() or word in _places():
        return False
    singular = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    if len(word) >= _LONG and word.endswith(_MADE_WITH):
        return True
    return is_common(word) or (len(singular) >= 3 and is_common(singular))
