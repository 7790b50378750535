"""Reading a question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.time import find_times
from hindsight_server.engine.recall.question import MAX_QUERY_TOKENS, Question, parse
from hindsight_server.engine.recall.speakers import SpeakerNames
from hindsight_server.engine.recall.types import RecallQuery, TimeWindow

NOW = datetime(2024, 11, 5, 12, tzinfo=UTC)


def read(text: str, **options: object) -> Question:
    return parse(RecallQuery(query=text, **options), Analyzer(), find_times, NOW)  # type: ignore[arg-type]


@pytest.mark.feature("S8")
@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("what is shopify-prod-key-2024 for?", ("shopify-prod-key-2024",)),
        ("Is USE-001 done, and v1.2.3?", ("USE-001", "v1.2.3")),
        ("mail ann@example.org about MAX_RETRY_COUNT", ("ann@example.org", "MAX_RETRY_COUNT")),
        ("查一下shopify-prod-key-2024是什么", ("shopify-prod-key-2024",)),
        ("ticket 4711234", ("4711234",)),
        ("What happened on 2023-05-01 at 10:30am, in 2024, on the 3rd?", ()),
        ("a well-known state-of-mind and the 90s", ("state-of-mind",)),
        ("don't stop, it's 100%", ()),
    ],
)
def test_identifiers(text: str, identifiers: tuple[str, ...]) -> None:
    assert read(text).identifiers == identifiers


def test_quotations() -> None:
    assert read('who said "Never Again" or “so be it” or 「再见」?').quoted == ("never again", "so be it", "再见")
    assert read("it's Ann's dog's bone").quoted == ()


@pytest.mark.parametrize("text", ["", "   ", "?!…", "🎉🎉", "---"])
def test_a_query_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no word") as refused:
        read(text)
    assert refused.value.field == "query"


def test_a_long_query_is_cut_and_says_so() -> None:
    question = read("tomato " * 2000)
    assert question.truncated
    assert Analyzer().count_tokens(question.text) <= MAX_QUERY_TOKENS
    assert "cut" in question.notes[0]
    assert not read("tomato").truncated


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("When did Ann move?", True),
        ("How long has she lived there?", True),
        ("她什么时候搬家的？", True),
        ("Whenever I like", False),
        ("Where did Ann move?", False),
    ],
)
def test_questions_for_a_time(text: str, when: bool) -> None:
    assert read(text).asks_when is when


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("What books has Ann read?", True),
        ("Which old friends did she visit?", True),
        ("In what ways is she active?", True),
        ("What are her hobbies?", True),
        ("How many times has Ann been to Oslo?", True),
        ("她读过哪些书？", True),
        ("她去过几次奥斯陆？", True),
        ("How many years has Ann lived here?", False),
        ("几个月前搬的家？", False),
        ("What does Ann's dog eat?", False),
        ("What did Ann say?", False),
        ("Which book has she read?", False),
        ("When did Ann move?", False),
    ],
)
def test_questions_for_several_things(text: str, many: bool) -> None:
    assert read(text).asks_for_many is many


@pytest.mark.feature("S7")
def test_times_in_the_words_and_given_ones() -> None:
    (spring,) = read("what did we do three days ago").times
    assert spring.window.start is not None
    assert spring.window.start.date().isoformat() == "2024-11-02"
    assert [time.yearless for time in read("what happened in May, and in June 2020?").times] == [True, False]
    given = TimeWindow(start=NOW)
    assert [time.window for time in read("three days ago", temporal_window=given).times] == [given]


def test_a_date_parser_that_fails_stops_nothing() -> None:
    def broken(text: str, now: datetime) -> list[object]:
        raise OverflowError

    question = parse(RecallQuery(query="in May"), Analyzer(), broken, NOW)  # type: ignore[arg-type]
    assert question.times == ()
    assert "OverflowError" in question.notes[0]


def test_speakers_named() -> None:
    names = SpeakerNames()
    names.learn(["Ann Lee", "Bo", "user", "小明", "Ann Ray"])
    assert names.named("What did Bo tell Ann Lee?") == [[1], [0]]
    assert names.named("ann's dog") == [[0, 4]]
    assert names.named("小明说了什么") == [[3]]
    assert names.named("what does the user want?") == []
    names.learn(["Ann Lee", "Bo", "user", "小明", "Ann Ray", "Cy"])
    assert names.named("Cy?") == [[5]]
