"""WordPiece as BERT's uncased models use it: text to the numbers of its pieces.

The rules are those of Devlin et al. 2018 (arXiv 1810.04805) and Wu et al. 2016 (arXiv 1609.08144): clean, set Chinese
characters apart, decompose and drop accents, lower-case, split at white space and around each punctuation mark, then
take the longest known piece again and again. Ours, since the usual library brings a model hub's client along, which
weighs more than the server's own code; a test holds the two against each other.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hindsight_server.adapters.embed.words import STOP_WORDS
from hindsight_server.domain.remembering import remembered

_LONGEST_WORD = 100  # characters; a longer word is unknown
_CACHED_WORDS = 20_000
_CONTINUED = "##"
_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"

_ASCII_CONTROLS = {code: None for code in (*range(9), 11, 12, *range(14, 32), 127)}
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_CHINESE = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text in pieces.

    Args:
        ids: numbers of the pieces, with the first and last mark that the model expects.
        words: the words worth a vector: no stop words, punctuation, symbols or unknown words.
        spans: of each word, where its pieces begin and end among `ids`.
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class WordPiece:
    """Cuts texts into pieces; safe to use from several threads.

    Args:
        vocabulary: number of each piece; pieces inside a word begin with ``##``.
        limit: pieces of a text at most, the two marks included; the rest is cut off.

    Example:
        >>> vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "em": 3, "##bed": 4, "!": 5}
        >>> WordPiece(vocabulary, limit=8).encode("Embed!")
        Pieces(ids=(1, 3, 4, 5, 2), words=('embed',), spans=((1, 3),))
    """

    def __init__(self, vocabulary: Mapping[str, int], *, limit: int) -> None:
        self._vocabulary = vocabulary
        self._limit = limit
        self._cut = remembered(most=_CACHED_WORDS, longest=_LONGEST_WORD)(self._cut_word)

    @classmethod
    def from_file(cls, path: Path, *, limit: int) -> WordPiece:
        """From the ``tokenizer.json`` of a model."""
        return cls(json.loads(path.read_bytes())["model"]["vocab"], limit=limit)

    def encode(self, text: str) -> Pieces:
        """The pieces of one text."""
        room = self._limit - 1
        ids = [self._vocabulary[_FIRST]]
        words: list[str] = []
        spans: list[tuple[int, int]] = []
        for word in _words(text):
            start = len(ids)
            pieces = self._cut(word)
            ids.extend(self._vocabulary[piece] for piece in pieces[: room - start])
            known = "".join(pieces[: room - start]).replace(_CONTINUED, "")
            if pieces[0] != _UNKNOWN and known not in STOP_WORDS and any(map(str.isalnum, known)):
                words.append(known)
                spans.append((start, len(ids)))
            if len(ids) >= room:
                break
        ids.append(self._vocabulary[_LAST])
        return Pieces(tuple(ids), tuple(words), tuple(spans))

    def _cut_word(self, word: str) -> tuple[str, ...]:
        if len(word) > _LONGEST_WORD:
            return (_UNKNOWN,)
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = _CONTINUED if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._vocabulary), None)
            if end is None:
                return (_UNKNOWN,)
            pieces.append(prefix + word[start:end])
            start = end
        return tuple(pieces)


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.translate(_ASCII_CONTROLS).lower())
    cleaned = "".join(_cleaned(character) for character in text)
    plain = unicodedata.normalize("NFD", _CHINESE.sub(r" \g<0> ", cleaned))
    kept = "".join(character.lower() for character in plain if unicodedata.category(character) != "Mn")
    words: list[str] = []
    for chunk in kept.split():
        begin = 0
        for position, character in enumerate(chunk):
            if _is_punctuation(character):
                words += [part for part in (chunk[begin:position], character) if part]
                begin = position + 1
        if chunk[begin:]:
            words.append(chunk[begin:])
    return words


@lru_cache(4096)
def _cleaned(character: str) -> str:
    """White space as a space, nothing for controls and unassigned characters, else the character."""
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character)[0] == "C":
        return ""
    return " " if character.isspace() else character


@lru_cache(4096)
def _is_punctuation(character: str) -> bool:
    ascii_symbol = character.isascii() and not character.isalnum()
    return ascii_symbol or unicodedata.category(character)[0] == "P"
