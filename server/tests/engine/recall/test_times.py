"""Times in questions, asked of a bank."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.recall.types import RecallOutcome, TimeField, TimeFilter, TimeWindow

from .conftest import Memory, texts

NOW = datetime(2024, 3, 6, 15, tzinfo=timezone(timedelta(hours=8)))


def windows(outcome: RecallOutcome) -> list[tuple[str | None, str | None, str | None]]:
    found = []
    for one in outcome.trace.as_dict()["time_windows"]:
        start, end = one["start"], one["end"]
        found.append((start and start[:10], end and end[:10], one["source"]))
    return found


@pytest.fixture
async def lives(memory: Memory) -> Memory:
    """Two people who married and moved, and what they did before and after."""
    told = [
        ("2019-05-02", "Ann rented a flat above a bakery in Lyon."),
        ("2020-06-20", "Ann and Bo got married in the town hall."),
        ("2020-05-11", "Ann bought a wedding dress of green silk."),
        ("2020-07-03", "Ann and Bo walked along the coast of Wales."),
        ("2021-09-01", "Ann moved to Berlin with two suitcases."),
        ("2022-02-10", "Ann joined a choir in a church."),
        ("2023-06-21", "Ann and Bo celebrated their wedding anniversary with cake."),
        ("2018-03-03", "Cy moved to Oslo for a job on a ship."),
        ("2022-04-01", "Cy threw a party on the roof."),
        ("2023-08-01", "Cy threw a party in the garden."),
        ("2022-10-02", "林晓雯和高骏在西湖边办了婚礼。"),
        ("2022-08-14", "林晓雯寄出了九十六份请帖。"),
        ("2023-04-15", "林晓雯搬家到滨江。"),
        ("2023-05-20", "林晓雯在新家种了番茄。"),
    ]
    for day, words in told:
        await memory.retain(words, timestamp=f"{day}T12:00:00Z")
    return memory


EVENTS = [
    ("Where did Ann live before her marriage?", (None, "2020-06-19"), "Ann and Bo got married in the town hall."),
    ("What did Ann do after the wedding?", ("2020-06-21", None), "Ann and Bo got married in the town hall."),
    ("Since Ann moved to Berlin, what did she join?", ("2021-09-01", None), "Ann moved to Berlin with two suitcases."),
    (
        "What did Ann do in the month after the wedding?",
        ("2020-06-21", "2020-07-20"),
        "Ann and Bo got married in the town hall.",
    ),
    (
        "What did Ann buy in the two months before her wedding?",
        ("2020-04-20", "2020-06-19"),
        "Ann and Bo got married in the town hall.",
    ),
    (
        "What did Ann buy a month before her wedding?",
        ("2020-05-21", "2020-06-19"),
        "Ann and Bo got married in the town hall.",
    ),
    (
        "What did Ann do three years after her wedding?",
        ("2023-01-01", "2023-12-31"),
        "Ann and Bo got married in the town hall.",
    ),
    (
        "What did Ann do between the wedding and the move to Berlin?",
        ("2020-06-21", "2021-08-31"),
        "Ann and Bo got married in the town hall.",
    ),
    ("Who sang when Ann got married?", ("2020-06-20", "2020-06-20"), "Ann and Bo got married in the town hall."),
    (
        "What did Ann do the year she got married?",
        ("2020-01-01", "2020-12-31"),
        "Ann and Bo got married in the town hall.",
    ),
    (
        "What did Ann do while moving to Berlin?",
        ("2021-08-18", "2021-09-15"),
        "Ann moved to Berlin with two suitcases.",
    ),
    (
        "What did Ann do a few days after the wedding?",
        ("2020-06-22", "2020-06-25"),
        "Ann and Bo got married in the town hall.",
    ),
    ("婚礼两周前林晓雯寄了什么？", ("2022-09-12", "2022-09-18"), "林晓雯和高骏在西湖边办了婚礼。"),
    ("婚礼两周后林晓雯去了哪里？", ("2022-10-10", "2022-10-16"), "林晓雯和高骏在西湖边办了婚礼。"),
    ("搬家那年林晓雯种了什么？", ("2023-01-01", "2023-12-31"), "林晓雯搬家到滨江。"),
    ("婚礼之前林晓雯寄了什么？", (None, "2022-10-01"), "林晓雯和高骏在西湖边办了婚礼。"),
    ("搬家之后林晓雯种了什么？", ("2023-04-16", None), "林晓雯搬家到滨江。"),
]


@pytest.mark.feature("S7")
@pytest.mark.parametrize(("question", "window", "event"), EVENTS)
async def test_a_time_given_by_an_event(
    lives: Memory, question: str, window: tuple[str | None, str | None], event: str
) -> None:
    outcome = await lives.ask(question, query_timestamp=datetime(2025, 1, 10, tzinfo=UTC))
    assert windows(outcome) == [(*window, "event")]
    traced = outcome.trace.as_dict()["time_windows"][0]
    told = {result.fact.fact_id: result.fact.text for result in outcome.results}
    assert told[traced["event_memory_id"]] == event
    assert traced["phrase"] in question


@pytest.mark.feature("S7")
@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Where did Ann live before her divorce?", "No memory tells with confidence"),
        ("Who came after the party?", "could be of 2022-04-01 and 2023-08-01"),
        ("离婚之前林晓雯住在哪里？", "No memory tells with confidence"),
    ],
)
async def test_an_event_that_is_not_found_sets_no_window(lives: Memory, question: str, reason: str) -> None:
    outcome = await lives.ask(question)
    assert outcome.trace.time_windows == ()
    assert any(reason in note for note in outcome.trace.notes)


async def test_the_people_of_the_question_tell_whose_event_it_is(lives: Memory) -> None:
    (cy,) = windows(await lives.ask("What was Cy's job before Cy moved?"))
    (ann,) = windows(await lives.ask("Where was Ann living before Ann moved?"))
    assert (cy[1], ann[1]) == ("2018-03-02", "2021-08-31")


async def test_an_event_that_may_not_be_seen_sets_no_window(memory: Memory) -> None:
    await memory.retain("Ann married Bo.", timestamp="2020-06-20T12:00:00Z", tags=["private"])
    await memory.retain("Ann lived in Lyon.", timestamp="2019-06-20T12:00:00Z", tags=["open"])
    seen = await memory.ask("Where did Ann live before her marriage?")
    hidden = await memory.ask(
        "Where did Ann live before her marriage?", tags=TagLeaf(tags=frozenset({"open"}), match=TagsMatch.ALL_STRICT)
    )
    assert (len(seen.trace.time_windows), len(hidden.trace.time_windows)) == (1, 0)


async def test_a_window_of_the_request_is_the_only_one(lives: Memory) -> None:
    window = TimeWindow(start=datetime(2022, 1, 1, tzinfo=UTC), end=datetime(2022, 12, 31, tzinfo=UTC))
    outcome = await lives.ask("What did Ann do before her marriage, last week?", temporal_window=window)
    assert windows(outcome) == [("2022-01-01", "2022-12-31", "request")]


async def test_a_year_narrows_what_an_event_leaves_open(lives: Memory) -> None:
    outcome = await lives.ask("What did Ann do in 2022 after the wedding?")
    assert windows(outcome) == [("2022-01-01", "2022-12-31", "event")]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did we have for lunch last week?", "We had soup for lunch."),
        ("What did we have for lunch on the day before yesterday?", "We had rice for lunch."),
        ("lunch in December", "We had goose for lunch."),
        ("What did we have for lunch two weekends ago?", "We had beans for lunch."),
    ],
)
@pytest.mark.feature("S7")
async def test_the_time_of_the_question_decides_between_like_facts(memory: Memory, question: str, first: str) -> None:
    for day, dish in (("2023-12-24", "goose"), ("2024-02-25", "beans"), ("2024-02-28", "soup"), ("2024-03-04", "rice")):
        await memory.retain(f"We had {dish} for lunch.", timestamp=f"{day}T12:00:00+08:00")
    assert (await memory.texts(question, query_timestamp=NOW))[0] == first


async def test_words_of_a_relative_time_are_not_searched(memory: Memory) -> None:
    await memory.retain("Ann reads The Week every last day.", timestamp="2020-01-01T12:00:00Z")
    await memory.retain("Ann fed the ducks.", timestamp="2024-02-28T12:00:00+08:00")
    outcome = await memory.ask("What did Ann do last week?", query_timestamp=NOW)
    assert texts(outcome)[0] == "Ann fed the ducks."
    assert "week" not in outcome.trace.terms
    assert "2024" in (await memory.ask("What did Ann do in 2024?", query_timestamp=NOW)).trace.terms


@pytest.mark.feature("S7")
async def test_a_time_filter_leaves_out_what_a_window_only_ranks(lives: Memory) -> None:
    window = TimeWindow(start=datetime(2022, 1, 1, tzinfo=UTC), end=datetime(2022, 12, 31, tzinfo=UTC))
    ranked = await lives.texts("Ann", temporal_window=window)
    filtered = await lives.texts("Ann", time_filter=TimeFilter(window=window, on=TimeField.OCCURRED))
    assert len(ranked) > len(filtered)
    assert "Ann joined a choir in a church." in filtered


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("timestamp", "question", "now"),
    [
        # Told in the small hours: the day is that of the speaker's zone, whatever the server's clock says.
        ("2025-07-25T02:00:00+09:00", "What did Ann do on 25 July 2025?", "2025-07-26T09:00:00+09:00"),
        ("2025-07-25T02:00:00+09:00", "What did Ann do yesterday?", "2025-07-26T08:55:00+09:00"),
        ("2025-07-25T02:00:00Z", "What did Ann do on 25 July 2025?", "2025-07-26T09:00:00Z"),
    ],
)
async def test_days_are_those_of_the_zone_that_was_given(
    memory: Memory, timestamp: str, question: str, now: str
) -> None:
    await memory.retain("Ann fed the ducks.", timestamp=timestamp)
    outcome = await memory.ask(question, query_timestamp=datetime.fromisoformat(now), trace=True)
    (window,) = outcome.trace.time_windows
    told = datetime.fromisoformat(timestamp)
    assert window.window.start is not None
    assert window.window.end is not None
    assert window.window.start <= told <= window.window.end


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("timestamp", "occurred"),
    [("2026-03-02T07:00:00Z", "2026-03-01"), ("2026-03-02", "2026-03-01"), ("unset", None)],
)
async def test_a_relative_time_is_stored_as_its_day_or_not_at_all(
    memory: Memory, timestamp: str, occurred: str | None
) -> None:
    await memory.retain("yesterday the sensors failed", timestamp=timestamp)
    (fact,) = (await memory.ask("sensors")).results
    assert fact.fact.text == "yesterday the sensors failed"
    start: Any = fact.fact.occurred_start
    assert (start and start.date().isoformat()) == occurred


@pytest.mark.feature("R3")
@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("Ann studied there in 2015.", "2015-01-01", "2015-12-31"),
        ("The bridge opened in March 2026.", "2026-03-01", "2026-03-31"),
        ("我们去年夏天去了海边。", "2025-06-01", "2025-08-31"),
        ("Ann swims every Monday.", None, None),
        ("In general Ann likes tea.", None, None),
        ("Did Ann swim yesterday?", None, None),
    ],
)
async def test_coarse_times_cover_all_they_name(
    memory: Memory, words: str, first: str | None, last: str | None
) -> None:
    await memory.retain(words, timestamp="2026-05-01T12:00:00Z")
    (fact,) = (await memory.ask(words)).results
    start, end = fact.fact.occurred_start, fact.fact.occurred_end
    assert (start and start.date().isoformat(), end and end.date().isoformat()) == (first, last)
