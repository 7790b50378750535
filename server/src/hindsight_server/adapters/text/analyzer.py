"""Our own tokenizer: Snowball stems for words, bigrams for scripts without spaces, identifiers whole and in parts."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from itertools import chain

import Stemmer  # type: ignore[import-not-found]  # a C module without type information

from hindsight_server.adapters.text.stopwords import CJK_QUESTION, GENERAL, QUESTION
from hindsight_server.adapters.text.tokens import count_tokens
from hindsight_server.domain.naming.words import simplified

_MAX_TERM = 100  # characters; longer runs (encoded data) are cut, so that no term bloats the index
_MAX_CACHED_WORD = 40
_MAX_CACHE = 16_384  # words; some 3 MB for each of three caches

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese; Korean glues its particles on.
_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and points that `\w` does not take as part of a word (Hebrew, Arabic, the Indic scripts).
_MARKS = "\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0980-\u0dff"

_JOIN = r"(?:[-._/@:\\#+'&=]{1,3}|(?<=\d),(?=\d{3}))"
_ASCII = re.compile(rf"[a-z0-9]+(?:{_JOIN}[a-z0-9]+)*(?:\+\+|#(?![a-z0-9]))?")
_LETTER = rf"(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])"
_ANY = re.compile(rf"[{_UNSPACED}]+|{_LETTER}+(?:{_JOIN}{_LETTER}+)*(?:\+\+|#(?!\w))?")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
_JOINED = re.compile(r"[-._/@:\\#+&=]+")
_PLAIN_HYPHEN = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_DOTS = re.compile(r"\.{2,}|--+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_CJK_QUESTION = re.compile("|".join(CJK_QUESTION))
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")

_TYPOGRAPHIC = str.maketrans("’‘ʼ“”–‐‑—…", "'''\"\"---  ")

_NOTHING: tuple[str, ...] = ()


class _TermCache(dict[str, tuple[str, ...]]):
    """A word's terms, worked out once; emptied when it is full."""

    def __init__(self, analyse: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._analyse = analyse

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = self._analyse(word)
        if len(word) <= _MAX_CACHED_WORD:
            if len(self) >= _MAX_CACHE:
                self.clear()
            self[word] = terms
        return terms


class Analyzer:
    """Text to search terms, and token counts.

    * Words are case-folded, compatibility-normalised, freed of accents and possessive 's, stemmed (Snowball English).
    * Runs of Chinese, Japanese, Korean, Thai and the like become overlapping pairs of characters; one alone stays.
      Traditional Chinese characters count as the simplified ones.
    * Identifiers (``use-001``, ``v1.2.3``, e-mail addresses, paths) give themselves and their parts.
    * Punctuation and emoji give nothing.

    Example:
        >>> Analyzer().index_terms("Ann's cats saw use-001")
        ['ann', 'cat', 'saw', 'use-001', 'use', '001']
    """

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english", 0)
        self._stemmer_lock = threading.Lock()  # a stemmer keeps its working buffer between calls
        self._written = _TermCache(self._terms_as_written)
        self._index = _TermCache(self._terms_of)
        self._query = _TermCache(self._query_terms_of)

    def index_terms(self, text: str) -> list[str]:
        """The terms of a text to be stored, in order, repeats included; stop words are left out."""
        if text.isascii():  # no term reaches over white space, so that each word stands for itself
            return self._collect(text.split(), self._written)
        return self._collect(_words(text), self._index)

    def query_terms(self, text: str) -> list[str]:
        """The terms of a question: as `index_terms`, without question words unless nothing else is left."""
        words = _words(text)
        return self._collect(words, self._query) or self._collect(words, self._index)

    def stem(self, word: str) -> str:
        """The term that a single plain word is indexed under, stop word or not."""
        return self._stem(_fold(word).strip())

    def count_tokens(self, text: str) -> int:
        """Estimated o200k tokens, at least 1 for text that is not empty; see `count_tokens` of `adapters.text`."""
        return count_tokens(text)

    @staticmethod
    def _collect(words: list[str], cache: _TermCache) -> list[str]:
        return list(chain.from_iterable(map(cache.__getitem__, words)))

    def _terms_as_written(self, word: str) -> tuple[str, ...]:
        return tuple(self._collect(_words(word), self._index))

    def _stem(self, word: str) -> str:
        with self._stemmer_lock:
            stem: str = self._stemmer.stemWord(word[:_MAX_TERM])
        return stem or word[:_MAX_TERM]

    def _terms_of(self, word: str) -> tuple[str, ...]:
        if _UNSPACED_RUN.match(word):
            return _bigrams(word)
        word = word.removesuffix("'s").replace(",", "").replace("'", "")
        if not _JOINED.search(word):
            return _NOTHING if word in GENERAL else (self._stem(word),)
        parts = tuple(self._stem(part) for part in _JOINED.split(word) if part and part not in GENERAL)
        if _PLAIN_HYPHEN.fullmatch(word) or _DOTS.search(word):  # two words, or a missing space: no identifier
            return parts
        return (word[:_MAX_TERM], *parts)

    def _query_terms_of(self, word: str) -> tuple[str, ...]:
        if _UNSPACED_RUN.match(word):
            return tuple(term for run in _CJK_QUESTION.split(word) for term in _bigrams(run))
        return _NOTHING if word.removesuffix("'s") in QUESTION else self._index[word]


def _fold(text: str) -> str:
    if not text.isascii():
        text = text.translate(_TYPOGRAPHIC)
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    composed = unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed)).casefold().translate(_TYPOGRAPHIC)
    return simplified(composed) if _HAN.search(composed) else composed


def _words(text: str) -> list[str]:
    folded = _fold(text)
    return (_ASCII if folded.isascii() else _ANY).findall(folded)


def _bigrams(run: str) -> tuple[str, ...]:
    if len(run) <= 1:
        return (run,) if run else _NOTHING
    return tuple(map(str.__add__, run, run[1:]))
