"""Months and days of the week that stand as values in a row."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.domain.grounding_rows import row_times

SAID = datetime(2024, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("month = May; sales = 12; colour = red", ["May"]),
        ("June; 17\nJul.; 18", ["June", "July"]),
        ("year = 2023; month = Sept; sales = 12", ["September", "September 2023"]),
        ("Dec 2022 | 4", ["December", "December 2022"]),
        ("| May | June |\n| 12 | 17 |", ["May", "June"]),
        ("Month: May, sales: 12", ["May"]),
        ("May,12", ["May"]),
        ("day = Sat; visitors = 3", ["Saturday"]),
        ("Thanks, May, I may come.", []),
        ("colour = red; sales = 12", []),
    ],
)
def test_the_values_of_rows_that_are_times(text: str, told: list[str]) -> None:
    assert [mention.text for mention in row_times(text, SAID)] == told
