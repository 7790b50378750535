"""The ways in which people ask about time, kind by kind, and what only looks like one: the files in ``tables``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from hindsight_server.domain.time import find_events, find_times

from .test_phrases import WEDNESDAY, bounds

TABLES = Path(__file__).parent / "tables"
ASKED = datetime.fromisoformat(WEDNESDAY)


def lines(name: str) -> list[str]:
    written = (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in written if line and not line.startswith("#")]


def table(name: str) -> list[tuple[str, str]]:
    return [(words.strip(), meaning.strip()) for words, meaning in (line.split("|") for line in lines(name))]


@pytest.mark.parametrize(("phrase", "meaning"), table("english") + table("chinese"))
@pytest.mark.feature("S7")
def test_a_phrase_is_one_time_and_means_what_people_mean(phrase: str, meaning: str) -> None:
    (mention,) = find_times(phrase, ASKED)
    assert mention.bounds == bounds(meaning, ASKED)


@pytest.mark.parametrize("text", lines("no_times"))
@pytest.mark.feature("R3")
def test_what_is_no_time_sets_none(text: str) -> None:
    assert [one.text for one in find_times(text, ASKED)] == []


@pytest.mark.parametrize("line", lines("events"))
@pytest.mark.feature("S7")
def test_what_a_question_gives_by_an_event(line: str) -> None:
    question, _, meant = (part.strip() for part in line.partition("|"))
    found = [
        f"{one.event} / {one.relation.value}" + (f" / {one.unit} {one.count}" if one.unit else "")
        for one in find_events(question, find_times(question, ASKED))
    ]
    assert "; ".join(found) == meant
