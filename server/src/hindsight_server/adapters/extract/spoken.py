"""Words in a text that name somebody if the bank knows such a name: "met theodora at willowbrook farm"."""

from __future__ import annotations

import re
from itertools import pairwise

from hindsight_server.adapters.extract.entities import may_follow_name, opens_sentence
from hindsight_server.adapters.extract.words import NO_NAMES, NUMBERED, is_common
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import fold_of
from hindsight_server.domain.remembering import remembered

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_POSSESSIVE = re.compile(r"['’]s$")
_JOINTS = frozenset((" ", " & "))
_LONGEST = 4  # words
_SHORTEST = 4  # letters of a word that stands alone
_MOST = 48
_MOST_TEXT = 4000  # characters that are looked at


def spoken_names(text: str) -> tuple[str, ...]:
    """The folds under which a known name would be found, in order, each once.

    A plain word is none: the bank may know a "Rose" or "Summer Hill", and prices rose in summer.

    Example:
        >>> spoken_names("met theodora at willowbrook farm")
        ('theodora', 'willowbrook', 'willowbrookfarm')
    """
    if _LATIN.search(text) is None:
        return ()
    found: dict[str, None] = {}
    words = list(_WORD.finditer(text, 0, _MOST_TEXT))
    telling = [_tells(word[0]) for word in words]
    unnamed = [word[0].lower() in NO_NAMES for word in words]
    joined = [text[one.end() : other.start()] in _JOINTS for one, other in pairwise(words)]
    for first, word in enumerate(words):
        if unnamed[first]:
            continue
        for last in range(first, min(first + _LONGEST, len(words))):
            if last > first:
                if not joined[last - 1]:
                    break
                if unnamed[last]:
                    continue
            if _may_name(text, words[first : last + 1], telling[first : last + 1]):
                spelt = _POSSESSIVE.sub("", text[word.start() : words[last].end()])
                found[fold_of(normal_name(spelt))] = None
        if len(found) >= _MOST:
            break
    return tuple(found)


@remembered(most=8192)  # most words come again
def _tells(word: str) -> bool:
    plain = _POSSESSIVE.sub("", word).lower()
    return plain.isalpha() and len(plain) > 2 and plain not in NO_NAMES and not is_common(plain)


def _may_name(text: str, words: list[re.Match[str]], telling: list[bool]) -> bool:
    first, last = words[0][0], words[-1][0]
    if len(words) == 1:
        return _alone(text, words[0], tells=telling[0])
    joined = len(words) == 3 and words[1][0] == "and" and first[0].isupper() and last[0].isupper()
    return joined or any(telling) or (len(words) == 2 and first.lower() in NUMBERED and last[0].isdigit())


def _alone(text: str, word: re.Match[str], *, tells: bool) -> bool:
    if word[0].islower():
        return tells and len(word[0]) >= _SHORTEST
    return word[0][:1].isupper() and opens_sentence(text, word.start()) and (tells or may_follow_name(text, word.end()))
