"""Whether statements say no more than their texts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.domain.grounding import Evidence
from hindsight_server.domain.grounding_times import (
    as_claimed,
    claimed,
    matching,
    times_told,
    untold,
    written_out,
)

_SAID = datetime(2023, 5, 8, 14, tzinfo=UTC)  # a Monday
_EVIDENCE = Evidence(
    words=["I moved to Berlin with my two kids, next to Zoë's office at SAP.", "张伟在北京买了三本书", "We use GPT-4."],
    names=["Context about New York City"],
    speakers=["Ann"],
)


@pytest.mark.parametrize(
    "text",
    [
        *("Ann moved to Berlin.", "Zoe works at SAP.", "They use GPT-4.", "Yesterday the user moved."),
        *("Ann likes NYC.", "The Assistant spoke to Ann's kids.", "In May it rained."),
    ],
)
def test_names_stand_in_the_text_whatever_their_writing(text: str) -> None:
    assert _EVIDENCE.missing_name(text) is None


@pytest.mark.parametrize(
    ("text", "name"), [("Bob moved.", "Bob"), ("Ann met Victor.", "Victor"), ("GPT-5 runs.", "GPT-5")]
)
def test_a_name_that_stands_nowhere_is_found(text: str, name: str) -> None:
    assert _EVIDENCE.missing_name(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Slowly we ate soup.", None),
        ("We ate. Slowly, soup.", None),
        ("We ate - Slowly, soup.", None),
        ("We ate\n   Slowly, soup.", None),
        ("We ate: 'Slowly, soup.'", None),
        ("We ate “Slowly, soup.”", None),
        ("We ate Slowly, soup.", "Slowly"),
        ("We ate -Slowly, soup.", "Slowly"),
        ("We ate 'Slowly, soup.'", "Slowly"),
    ],
)
def test_a_capital_makes_an_ordinary_word_a_name_unless_it_begins_something(text: str, name: str | None) -> None:
    evidence = Evidence(words=["we ate soup"], ordinary=lambda word: word == "slowly")
    assert evidence.missing_name(text) == name


def test_listed_names_are_looked_for_in_any_case_and_script() -> None:
    assert _EVIDENCE.missing_name("ann met bob", ["bob", "ann", "somebody else"]) == "bob"
    assert _EVIDENCE.missing_name("张伟和李雷见面", ["张伟", "李雷"]) == "李雷"


@pytest.mark.parametrize(
    ("text", "seat", "missing"),
    [
        ("Ann moved with 2 kids.", 0, None),
        ("Ann moved with three kids.", 0, "three"),
        ("张伟买了3本书", 1, None),
        ("张伟买了五本书", 1, "五"),
        ("Ann bought three kids books.", 0, "three"),  # the three are elsewhere, of something else
        ("They use GPT-4.", 2, None),
    ],
)
def test_numbers_are_those_of_the_line(text: str, seat: int, missing: str | None) -> None:
    assert _EVIDENCE.missing_number(text, seat) == missing


@pytest.mark.parametrize(
    ("text", "foreign"),
    [("张伟在北京买了书", None), ("张伟在无锡", "无锡"), ("因为张伟需要书", None), ("张伟喜欢游泳", "游泳")],
)
def test_chinese_is_made_of_the_words_of_its_text(text: str, foreign: str | None) -> None:
    assert _EVIDENCE.foreign_words(text) == foreign


def test_what_shares_nothing_is_an_invention() -> None:
    assert _EVIDENCE.shares_words("Ann relocated to Berlin with her kids")
    assert not _EVIDENCE.shares_words("Ann hates spiders")
    assert not _EVIDENCE.shares_words("Zoe is allergic to penicillin")


@pytest.mark.parametrize(
    ("statement", "text", "holds"),
    [
        ("on 5 May 2023", "last Friday", True),
        ("in May 2023", "on 5 May 2023", True),
        ("on 5 May 2023", "in May 2023", False),
        ("on 6 May 2023", "last Friday", False),
        ("on Friday", "on Friday", True),
        ("on 9 June 2024", "on 9 June", True),
        ("on 9 June 1999", "on 9 June", False),
    ],
)
def test_dates_follow_from_told_times(statement: str, text: str, holds: bool) -> None:
    assert (untold(times_told(statement, _SAID), _SAID, times_told(text, _SAID)) is None) is holds


@pytest.mark.parametrize(
    ("start", "words", "read"),
    [
        ("2023-05-12", "Friday", "2023-05-12"),  # the next one
        ("2023-05-13", "Friday", None),
        ("2024-05-10", "Friday", None),
        ("2023-05-23", "the 23rd", "2023-05-23"),
        ("2023-05-24", "the 23rd", None),
        ("2024-06-09", "9 June", "2024-06-09"),
        ("2029-06-09", "9 June", None),
        ("0001-06-09", "9 June", None),
        ("1970-01-01", "yesterday", None),
    ],
)
def test_a_claim_may_choose_among_the_readings_of_words(start: str, words: str, read: str | None) -> None:
    mentions = times_told(words, _SAID)
    interval = claimed(start, "")
    assert interval is not None
    mention = mentions[0] if mentions else None
    found = as_claimed(interval, words, mention, _SAID)
    if mention is not None and matching(interval, [mention]) is not None:
        found = mention.interval
    assert (found.start.date().isoformat() if found else None) == read


def test_claims_that_are_no_dates_are_none() -> None:
    assert [claimed(text, "") for text in ("", "soon", "2023-13-01", "2023-02-30", "May 2023")] == [None] * 5


def test_times_are_written_out_in_the_language_of_the_text() -> None:
    written = []
    for start, end in (("2023-05-05", ""), ("2023-05", ""), ("2023", ""), ("2023-05-05", "2023-05-07")):
        interval = claimed(start, end)
        assert interval is not None
        written += [written_out(interval, "Ann"), written_out(interval, "安")]
    assert written == [
        *("5 May 2023", "2023年5月5日", "May 2023", "2023年5月", "2023", "2023年"),
        *("5 May 2023 to 7 May 2023", "2023年5月5日至2023年5月7日"),
    ]


# A text, and a statement whose number counts something else.
OF_ANOTHER_KIND = [
    ("The call is at 9:45 am.", "The call is at 9:45 pm."),
    ("The call is at 9:45 am.", "The call is at 21:45."),
    ("The call is at 22:30.", "The call is at 10:30 am."),
    ("The call is at 10:30.", "The call is at 22:30."),
    ("The call is at 10:30.", "The call is at 10:30 pm."),
    ("It was -5 degrees in Oslo.", "It was 5 degrees in Oslo."),
    ("It was -5 in Oslo.", "It was 5 °C in Oslo."),
    ("It was 5 degrees in Oslo.", "It was minus 5 degrees in Oslo."),
    ("奥斯陆零下5度。", "奥斯陆5度。"),
    ("It was 5 °C in Oslo.", "It was 5 °F in Oslo."),
    ("The lamp cost 40 euros.", "The lamp cost 40 dollars."),
    ("The lamp cost $40.", "The lamp cost €40."),
    ("The lamp cost forty euros.", "The lamp cost $40."),
    ("台灯40美元。", "台灯40元。"),
    ("Kim weighs 60 kg.", "Kim weighs 60 pounds."),
    ("金波体重60公斤。", "金波体重60磅。"),
    ("The path is 5 km long.", "The path is 5 miles long."),
    ("Kim stayed for 3 weeks.", "Kim stayed for 3 months."),
    ("金波住了3天。", "金波住了3年。"),
    ("Repairs took a month.", "Repairs took a year."),
]
OF_THE_SAME_KIND = [
    ("The call is at 10:30 pm.", "The call is at 22:30."),
    ("The call is at 22:30.", "The call is at 10:30 pm."),
    ("The call is at 9:45 am.", "The call is at 9:45."),
    ("The call is at 3:30.", "The call is at 15:30."),
    ("The call is tonight at 10:30.", "The call is at 22:30."),
    ("Dinner is at 7:30.", "Dinner is at 7:30 pm."),
    ("It was -5 degrees in Oslo.", "It was 5 degrees below zero in Oslo."),
    ("It was minus five in Oslo.", "It was -5 °C in Oslo."),
    ("It was 5 below in Oslo.", "It was -5 degrees in Oslo."),
    ("It was between 3-5 degrees in Oslo.", "It was 5 degrees in Oslo."),
    ("奥斯陆零下五度。", "奥斯陆-5度。"),
    ("Sales: -5% in May.", "Sales fell by 5 percent in May."),
    ("- 5 degrees of the kiln are enough.", "5 degrees of the kiln are enough."),
    ("The lamp cost 40 euros.", "The lamp cost €40."),
    ("The lamp cost 40 euros.", "The lamp cost 40."),
    ("The lamp cost 40.", "The lamp cost 40 euros."),
    ("The lamp cost £40.", "The lamp cost forty pounds."),
    ("The lamp cost US$40.", "The lamp cost 40 US dollars."),
    ("The lamp cost ¥40.", "The lamp cost 40 yuan."),
    ("台灯40块钱。", "台灯40元。"),
    ("Kim weighs 60 pounds.", "Kim weighs 60 lbs."),
    ("Kim bought 0.5 kg of tea.", "Kim bought 500 g of tea."),
    ("Kim bought 500g of tea.", "Kim bought half a pound, or 0.5 kg, of tea."),
    ("The film is 90 minutes long.", "The film is 1.5 hours long."),
    ("Kim stayed for two weeks.", "Kim stayed for 14 days."),
    ("Kim's son is 5.", "Kim's 5-year-old son."),
    ("Kim needs 3 eggs and 3 kg of flour.", "Kim needs 3 kg of flour."),
    ("Kim paid 40 euros for the lamp, then 40 dollars for the desk.", "Kim paid 40 dollars for the desk."),
    ("Repairs took twelve months.", "Repairs took a year."),
    ("Repairs cost 40 a month last year.", "Repairs cost 40 a month for a year."),
    ("Repairs took a month.", "Repairs took a month, not a year."),
    ("Repairs take an hour each, once a week.", "Repairs are done once a week, and take an hour."),
]


@pytest.mark.parametrize(("told", "text"), OF_ANOTHER_KIND)
def test_a_number_of_another_kind_is_found(told: str, text: str) -> None:
    assert Evidence(words=[told]).missing_number(text, 0) is not None


@pytest.mark.parametrize(("told", "text"), OF_THE_SAME_KIND)
def test_a_number_may_be_told_in_another_unit_or_without_one(told: str, text: str) -> None:
    assert Evidence(words=[told]).missing_number(text, 0) is None
