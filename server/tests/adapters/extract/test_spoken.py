"""Words that mention a name if the bank knows one that is written so."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.extract.entities import find_names
from hindsight_server.adapters.extract.spoken import spoken_names


@pytest.mark.parametrize(
    ("text", "fold"),
    [
        ("met theodora at the fair", "theodora"),
        ("eggs from willowbrook farm", "willowbrookfarm"),
        ("the heater in room 12 broke", "room 12"),
        ("jazz at the redwood café", "redwoodcafe"),
        ("quentin oduya's class is full", "quentinoduya"),
        ("Marks and Finch audits in June", "marks&finch"),
        ("Bear built a sauna", "bear"),
    ],
)
def test_a_known_name_would_be_found(text: str, fold: str) -> None:
    assert fold in spoken_names(text)


@pytest.mark.parametrize(
    "text", ["prices rose in may", "the show will start late", "a hot summer on every hill", "今天下雨了"]
)
def test_plain_words_mention_nobody(text: str) -> None:
    assert not {"rose", "may", "will", "hill", "summer", "summerhill"} & set(spoken_names(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("St. Mary's Hospital has an MRI.", "St. Mary's Hospital"),
        ("Johnson & Perry sue.", "Johnson & Perry"),
        ("Second Street has a bakery.", "Second Street"),
        ("Salem, Oregon has cherries.", "Salem, Oregon"),
        ("iPhone 12 Pro is Leon's phone.", "iPhone 12 Pro"),
        ("George Fenn the elder planted it.", "George Fenn the elder"),
        ("Hollis and Wray LLP drew up the will.", "Hollis and Wray LLP"),
        ("孙悦设计了新标志。", "孙悦"),
        ("陈建国负责仓库盘点。", "陈建国"),
        ("上海路堵车。", "上海路"),
    ],
)
def test_a_name_keeps_the_words_that_tell_it_from_others(text: str, name: str) -> None:
    assert name in [mention.name for mention in find_names(text)]


def test_two_given_names_are_two_people() -> None:
    assert [mention.name for mention in find_names("We met Anna & Ben today.")] == ["Anna", "Ben"]
