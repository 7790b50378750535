"""What is left of an answer: sentences whose names and numbers were read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.adapters.extract import is_ordinary
from hindsight_server.domain.pages.grounds import Grounds
from hindsight_server.domain.pages.proved import is_english, proved
from hindsight_server.domain.pages.text import parsed, rendered

pytestmark = pytest.mark.feature("F7")

READ = [
    "Ann moved to Oslo in May 2023 for a job at Equinor.",
    "Ann is allergic to peanuts and shellfish.",
    "Ann runs on Tuesday and Thursday, training for the Oslo Marathon in September 2024.",
    "Ann prefers green tea over coffee; Dr. Wu told her to quit coffee in January 2024.",
]
GROUNDS = Grounds(READ, ordinary=is_ordinary, may_count=True)
PROSE = """# Ann's Profile

Overall, Ann leads an active, health-conscious lifestyle. She moved to Oslo in May 2023 to work at Equinor.

## Health & Fitness

- **Exercise Routine:** Runs twice a week (Tuesdays and Thursdays), preparing for the Oslo Marathon
- Hydration: green tea. Following the advice of Dr. Wu, she has avoided coffee since January 2024.

## Dietary Restrictions and Allergies

| Allergen | Severity |
|---|---|
| Peanuts | Unknown |

Notably, three commitments recur. Currently unclear: whether she is motivated by goals."""


def test_ordinary_prose_stays_as_it_is() -> None:
    left = proved(parsed(PROSE), GROUNDS)
    assert (left.left_out, rendered(left.page)) == ((), rendered(parsed(PROSE)))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ann runs. She runs with Dr. Zebulon. She likes tea.", "Ann runs. She likes tea."),
        ("- Ann runs\n- Zebulon runs", "- Ann runs"),
        ("- Ann runs. Zebulon runs.", "- Ann runs."),
        ("| Who | With |\n|---|---|\n| Ann | Wu |\n| Ann | Zebulon |", "| Who | With |\n|---|---|\n| Ann | Wu |"),
        ("She runs 42 km.", ""),
        ("Ann runs.\n\n## Since 1987\n\nTea.", "Ann runs.\n\nTea."),
    ],
)
def test_a_sentence_goes_by_itself(text: str, left: str) -> None:
    assert rendered(proved(parsed(text), GROUNDS).page) == left


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_whatever_comes_what_is_left_is_a_page(text: str) -> None:
    words = rendered(proved(parsed(text), GROUNDS).page)
    assert rendered(parsed(words)) == words


def test_languages_in_which_a_capital_tells_no_name() -> None:
    assert is_english(PROSE)
    assert is_english("安喜欢喝绿茶。")
    assert not is_english("Die Übersicht: Ann trinkt Tee und läuft mit der Gruppe für den Marathon.")
    assert not is_english("Анна пьёт чай.")
