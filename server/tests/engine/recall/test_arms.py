"""The arms one by one."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.recall.arms import Hits, best, by_entities, by_time, closeness, run_arm, spans
from hindsight_server.engine.recall.question import AskedTime
from hindsight_server.engine.recall.scope import scope_of
from hindsight_server.engine.recall.semantic import meaning_scores
from hindsight_server.engine.recall.types import ArmStatus, TimeWindow
from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.records import FactRow, Snapshot

from .conftest import NO_SEQS, fact_row

DAY = 86400.0


def bank(*rows: FactRow, vectors: dict[str, tuple[list[int], list[list[float]]]] | None = None) -> BankView:
    found = {
        space: (np.array(seqs, np.int64), np.array(matrix, np.float32))
        for space, (seqs, matrix) in (vectors or {}).items()
    }
    return BankView.built(Snapshot(version=1, rows=rows, vectors=found, removed=NO_SEQS))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.sampled_from([50, 9000]), st.sampled_from([1, 5, 10**6]))
def test_best_equals_sorting(seed: int, count: int, size: int, distinct: int) -> None:
    scores = np.random.default_rng(seed).integers(0, distinct, size).astype(np.float32)
    scores[::7] = np.nan
    hits = best(scores, count)
    order = sorted((row for row in range(size) if scores[row] > 0), key=lambda row: (-scores[row], -row))[:count]
    assert hits.rows.tolist() == order
    assert hits.scores.tolist() == scores[order].tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(-2, 2), st.sampled_from([0.0, 0.5, 0.999]))
def test_best_above_a_floor_equals_sorting(seed: int, count: int, floor: float, missing: float) -> None:
    random = np.random.default_rng(seed)
    scores = random.normal(size=9000).astype(np.float32)
    scores[random.random(9000) < missing] = np.nan
    order = sorted(
        (row for row in range(9000) if scores[row] >= np.float32(floor)), key=lambda row: (-scores[row], -row)
    )
    assert best(scores, count, floor).rows.tolist() == order[:count]


@pytest.mark.parametrize("size", [50, 9000])
@pytest.mark.parametrize(("floor", "kept"), [(1e308, 0), (-1e308, 3), (math.inf, 0), (-math.inf, 3)])
def test_a_floor_beyond_all_scores(size: int, floor: float, kept: int) -> None:
    assert len(best(np.arange(size, dtype=np.float32), 3, floor).rows) == kept


def test_equal_facts_mean_equally_much_wherever_they_stand() -> None:
    vectors = np.tile(np.random.default_rng(7).normal(size=384), (1001, 1)).tolist()
    view = bank(*(fact_row(at + 1) for at in range(1001)), vectors={"s": (list(range(1, 1002)), vectors)})
    query = np.random.default_rng(8).normal(size=384).astype(np.float32)
    assert len(set(meaning_scores(scope_of(view), {"s": query}).cosine.tolist())) == 1


def test_an_arm_that_raises_is_reported() -> None:
    def broken() -> Hits:
        raise ZeroDivisionError("secret words")

    report = run_arm("graph", broken, until=math.inf)
    assert (report.status, report.detail) == (ArmStatus.FAILED, "ZeroDivisionError")
    assert run_arm("graph", broken, until=time.monotonic() - 1).status is ArmStatus.LATE


def test_entities_weigh_by_rarity_and_by_who_names_them() -> None:
    rows = [
        fact_row(1, entities=(0, 1)),
        fact_row(2, entities=(1,)),
        fact_row(3, entities=(2,)),
        fact_row(4, entities=(3,)),
        *(fact_row(5 + at, entities=(2,)) for at in range(20)),
    ]
    scope = scope_of(bank(*rows))
    hits = by_entities(scope, np.array([1], np.int32), np.array([2], np.int32), 30)
    scores = dict(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
    assert scores[0] == scores[1] > scores[2] > 0  # named and rare; then only a seed's, and common
    assert 3 not in scores
    assert not len(by_entities(scope, np.array([99], np.int32), np.empty(0, np.int32), 10).rows)


def test_an_entity_of_half_the_bank_connects_nothing() -> None:
    rows = [fact_row(at + 1, entities=(0,)) for at in range(400)]
    assert not len(by_entities(scope_of(bank(*rows)), np.array([0], np.int32), np.empty(0, np.int32), 10).rows)


def test_hidden_facts_share_nothing() -> None:
    view = bank(fact_row(1, entities=(0,), tags=("x",)), fact_row(2, entities=(0,), tags=("y",)), fact_row(3))
    scope = scope_of(view, tags=TagLeaf(frozenset({"y"}), TagsMatch.ANY_STRICT))
    assert by_entities(scope, np.array([0], np.int32), np.empty(0, np.int32), 10).rows.tolist() == [1]
    assert scope.entity_uses.tolist() == [1]


def test_where_all_is_hidden_nothing_is_shared() -> None:
    scope = scope_of(bank(fact_row(1, entities=(0,))), tags=TagLeaf(frozenset({"y"}), TagsMatch.ANY_STRICT))
    assert scope.size == 0
    assert not len(by_entities(scope, np.array([0], np.int32), np.empty(0, np.int32), 10).rows)


def test_a_fact_that_ends_before_it_begins_happened_at_no_time() -> None:
    view = bank(fact_row(1, occurred_start=DAY, occurred_end=DAY - 1))
    assert closeness(view, np.zeros(1, np.int32), [(0.0, 2 * DAY)]).happened.tolist() == [0]


def test_closeness_of_times() -> None:
    rows = [
        fact_row(1, mentioned_at=10 * DAY),
        fact_row(2, mentioned_at=16 * DAY),
        fact_row(3, mentioned_at=25 * DAY),
        fact_row(4, mentioned_at=9 * DAY),
        fact_row(5, mentioned_at=99 * DAY, occurred_start=10 * DAY, occurred_end=11 * DAY),
        fact_row(6, mentioned_at=99 * DAY, occurred_start=0.0, occurred_end=100 * DAY),
        fact_row(7),
    ]
    view = bank(*rows)
    near = closeness(view, np.arange(7, dtype=np.int32), [(10 * DAY, 11 * DAY)])
    assert near.told[:2].tolist() == [1, 0.5]  # on the day, and told in the week after
    assert 0 < near.told[2] < 0.5
    assert near.told[3:].tolist() == [0, 0, 0, 0]
    assert near.happened[4] == 1
    assert near.happened[5] == pytest.approx(0.01, rel=1e-3)  # a hundred days say little of one
    assert near.best[6] == 0
    hits = by_time(scope_of(view), [(10 * DAY, 11 * DAY)], np.zeros(7, np.float32), 3)
    assert hits.rows.tolist() == [4, 0, 1]
    assert closeness(view, np.arange(7, dtype=np.int32), [(50 * DAY, math.inf)]).told[4] == 1
    before = closeness(view, np.arange(7, dtype=np.int32), [(-math.inf, 10 * DAY)]).told
    assert before.tolist() == [1, 0, 0, 1, 0, 0, 0]  # "before the 10th": what was told afterwards may be of any time
    told_later = bank(fact_row(1, mentioned_at=12 * DAY, occurred_start=0.0, occurred_end=1.0))
    assert closeness(told_later, np.zeros(1, np.int32), [(10 * DAY, 11 * DAY)]).told.tolist() == [0]


def test_a_month_without_a_year_is_the_last_one_with_facts() -> None:
    def moment(year: int, month: int, day: int = 1) -> datetime:
        return datetime(year, month, day, tzinfo=UTC)

    view = bank(fact_row(1, mentioned_at=moment(2023, 5, 9).timestamp()))
    scope = scope_of(view)
    may = TimeWindow(start=moment(2026, 5), end=moment(2026, 5, 31))
    assert spans(scope, [AskedTime(may, yearless=True)])[0][0] == moment(2023, 5).timestamp()
    assert spans(scope, [AskedTime(may)])[0][0] == moment(2026, 5).timestamp()
    leap = TimeWindow(start=moment(2024, 2, 29), end=moment(2024, 2, 29))
    assert spans(scope, [AskedTime(leap, yearless=True)])[0][0] == moment(2024, 2, 29).timestamp()
    assert spans(scope, [AskedTime(TimeWindow(start=moment(2020, 1)))]) == [(moment(2020, 1).timestamp(), math.inf)]


def test_spaces_are_scaled_before_they_are_joined() -> None:
    # In the second space everything is similar to everything: its raw cosines would win.
    first = [[1.0, 0.0], *([0.0, 1.0] for _ in range(60))]
    second = [[0.9, 0.1], *([0.85, 0.1] for _ in range(60))]
    rows = [fact_row(at + 1) for at in range(122)]
    view = bank(*rows, vectors={"a": (list(range(1, 62)), first), "b": (list(range(62, 123)), second)})
    asked = np.array([1.0, 0.0], np.float32)
    scores = meaning_scores(scope_of(view), {"a": asked, "b": asked})
    assert scores.cosine[0] == 1
    assert scores.scaled[0] > scores.scaled[61]
    assert scores.cosine[62] > scores.cosine[1]
    assert scores.scaled[0] > scores.scaled[62]
    only = meaning_scores(scope_of(view), {"a": asked, "gone": asked})
    assert np.isnan(only.cosine[61:]).all()


def test_a_fact_in_two_spaces_takes_the_mean_of_its_scores() -> None:
    view = bank(
        *(fact_row(at + 1) for at in range(3)),
        vectors={"a": ([1, 2], [[1.0, 0.0], [0.6, 0.8]]), "b": ([1, 2, 3], [[0.0, 1.0], [1.0, 0.0], [0.8, 0.6]])},
    )
    asked = np.array([1.0, 0.0], np.float32)
    first, second = (meaning_scores(scope_of(view), {space: asked}) for space in ("a", "b"))
    both = meaning_scores(scope_of(view), {"a": asked, "b": asked})
    assert both.scaled[:2] == pytest.approx((first.scaled[:2] + second.scaled[:2]) / 2)
    assert both.scaled[2] == second.scaled[2]
    assert both.cosine.tolist() == [*first.cosine[:2].tolist(), second.cosine[2]]


def test_a_space_reached_from_another_one_counts_for_what_has_no_other_vector() -> None:
    view = bank(
        *(fact_row(at + 1) for at in range(3)),
        vectors={"a": ([1, 2, 3], [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), "b": ([1], [[0.0, 1.0]])},
    )
    asked = np.array([1.0, 0.0], np.float32)
    first, second = (meaning_scores(scope_of(view), {space: asked}) for space in ("a", "b"))
    joined = meaning_scores(scope_of(view), {"a": asked, "b": asked}, crossed={"a"})
    assert joined.scaled.tolist() == [second.scaled[0], *first.scaled[1:].tolist()]
    assert meaning_scores(scope_of(view), {"a": asked}, crossed={"a"}).scaled.tolist() == first.scaled.tolist()


def test_scan_of_few_visible_facts_equals_the_full_scan() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(100, 8)).astype(np.float32)
    rows = [fact_row(at + 1, tags=("x",) if at % 25 == 0 else ("y",)) for at in range(100)]
    view = bank(*rows, vectors={"a": (list(range(1, 101)), matrix.tolist())})
    asked = {"a": rng.normal(size=8).astype(np.float32)}
    few = meaning_scores(scope_of(view, tags=TagLeaf(frozenset({"x"}), TagsMatch.ANY_STRICT)), asked)
    everything = meaning_scores(scope_of(view), asked)
    assert np.flatnonzero(~np.isnan(few.cosine)).tolist() == [0, 25, 50, 75]
    assert few.cosine[[0, 25, 50, 75]] == pytest.approx(everything.cosine[[0, 25, 50, 75]], rel=1e-5)
