"""Months and days of the week that stand as values in a row, as of a table or a chart. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from hindsight_server.domain.grounding_times import times_told
from hindsight_server.domain.time import TimeMention

_MONTHS_TEXT = "january february march april may june july august september october november december"
_DAYS_TEXT = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS = {form: name for name in _MONTHS_TEXT.split() for form in (name, name[:3], name[:4])}
_DAYS = {form: name for name in _DAYS_TEXT.split() for form in (name, name[:3], name[:4])}
_IS_ROW = re.compile(r"[;；|\t=]")
_BETWEEN = re.compile(r"[;；|\t=,，:：]")
_NUMBER = re.compile(r"[^\w]*\d[\d.,]*[^\w]*")
_VALUE = re.compile(r"([a-z]+)\.?(?:,? ((?:19|20)\d\d))?")
_YEAR = re.compile(r"(?:19|20)\d\d")


def row_times(text: str, said: datetime | None) -> list[TimeMention]:
    """The months and days of the week that stand by themselves in the rows of a text, which sentences don't name so.

    Example:
        >>> [mention.text for mention in row_times("month = May; sales = 12", datetime(2024, 4, 1))]
        ['May']
    """
    return [mention for row in text.splitlines() for words in _named(row) for mention in times_told(words, said)]


def _named(row: str) -> Iterator[str]:
    cells = [cell.strip().casefold() for cell in _BETWEEN.split(row)]
    if len(cells) < 2 or not (_IS_ROW.search(row) or any(_NUMBER.fullmatch(cell) for cell in cells)):
        return
    years = [cell for cell in cells if _YEAR.fullmatch(cell)]
    for cell in cells:
        value = _VALUE.fullmatch(cell)
        if value is None:
            continue
        name, year = value.groups()
        if name in _DAYS and year is None:
            yield f"on {_DAYS[name].title()}"
        elif name in _MONTHS:
            yield f"in {_MONTHS[name].title()}"
            yield from (f"in {_MONTHS[name].title()} {one}" for one in ([year] if year else years))
