"""Extraction of facts without a model, and the rules for names that checking a model's facts needs."""

from hindsight_server.adapters.extract.builtin import BuiltinExtractor
from hindsight_server.adapters.extract.words import NO_NAMES

__all__ = ["BuiltinExtractor", "opens_sentences"]


def opens_sentences(word: str) -> bool:
    """Whether a lower-case word is an ordinary opening of a sentence, and so no name by itself.

    Example:
        >>> opens_sentences("recently"), opens_sentences("oslo")
        (True, False)
    """
    return word in NO_NAMES
