"""Whose time is the time of a fact."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Reading, fact, facts

Read = Callable[..., Reading]


async def _year(read: Reading, text: str, what: str) -> int | None:
    await read.engine.retain("b", [ItemInput(content=text, timestamp="2023-05-08T14:00:00Z")])
    found = (await read.engine.memories.list("b", FactFilter(), 10)).items
    (only,) = [one for one in found if one.text.startswith(what.rstrip("."))]
    return only.occurred_start.year if only.occurred_start is not None else None


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("Bob: I moved to Oslo.\nAnn: I moved to Rome in 2020.", "Bob moved to Oslo.", 1),
        ("Ann: I moved to Rome in 2020.\nBob: I moved to Oslo.", "Bob moved to Oslo.", 2),
        ("Bob: I bought a boat.\nAnn: My son was born in 2020.", "Bob bought a boat.", 1),
        ("小波：我搬到了奥斯陆。\n小安：我在2020年结了婚。", "小波搬到了奥斯陆。", 1),
    ],
)
async def test_what_another_says_of_himself_dates_nothing(reading: Read, text: str, what: str, line: int) -> None:
    words = "2020年" if "2020年" in text else "in 2020"
    read = reading([facts(fact(what, line, time_words=words, start="2020"))])
    assert await _year(read, text, what) is None


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("Bob: I moved to Oslo in 2020.", "Bob moved to Oslo.", 1),
        ("Ann: In 2020 I was abroad.\nBob: Where?\nAnn: I lived in Rome.", "Ann lived in Rome.", 3),
        ("Ann: When did you move to Oslo?\nBob: In 2020.", "Bob moved to Oslo.", 1),
        ("Ann: You moved to Oslo in 2020, right?\nBob: I moved to Oslo, yes.", "Bob moved to Oslo.", 2),
        ("Ann: I moved to Rome in 2020.\nBob: I moved then too, to Oslo.", "Bob moved to Oslo.", 2),
        ("Ann: The flood was in 2020.\nBob: I lost my boat in the flood.", "Bob lost his boat in the flood.", 2),
        ("Ann: We met in 2020.\nBob: I met you in Oslo.", "Bob met Ann in Oslo.", 2),
        ("Ann: I heard the fair was in 2020.\nBob: I sold my boat at the fair.", "Bob sold his boat at the fair.", 2),
        ("Bob: Ann got a boat.\nAnn: I got it in 2020.", "Ann got a boat.", 1),
    ],
)
async def test_a_time_of_another_line_may_be_meant(reading: Read, text: str, what: str, line: int) -> None:
    read = reading([facts(fact(what, line, time_words="in 2020", start="2020"))])
    assert await _year(read, text, what) == 2020
