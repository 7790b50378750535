"""BM25 at the three levels, against the formula written out plainly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.lexical import K1, B, word_scores
from hindsight_server.engine.recall.scope import scope_of
from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.records import Snapshot

from .conftest import NO_SEQS, fact_row

WORDS = ["ant", "bee", "cat", "dog"]
TEXTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
        st.sampled_from(["d1", "d2", "d3", "own"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


def bm25(texts: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        counts, score = Counter(text), 0.0
        for term in query:
            holding = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            tf = counts[term]
            score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(text) / mean))
        scores.append(score)
    return scores


def banked(items: Sequence[tuple[list[str], str, bool]]) -> tuple[BankView, dict[str, Postings]]:
    rows, turns = [], Counter[str]()
    for at, (words, document, hidden) in enumerate(items):
        name = f"own-{at}" if document == "own" else document
        tags = ("hidden",) if hidden else ("shown",)
        rows.append(fact_row(at + 1, document_id=name, turn_index=turns[name], length=len(words), tags=tags))
        turns[name] += 1
    view = BankView.built(Snapshot(version=1, rows=rows, vectors={}, removed=NO_SEQS))
    postings = {}
    for word in WORDS:
        held = [(at, words.count(word)) for at, (words, _, _) in enumerate(items) if word in words]
        postings[word] = Postings(
            1, len(rows), np.array([at for at, _ in held], np.int32), np.array([n for _, n in held], np.float32)
        )
    return view, postings


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), st.booleans())
def test_scores_equal_the_formula(items: list[tuple[list[str], str, bool]], query: list[str], filtered: bool) -> None:
    view, postings = banked(items)
    tags = TagLeaf(frozenset({"shown"}), TagsMatch.ANY_STRICT) if filtered else None
    scope = scope_of(view, tags=tags)
    scores = word_scores(scope, {term: postings[term] for term in query})
    shown = [at for at, (_, _, hidden) in enumerate(items) if not (filtered and hidden)]
    if not shown:
        assert not scores.turn.any()
        return
    # The reference sees the visible turns only, as if the others had never been said.
    before: dict[int, list[str]] = {}
    talks: dict[str, list[str]] = {}
    last: dict[str, int] = {}
    for at in shown:
        words, document, _ = items[at]
        name = f"own-{at}" if document == "own" else document
        straight = int(view.neighbours.previous[at])  # a hidden turn between two visible ones parts them
        before[at] = items[straight][0] if straight in shown else []
        talks.setdefault(name, []).extend(words)
        last[name] = at
    assert scores.turn[shown] == pytest.approx(bm25([items[at][0] for at in shown], query), rel=1e-4)
    assert scores.pair[shown] == pytest.approx(bm25([before[at] + items[at][0] for at in shown], query), rel=1e-4)
    by_name = dict(zip(talks, bm25(list(talks.values()), query), strict=True))
    names = [f"own-{at}" if items[at][1] == "own" else items[at][1] for at in shown]
    assert scores.session[shown] == pytest.approx([by_name[name] for name in names], rel=1e-4)
    hidden = [at for at in range(len(items)) if at not in shown]
    assert not scores.turn[hidden].any()
    assert not scores.pair[hidden].any()
    assert not scores.session[hidden].any()


def test_common_terms_of_a_big_bank_are_left_out_while_rarer_ones_are_there() -> None:
    size = 6000
    rows = [fact_row(at + 1) for at in range(size)]
    view = BankView.built(Snapshot(version=1, rows=rows, vectors={}, removed=NO_SEQS))
    everywhere = Postings(1, size, np.arange(size, dtype=np.int32), np.ones(size, np.float32))
    once = Postings(1, size, np.array([7], np.int32), np.ones(1, np.float32))
    scores = word_scores(scope_of(view), {"common": everywhere, "rare": once})
    assert scores.skipped == ("common",)
    assert np.flatnonzero(scores.turn).tolist() == [7]
    alone = word_scores(scope_of(view), {"common": everywhere})
    assert alone.skipped == ()
    assert np.count_nonzero(alone.turn) == size
