"""Extraction of facts without a model, and the rules for names that checking a model's facts needs."""

from hindsight_server.adapters.extract.builtin import BuiltinExtractor
from hindsight_server.adapters.extract.entities import find_names
from hindsight_server.adapters.extract.words import NO_NAMES

__all__ = ["BuiltinExtractor", "names_in", "opens_sentences"]


def names_in(text: str) -> list[str]:
    """The names that rules find in a text.

    Example:
        >>> names_in("昨天王小明去了北京")
        ['王小明', '北京']
    """
    return [found.name for found in find_names(text)]


def opens_sentences(word: str) -> bool:
    """Whether a lower-case word is an ordinary opening of a sentence, and so no name by itself.

    Example:
        >>> opens_sentences("recently"), opens_sentences("oslo")
        (True, False)
    """
    return word in NO_NAMES
