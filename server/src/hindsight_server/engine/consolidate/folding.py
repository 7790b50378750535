"""The numbers by which recall knows an observation and its facts as one thing said twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hindsight_server.domain.identity import fold_number
from hindsight_server.domain.model import Fact, Interval


def fold_of(fact: Fact) -> int:
    """As retain numbers it, but for words that speak of a time which nobody could tell."""
    occurred = None
    if fact.occurred_start is not None and fact.occurred_end is not None:
        occurred = Interval(start=fact.occurred_start, end=fact.occurred_end)
    return fold_number(fact.text, speaker=fact.speaker or fact.role, occurred=occurred, fact_type=fact.fact_type.value)


def fold_with(text: str, facts: Iterable[Fact]) -> int:
    """The number of the fact that a text only says again; 0 when it says something of its own."""
    for fact in facts:
        number = fold_of(fact)
        if fold_of(replace(fact, text=text)) == number:
            return number
    return 0
