"""Facts that a model reads in the rows of a table or a chart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Reading, fact, facts

CHART = "month = May; sales = 12; colour = red\nmonth = June; sales = 17; colour = blue"


@pytest.mark.parametrize(
    ("text", "told", "dropped"),
    [
        (CHART, "Sales in May were 12.", {}),
        (CHART, "Sales in June were 17.", {}),
        (CHART, "Sales in August were 17.", {"date": 1}),
        ("Sales by month\nJune; 17", "Sales in June were 17.", {}),
        ("year = 2023; month = May; sales = 12", "Sales in May 2023 were 12.", {}),
        ("year = 2023; month = May; sales = 12", "Sales in May 2021 were 12.", {"date": 1}),
        ("day = Sat; visitors = 3", "There were 3 visitors on Saturday.", {}),
        ("day = Sat; visitors = 3", "There were 3 visitors on Sunday.", {"date": 1}),
    ],
)
async def test_a_month_or_a_day_that_stands_as_a_value_is_told(
    reading: Callable[..., Reading], text: str, told: str, dropped: dict[str, int]
) -> None:
    read = reading([facts(fact(told))])
    outcome = await read.engine.retain("b", [ItemInput(content=text, timestamp="2024-04-01T10:00:00Z")])
    kept = (await read.engine.memories.list("b", FactFilter(), 10)).items
    assert outcome.dropped_facts == dropped
    assert (told in [one.text.partition(" | ")[0] for one in kept]) == (not dropped)
