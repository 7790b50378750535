"""The rules of a language, made from its data file when the first text in that language comes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from hindsight_server.domain.time import numeric
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.context import Context, contexts_of
from hindsight_server.domain.time.events import EventGrammar
from hindsight_server.domain.time.kinds import KINDS, Entry
from hindsight_server.domain.time.rule import Rule
from hindsight_server.domain.time.words import Words, load, words_of

_PLACE = re.compile(r"\{([a-z_]+)\}")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_HAN = re.compile("[\u4e00-\u9fff]")
_YEAR_DIGITS, _DAY_DIGITS = 4, 2
_LETTERS_LOOKED_AT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """What a text is read with.

    Args:
        on: for each trigger word the rules to try there, with their numbers.
        size: how many such rules there are.
        spaceless: rules of scripts without spaces, tried where one of their characters is in the text.
        characters: all those characters.
    """

    on: Mapping[str, list[tuple[int, Rule]]]
    size: int
    spaceless: tuple[Rule, ...]
    characters: frozenset[str]
    context: Context
    events: tuple[EventGrammar, ...] = ()

    def at_digits(self, count: int, *, in_date: bool) -> list[tuple[int, Rule]]:
        """The rules to try at a run of so many digits."""
        name = "#4" if count == _YEAR_DIGITS else "#2" if count <= _DAY_DIGITS else ""
        return (self.on.get(f"{name}-", []) if in_date else []) + self.on.get(name, [])


def grammar_of(words: Set[str], text: str) -> Grammar:
    """The grammar of a text: English with Chinese, unless its words or letters tell of another language."""
    return _grammar(*_languages(words, text))


def _languages(words: Set[str], text: str) -> tuple[str, ...]:
    if is_japanese(text):
        return ("ja",)
    hints = _hints()
    if hints.foreign.isdisjoint(words):
        return ("en", "zh")
    counts = {code: len(words & known) for code, known in hints.words.items()}
    english = counts.pop("en")
    best = max(counts, key=counts.__getitem__)
    is_sure = counts[best] > 1 or not hints.strong[best].isdisjoint(words)
    return (best,) if is_sure and counts[best] > english else ("en", "zh")


def is_japanese(text: str) -> bool:
    """Whether kana make up some part of a text's beginning; Chinese borrows one now and then."""
    if text.isascii() or not _KANA.search(text):
        return False
    start = text[:_LETTERS_LOOKED_AT]
    return 8 * len(_KANA.findall(start)) > len(_HAN.findall(start))


@dataclass(frozen=True, slots=True)
class _Hints:
    """Words that tell the language: all of each, those that do so alone, and those that English has not."""

    words: Mapping[str, frozenset[str]]
    strong: Mapping[str, frozenset[str]]
    foreign: frozenset[str]


@cache
def _hints() -> _Hints:
    lists = {code: [frozenset(part.split()) for part in line.split("|")] for code, line in load("hints").items()}
    words = {code: frozenset().union(*parts) for code, parts in lists.items()}
    foreign = frozenset().union(*(known for code, known in words.items() if code != "en")) - words["en"]
    return _Hints(words, {code: parts[-1] for code, parts in lists.items()}, foreign)


@cache
def _grammar(*codes: str) -> Grammar:
    word_rules: list[Rule] = list(numeric.RULES)
    spaceless: list[Rule] = []
    languages = []
    for code in codes:
        data = load(code)
        words = words_of(data)
        languages.append((data, words))
        (spaceless if data.get("spaceless") else word_rules).extend(_rules(data, words))
    triggers = frozenset().union(*(rule.triggers for rule in word_rules))
    return Grammar(
        on={
            trigger: [(place, rule) for place, rule in enumerate(word_rules) if trigger in rule.triggers]
            for trigger in triggers
        },
        size=len(word_rules),
        spaceless=tuple(spaceless),
        characters=frozenset().union(*(rule.triggers for rule in spaceless)),
        events=tuple(
            EventGrammar(data["events"], partial(_expanded, _places(data, words)), words)
            for data, words in languages
            if "events" in data
        ),
        context=contexts_of([(data, words, partial(_expanded, _places(data, words))) for data, words in languages]),
    )


def _rules(data: Mapping[str, Any], words: Words) -> Iterator[Rule]:
    places = _places(data, words)
    for entry in data["rules"]:
        pattern = re.compile(_expanded(places, entry["pattern"]), re.IGNORECASE)
        on = entry["on"] if isinstance(entry["on"], list) else list(entry["on"])
        triggers = frozenset(trigger for name in on for trigger in _triggers(name, words))
        starts = frozenset(start for name in entry.get("starts", ()) for start in _triggers(name, words))
        yield Rule(pattern, _resolver(entry, words), triggers, entry.get("lead", 0), starts)


def _resolver(entry: Entry, words: Words) -> Any:
    kind, refused = KINDS[entry["kind"]], re.compile(entry["not"]) if "not" in entry else None

    needs_past = entry.get("tense") == "back"

    def resolve(match: re.Match[str], anchor: Anchor) -> Span | None:
        if (needs_past and not anchor.looks_back) or (refused and refused.match(match[0])):
            return None
        return kind(match, anchor, words, entry)

    return resolve


def _triggers(name: str, words: Words) -> Iterable[str]:
    lists: dict[str, Iterable[str]] = {
        "$months": words.month,
        "$weekdays": words.weekday,
        "$seasons": words.season,
        "$units": words.unit,
        "$numbers": [word.split("-")[0].split()[0] for word in (*words.number, *words.vague)],
        "$ordinals": [word.split("-")[0] for word in words.ordinal],
        "$plural_units": [f"{unit}s" for unit in words.unit],
    }
    return lists.get(name, (name,))


def _places(data: Mapping[str, Any], words: Words) -> dict[str, str]:
    """What stands for ``{name}`` in patterns: fragments of the file, and the words of a table."""
    holidays = _any(words.holiday).replace("'", "['’]")
    tables = {
        "month": words.month,
        "weekday": words.weekday,
        "season": words.season,
        "unit": words.unit,
        "part": words.part,
        "step": words.step,
        "near": words.near,
        "portion": words.portion,
    }
    places = {name: f"(?P<{name}>{_any(table)})" for name, table in tables.items()}
    places |= {f"{name}s": _any(table) for name, table in tables.items()}
    places["count"] = rf"(?P<count>\d{{1,3}}|{_counts(data['words'], words)})"
    places |= {"holiday": f"(?P<holiday>{holidays})", "holidays": holidays}
    fragments: dict[str, str] = data.get("patterns", {})
    return places | fragments


def _counts(tables: Mapping[str, Any], words: Words) -> str:
    """All words for numbers; "twenty-five" and the like in a short form, since they are many."""
    tens = tables.get("tens", {})
    others = [word for word in (*words.number, *words.vague) if word.replace("-", " ").split()[0] not in tens]
    compounds = [f"(?:{_any(tens)})(?:[- ](?:{_any(tables['ones'].split())}))?"] if tens else []
    return "|".join([*compounds, _any(others)])


def _expanded(places: Mapping[str, str], pattern: str) -> str:
    while True:
        filled = _PLACE.sub(lambda place: places[place[1]], pattern)
        if filled == pattern:
            return pattern
        pattern = filled


def _any(names: Iterable[str]) -> str:
    return "|".join(
        re.escape(name).replace(r"\ ", " ").replace("'", "'") for name in sorted(names, key=len, reverse=True)
    )
