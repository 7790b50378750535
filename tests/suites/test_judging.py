"""The suites' files are sound, and their runners tell right from wrong: nothing of a server is needed for that."""

import sys
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "benchmarks" / "suites"


@pytest.fixture(autouse=True)
def suites_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SUITES))
    for name in ("run", "entities", "temporal"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("half", ["dev", "frozen"])
def test_every_chinese_answer_stands_in_the_document_that_it_names(half: str) -> None:
    from suite_format import load_questions, load_suite, misplaced

    assert len(load_questions("chinese", half)) >= 80
    assert misplaced(load_suite("chinese"), load_questions("chinese", half)) == []


@pytest.mark.parametrize("half", ["dev", "frozen"])
def test_every_timed_answer_happened_inside_its_window(half: str) -> None:
    import temporal

    happened = temporal.load_happened()
    outside = [
        one.id
        for one in temporal.load_timed(half)
        if not any(
            temporal.overlaps(one.window, happened[pointer.document_id], timedelta(days=one.tolerance_days))
            for pointer in one.evidence
        )
    ]

    assert outside == []


def test_a_window_is_read_in_the_zone_of_the_question_and_an_end_at_midnight_is_not_a_day() -> None:
    import temporal

    (question,) = [one for one in temporal.load_timed("dev") if one.kind == "day"][:1]
    zone = question.asked.tzinfo
    midnight = temporal.datetime(2024, 2, 29, tzinfo=zone)
    trace = {"time_windows": [{"start": midnight.isoformat(), "end": (midnight + timedelta(days=1)).isoformat()}]}

    assert temporal.windows_of(trace, zone) == (temporal.Window(start=date(2024, 2, 29), end=date(2024, 2, 29)),)


def test_a_window_is_right_within_the_tolerance_and_wrong_beyond_it() -> None:
    import temporal

    asked = temporal.TimedQuestion(
        id="x",
        question="?",
        kind="vague",
        language="en",
        query_timestamp="2024-11-20T10:00:00+01:00",
        window=temporal.Window(start=date(2024, 10, 1), end=date(2024, 12, 31)),
        evidence=(),
        tolerance_days=2,
    )
    told = temporal.Window(start=date(2022, 1, 1), end=date(2025, 1, 1))

    def right(*windows: tuple[date | None, date | None]) -> bool:
        return bool(
            temporal.window_is_right(asked, [temporal.Window(start=one, end=other) for one, other in windows], told)
        )

    assert right((date(2024, 10, 3), date(2024, 12, 29)))
    assert right((date(2024, 10, 1), date(2024, 11, 20)))  # not over when it was asked
    assert not right((date(2024, 10, 4), date(2024, 12, 31)))
    assert not right((None, date(2024, 12, 31)))
    assert not right()
    assert not right(*[(date(2024, 10, 1), date(2024, 12, 31))] * 2)


@pytest.mark.parametrize("half", ["dev", "frozen"])
def test_pairs_are_judged_by_what_their_mentions_became(half: str) -> None:
    import entities

    pairs, never = entities.load(half)
    assert len(pairs) >= 70
    assert never
    for pair in pairs:
        sides = [pair.a, *pair.others, pair.b]
        names = Counter({one.name: 1 for one in sides})
        apart = entities._verdict(pair, [frozenset({one.name}) for one in sides], names)
        merged = entities._verdict(pair, [frozenset({pair.a.name})] * len(sides), names)
        if pair.a.name != pair.b.name:
            assert apart.is_right == (pair.same is not True), pair.id
        assert merged.is_right == (pair.same in (True, "either")), pair.id


def test_a_mention_became_the_entity_of_its_own_name_before_any_other() -> None:
    import entities

    assert entities.became("Dr. Wall", "Dr. Waller", ["Dr Waller", "Dr Wall"]) == "Dr Wall"
    assert entities.became("Wren 🗯️", "Wren 🕯️", ["Wren"]) == "Wren"
    assert entities.became("小张", "张晓东", ["张晓东", "司机"]) == "张晓东"
    assert entities.became("Yusuf", "Yusuf Karaca", ["Sunday"]) is None
