"""Facts that hold what the question spells out: identifiers, quotations, ids of documents, sessions and tasks.

They go before all others, so what counts as spelled out is narrow. An identifier is a whole one, never the beginning
of a longer one. What could be ordinary words (``day-to-day``, ``mp3``, a quotation) counts only when few facts hold it,
and a single quoted word never does: its quotation marks may mean "so called", and the other arms find it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.named import named_ids
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import Float32Array, Int32Array

_MOST = 200  # facts in front of all others; an id that names more orders nothing
_MOST_READ = 64  # facts whose text is read to see whether a quotation stands there word by word
_FEW = 10  # facts at most that hold what could be ordinary words
_PREFIXES = ("session:", "task:")
_STRONG_LENGTH = 6
_SIGN = re.compile(r"[\d_@]")
_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class ExactHits:
    """Rows that are exact for certain, and rows that hold all the words of a text, to be read.

    Args:
        wanted: for each text to be found in the latter, its rows.
    """

    sure: Int32Array
    unsure: Int32Array
    wanted: Mapping[str, Int32Array] = field(default_factory=dict)

    @classmethod
    def none(cls) -> ExactHits:
        return cls(_NO_ROWS, _NO_ROWS)


def spells_out(question: Question) -> bool:
    """Whether there is anything to be found exactly."""
    return bool(question.identifiers or question.quoted or named_ids(question.text))


def find_exact(
    scope: Scope,
    question: Question,
    postings: Mapping[str, Postings],
    terms_of: Mapping[str, Sequence[str]],
    relevance: Float32Array,
) -> ExactHits:
    """Exact rows of the visible ones.

    Args:
        postings: of all terms in `terms_of`.
        terms_of: the index terms of each identifier and quotation.
        relevance: a score by row, to choose by when there are too many.
    """
    sure = [_named(scope, question)]
    wanted: dict[str, Int32Array] = {}
    for text in dict.fromkeys((*question.identifiers, *question.quoted)):
        terms = terms_of.get(text, ())
        words = 1 if text in question.identifiers else 2
        if len(terms) < words or any(term not in postings for term in terms):
            continue
        folded = text.casefold()
        whole = scope.visible(postings[folded].rows) if folded in terms else _NO_ROWS
        if len(whole):
            sure.append(whole if _is_strong(text) or len(whole) <= _FEW else _NO_ROWS)
            continue
        parts = [postings[term].rows for term in terms if term != folded]
        if len(parts) > 1:  # of one part nothing is left but that part, which the keyword arm finds
            wanted[folded] = scope.visible(reduce(np.intersect1d, parts).astype(np.int32))
    certain = _best(sure, relevance, _MOST)
    doubtful = _best(list(wanted.values()), relevance, _MOST_READ)
    return ExactHits(certain, doubtful[~np.isin(doubtful, certain)], wanted)


def held(exact: ExactHits, facts: Mapping[int, Fact]) -> Int32Array:
    """Of the unsure rows, those whose fact holds one of the texts; a text that many hold orders nothing.

    Args:
        facts: by row.
    """
    found = [_NO_ROWS]
    for text, rows in exact.wanted.items():
        holding = [row for row in rows.tolist() if row in facts and holds(facts[row], text)]
        if len(holding) <= _FEW or _is_strong(text):
            found.append(np.array(holding, np.int32))
    return np.unique(np.concatenate(found)).astype(np.int32)


def holds(fact: Fact, wanted: str) -> bool:
    """Whether the text stands in the fact, case folded, with spaces evened out, and not as part of a longer identifier.

    Example:
        >>> holds(fact("the key shopify-prod-key-2024"), "shopify-prod")
        False
    """
    return _as_whole(wanted).search(" ".join(fact.text.casefold().split())) is not None


@lru_cache(maxsize=256)
def _as_whole(wanted: str) -> re.Pattern[str]:
    text = re.escape(" ".join(wanted.casefold().split()))
    # Between scripts without spaces, letters touch; between others they would make another word.
    before = r"(?<![a-z0-9_])(?<![a-z0-9][-_.])" if wanted[:1].isascii() else ""
    after = r"(?![-_.]?[a-z0-9_])" if wanted[-1:].isascii() else ""
    return re.compile(before + text + after)


def _is_strong(text: str) -> bool:
    """Whether it can't be an ordinary word: long, and with a digit or a sign that words do not have."""
    return len(text) >= _STRONG_LENGTH and " " not in text and _SIGN.search(text) is not None


def _named(scope: Scope, question: Question) -> Int32Array:
    """Facts of the documents, sessions and tasks that the question names, and those tagged with an identifier."""
    view, buffers = scope.view, scope.view.buffers
    names = named_ids(question.text)
    if not names:
        return _NO_ROWS
    found = [_NO_ROWS]
    documents = [number for name in names if (number := buffers.documents.find(name)) is not None]
    if documents:
        found.append(np.flatnonzero(np.isin(view.document, documents)).astype(np.int32))
    # Sessions that tags tell are found by these, below.
    sessions = [number for name in names if (number := buffers.sessions.find(f"metadata:{name}")) is not None]
    if sessions:
        found.append(np.flatnonzero(np.isin(view.explicit, sessions)).astype(np.int32))
    keys = (form for name in names for form in (name, *(prefix + name for prefix in _PREFIXES)))
    tags = frozenset(key for key in keys if key.startswith(_PREFIXES)) | frozenset(question.identifiers)
    sets = [number for number, held_tags in enumerate(buffers.tagsets.values) if not held_tags.isdisjoint(tags)]
    if sets:
        found.append(np.flatnonzero(np.isin(view.tagset, sets)).astype(np.int32))
    return scope.visible(np.concatenate(found))


def _best(lists: Sequence[Int32Array], relevance: Float32Array, most: int) -> Int32Array:
    if not lists:
        return _NO_ROWS
    rows = np.unique(np.concatenate(lists)).astype(np.int32)
    return rows[np.argsort(-relevance[rows], kind="stable")[:most]]
