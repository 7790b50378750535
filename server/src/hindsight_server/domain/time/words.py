"""The words of a language, read from its data file when the first text in that language comes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib import resources
from typing import Any

from hindsight_server.domain.time import calendar as cal

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holiday:
    """A day of the year: fixed, the nth weekday of a month, counted from Easter, or looked up year by year.

    Args:
        after: days from the one that is looked up to this one.
        lead: days from this one to the first of the holidays around it.
        days: how long the holidays around it are.
        whole: whether the bare name means all these days.
    """

    month: int = 1
    day: int = 0
    weekday: int = 0
    nth: int = 0
    easter: int | None = None
    moving: str | None = None
    after: int = 0
    lead: int = 0
    days: int = 1
    whole: bool = False

    def of(self, year: int) -> date:
        """The day in a year. Raises ValueError when it is not known for that year."""
        if self.moving is not None:
            first, days = _moving()
            if not first <= year < first + len(days[self.moving]):
                raise ValueError(f"{self.moving} is not known for {year}")
            written = days[self.moving][year - first]
            return date(year, int(written[:2]), int(written[2:])) + timedelta(days=self.after)
        if self.easter is not None:
            return cal.easter(year) + timedelta(days=self.easter)
        if not self.nth:
            return date(year, self.month, self.day)
        if self.nth < 0:
            last_day = cal.month(year, self.month).end.date()
            return last_day - timedelta(days=(last_day.weekday() - self.weekday) % 7)
        first_day = date(year, self.month, 1)
        return first_day + timedelta(days=(self.weekday - first_day.weekday()) % 7 + 7 * (self.nth - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the time words of a language mean; all keys are in lower case.

    Args:
        near: days counted from today, with the part of the day where the word names one.
        step: "last", "this", "next", as -1, 0, 1.
        vague: numbers that are none, as the least and the most they mean.
        portion: ``early``, ``mid`` or ``late``.
    """

    month: Mapping[str, int]
    weekday: Mapping[str, int]
    season: Mapping[str, str]
    unit: Mapping[str, str]
    number: Mapping[str, float]
    ordinal: Mapping[str, int]
    vague: Mapping[str, tuple[int, int]]
    part: Mapping[str, str]
    step: Mapping[str, int]
    near: Mapping[str, tuple[int, str | None]]
    portion: Mapping[str, str]
    holiday: Mapping[str, Holiday]

    def count(self, text: str) -> float:
        """The number that a word or digits stand for. Raises ValueError for anything else."""
        lowered = text.lower()
        known = self.number.get(lowered)
        return number(lowered) if known is None else known

    def rank(self, text: str) -> int:
        """The place in an order that a word or digits stand for. Raises ValueError for anything else."""
        lowered = text.lower().replace(" ", "-")
        known = self.ordinal.get(lowered)
        return number(lowered) if known is None else known


def number(text: str) -> int:
    """A number written with digits or with Chinese characters up to 999.

    Raises:
        ValueError: it is none.

    Example:
        >>> number("二十三"), number("12")
        (23, 12)
    """
    if text.isdecimal():
        return int(text)
    if not text or not all(char in _DIGITS or char in "十百" for char in text):
        raise ValueError(f"{text[:20]!r} is no number")
    if len(text) > 1 and not set(text) & set("十百"):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = digit = 0
    for char in text:
        if char in "十百":
            total += (digit or 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            digit = _DIGITS[char]
    return total + digit


def load(name: str) -> dict[str, Any]:
    """A data file of the folder ``languages``."""
    folder = resources.files("hindsight_server.domain.time") / "languages"
    return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _moving() -> tuple[int, Mapping[str, list[str]]]:
    data = load("moving")
    return data["first_year"], {name: days.split() for name, days in data["days"].items()}


def words_of(data: Mapping[str, Any]) -> Words:
    """The tables ``words`` and ``holidays`` of a data file."""
    tables: Mapping[str, Any] = data["words"]
    return Words(
        month=_numbered(tables["months"], 1),
        weekday=_numbered(tables["weekdays"], 0),
        season=_named(tables["seasons"]),
        unit=_named(tables["units"]),
        number=tables.get("numbers", {}) | _compounds(tables.get("tens", {}), tables.get("ones", "").split()),
        ordinal=tables.get("ordinals", {}),
        vague={word: (least, most) for word, (least, most) in tables.get("vague", {}).items()},
        part=_named(tables["parts"]),
        step=tables["steps"],
        near={word: (shift, None) for word, shift in tables["days"].items()}
        | {word: (shift, part) for word, (shift, part) in tables.get("day_parts", {}).items()},
        portion=_named(tables.get("portions", {})),
        holiday={name: _holiday(entry) for entry in data.get("holidays", ()) for name in entry["names"]},
    )


def _holiday(entry: Mapping[str, Any]) -> Holiday:
    return Holiday(**{key: value for key, value in entry.items() if key != "names"})


def _numbered(lines: Iterable[str], first: int) -> dict[str, int]:
    return {name: number for number, names in enumerate(lines, first) for name in _spaced(names)}


def _compounds(tens: Mapping[str, int], ones: Sequence[str]) -> dict[str, float]:
    """ "twenty", "twenty-five" and "twenty five" from "twenty" and the words for one to nine."""
    found: dict[str, float] = {}
    for ten, value in tens.items():
        found[ten] = value
        found |= {f"{ten}{sign}{one}": value + add for add, one in enumerate(ones, 1) for sign in "- "}
    return found


def _named(table: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in _spaced(words)}


def _spaced(names: str) -> list[str]:
    """Words between commas where some have spaces, else between spaces."""
    return [name.strip() for name in names.split(",")] if "," in names else names.split()
