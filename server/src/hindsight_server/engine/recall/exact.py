"""Facts that hold what the question spells out: identifiers, quotations, ids of documents, sessions and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import Float32Array, Int32Array

_MOST = 200  # facts in front of all others; an id that names more orders nothing
_MOST_READ = 64  # facts whose text is read to see whether a quotation stands there word by word
_PREFIXES = ("session:", "task:")


@dataclass(frozen=True, slots=True)
class ExactHits:
    """Rows that are exact for certain, and rows that hold all the words of a quotation, to be read.

    `wanted` are the texts to be found in the latter, case folded.
    """

    sure: Int32Array
    unsure: Int32Array
    wanted: tuple[str, ...] = ()

    @classmethod
    def none(cls) -> ExactHits:
        return cls(np.empty(0, np.int32), np.empty(0, np.int32))


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
    sure = [_named_ids(scope, identifier) for identifier in question.identifiers]
    unsure, wanted = [], []
    for text in (*question.identifiers, *question.quoted):
        terms = terms_of.get(text, ())
        if not terms or any(term not in postings for term in terms):
            continue
        if text.casefold() in terms:
            sure.append(postings[text.casefold()].rows)
            continue
        rows = reduce(np.intersect1d, [postings[term].rows for term in terms])
        unsure.append(rows.astype(np.int32))
        wanted.append(text.casefold())
    certain = _best(scope, sure, relevance, _MOST)
    doubtful = _best(scope, unsure, relevance, _MOST_READ)
    return ExactHits(certain, doubtful[~np.isin(doubtful, certain)], tuple(wanted))


def holds_any(fact: Fact, wanted: Sequence[str]) -> bool:
    """Whether one of the texts stands in the fact, case folded and with spaces evened out."""
    text = " ".join(fact.text.casefold().split())
    return any(" ".join(one.split()) in text for one in wanted)


def _named_ids(scope: Scope, identifier: str) -> Int32Array:
    view, buffers = scope.view, scope.view.buffers
    found = [np.empty(0, np.int32)]
    document = buffers.documents.find(identifier)
    if document is not None:
        found.append(np.flatnonzero(view.document == document).astype(np.int32))
    keys = [identifier, *(prefix + identifier for prefix in _PREFIXES)]
    sessions = [number for key in keys if (number := buffers.sessions.find(key)) is not None]
    if sessions:
        found.append(np.flatnonzero(np.isin(view.explicit, sessions)).astype(np.int32))
    sets = [number for number, tags in enumerate(buffers.tagsets.values) if not tags.isdisjoint(keys)]
    if sets:
        found.append(np.flatnonzero(np.isin(view.tagset, sets)).astype(np.int32))
    return np.concatenate(found)


def _best(scope: Scope, lists: Sequence[Int32Array], relevance: Float32Array, most: int) -> Int32Array:
    if not lists:
        return np.empty(0, np.int32)
    rows = scope.visible(np.unique(np.concatenate(lists)).astype(np.int32))
    return rows[np.argsort(-relevance[rows], kind="stable")[:most]]
