"""What a line only plans or supposes is not kept as a fact when a model tells it as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Reading, fact, facts

Read = Callable[..., Reading]


async def _kept(reading: Read, text: str, *told: str) -> tuple[list[str], dict[str, int]]:
    read = reading([facts(*(fact(one) for one in told))])
    outcome = await read.engine.retain("b", [ItemInput(content=text, timestamp="2024-04-01T10:00:00Z")])
    memories = (await read.engine.memories.list("b", FactFilter(), 10)).items
    return [one.text for one in memories], dict(outcome.dropped_facts)


@pytest.mark.feature("R8")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ann: I might move to Oslo in May.", "Ann is moving to Oslo in May."),
        ("Ann: I plan to visit Lima in June.", "Ann visited Lima in June."),
        ("小安：我可能五月搬去奥斯陆。", "小安五月搬去了奥斯陆。"),
    ],
)
async def test_a_fact_that_lost_its_hedge_is_dropped_and_the_line_stays(reading: Read, text: str, told: str) -> None:
    kept, dropped = await _kept(reading, text, told)
    assert kept == [text.replace("：", ": ")] or kept == [text]
    assert dropped == {"hedged": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ann: I might move to Oslo in May.", "Ann is considering a move to Oslo in May."),
        ("Ann: I plan to visit Lima in June.", "Ann will visit Lima in June."),
        ("Ann: I bought a car, maybe we'll drive to Rome.", "Ann bought a car."),
        ("小安：我打算六月去利马。", "小安计划六月去利马。"),
    ],
)
async def test_a_fact_that_keeps_its_hedge_holds(reading: Read, text: str, told: str) -> None:
    kept, dropped = await _kept(reading, text, told)
    assert told in [one.partition(" | ")[0] for one in kept]
    assert dropped == {}


async def test_a_reason_that_lost_its_hedge_is_left_out(reading: Read) -> None:
    text = "Ann: I sold the car, I might move to Oslo."
    read = reading([facts(fact("Ann sold the car.", why="Ann moved to Oslo"))])
    outcome = await read.engine.retain("b", [ItemInput(content=text)])
    memories = (await read.engine.memories.list("b", FactFilter(), 10)).items
    assert "Ann sold the car." in [one.text for one in memories]
    assert outcome.dropped_facts == {"part_hedged": 1}
