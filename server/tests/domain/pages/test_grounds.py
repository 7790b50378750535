"""What the words of a page may say: names and numbers of its memories; a capital by custom makes no name."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.extract import is_ordinary
from hindsight_server.domain.pages.grounds import Grounds

pytestmark = pytest.mark.feature("F7")

GROUNDS = Grounds(
    ["Ann pays 40 euros a month for the gym."], others=["On Sunday Dune Miller called."], ordinary=is_ordinary
)


@pytest.mark.parametrize(
    "heading",
    ["Cost", "Membership Fees", "Preferences", "Payment", "Fees and payments", "Monthly cost", "Ann's Gym", "Timeline"],
)
def test_the_words_of_a_heading_are_no_names(heading: str) -> None:
    assert GROUNDS.missing("Ann pays 40 euros.", heading) is None


@pytest.mark.parametrize(
    "heading",
    [
        *("Zebulon Quentin's debts", "Debts of Zebulon", "ZEBULON", "Rose", "Jack's Debts", "Berlin", "GPT-4"),
        *("Dune's debts", "Dune", "The Cost in 1987"),
    ],
)
def test_a_name_or_a_number_in_a_heading_must_be_in_a_memory(heading: str) -> None:
    assert GROUNDS.missing("Ann pays 40 euros.", heading) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("Fees are 40 euros.", "- Payment: 40 euros\n- Membership costs 40 euros", "**Membership Fees**: 40 euros"),
        *("The gym takes 40. Cards are fine.", "| Cost | 40 |"),
    ],
)
def test_a_word_that_begins_a_sentence_is_no_name(text: str) -> None:
    assert GROUNDS.missing(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Zebulon pays 40 euros.", "the name Zebulon"),
        ("Fees go to Dune.", "the name Dune"),
        ("Dune pays 40 euros.", "the name Dune"),
        ("**Zebulon Quentin** pays.", "the name Zebulon"),
        ("Fees are 41 euros.", "the number 41"),
    ],
)
def test_what_no_memory_holds_is_told(text: str, told: str) -> None:
    assert GROUNDS.missing(text) == told
