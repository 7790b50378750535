"""The shape of a model's answer, and reading it as far as it can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hindsight_server.domain.errors import BadModelAnswer
from hindsight_server.domain.model import EntityMention
from hindsight_server.ports.llm import Schema

_MOST_FACTS = 400  # of one passage; a model that goes round in circles writes more
_MOST_CHARS = 2000  # of one part of a fact
_NOTHING = frozenset(
    ["", "n/a", "na", "none", "null", "unknown", "unspecified", "not specified", "-", "无", "未知", "不详"]
)
_WHAT = ("what", "fact", "text", "content", "statement", "event")
_LISTS = ("facts", "memories", "items", "results")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """A fact as a model gives it; what it left out is empty.

    Args:
        number: its place in the answer, from 0.
        line: the number of the line that it was read in, from 1; 0 when the model does not say.
        time_words: the words of the line that tell when it happened.
        start, end: when it happened, as ISO dates.
        caused_by: numbers of the facts that are its causes.
    """

    number: int
    what: str
    when: str = ""
    where: str = ""
    who: str = ""
    why: str = ""
    line: int = 0
    time_words: str = ""
    start: str = ""
    end: str = ""
    entities: tuple[EntityMention, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    caused_by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a model gave of a passage.

    Args:
        facts: None for each that says nothing.
        left_out: facts beyond the most that are looked at.
    """

    facts: tuple[ModelFact | None, ...]
    left_out: int = 0


_ACCEPTED = {"anyOf": [{"properties": {key: {"type": "array"}}, "required": [key]} for key in _LISTS]}
"""An answer with a list in it can be read, whatever its facts lack."""


@cache
def facts_schema() -> Schema:
    """The JSON schema that is asked for."""
    text = {"type": "string"}
    fact = {
        "what": text,
        "when": text,
        "where": text,
        "who": text,
        "why": text,
        "line": {"type": "integer"},
        "time_words": text,
        "start": text,
        "end": text,
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": text, "type": text},
                "required": ["name", "type"],
                "additionalProperties": False,
            },
        },
        "labels": {"type": "array", "items": text},
        "caused_by": {"type": "array", "items": {"type": "integer"}},
    }
    one = {"type": "object", "properties": fact, "required": list(fact), "additionalProperties": False}
    return Schema(
        name="facts",
        schema={
            "type": "object",
            "properties": {"facts": {"type": "array", "items": one}},
            "required": ["facts"],
            "additionalProperties": False,
        },
        accepted={**_ACCEPTED, "type": "object"},
    )


def read_facts(answer: Mapping[str, Any]) -> Given:
    """The facts of an answer; what a fact lacks is taken as empty.

    Raises:
        BadModelAnswer: there is no list of facts in it.
    """
    listed = next((answer[key] for key in _LISTS if isinstance(answer.get(key), list)), None)
    if listed is None:
        raise BadModelAnswer("The answer of the model holds no list of facts.")
    facts = tuple(_fact(number, given) for number, given in enumerate(listed[:_MOST_FACTS]))
    return Given(facts, len(listed) - len(facts))


def _fact(number: int, given: Any) -> ModelFact | None:
    if isinstance(given, str):
        given = {"what": given}
    if not isinstance(given, Mapping):
        return None
    what = next((text for key in _WHAT if (text := _text(given.get(key)))), "")
    if not what:
        return None
    return ModelFact(
        number=number,
        what=what,
        when=_text(given.get("when")),
        where=_text(given.get("where")),
        who=_text(given.get("who")),
        why=_text(given.get("why")),
        line=_whole(given.get("line", given.get("turn"))),
        time_words=_text(given.get("time_words")),
        start=_text(given.get("start", given.get("occurred_start"))),
        end=_text(given.get("end", given.get("occurred_end"))),
        entities=tuple(_entities(given.get("entities"))),
        labels=tuple(_labels(given.get("labels"))),
        caused_by=tuple(_numbers(given.get("caused_by"))),
    )


def _text(value: Any) -> str:
    if not value:
        return ""
    if isinstance(value, list):
        value = ", ".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    text = " ".join(value.split())
    return "" if text.casefold().rstrip(".") in _NOTHING else text[:_MOST_CHARS]


def _whole(value: Any) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:9])
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _entities(value: Any) -> Iterable[EntityMention]:
    for given in value if isinstance(value, list) else ():
        kind = "CONCEPT"
        if isinstance(given, Mapping):
            kind = _text(given.get("type")).upper()[:40] or kind
            given = given.get("name", given.get("text"))
        name = _text(given)
        if name and len(name) <= 200:
            yield EntityMention(name=name, type=kind)


def _labels(value: Any) -> Iterable[tuple[str, str]]:
    """Pairs of key and value, from ``["mood:happy"]`` or ``{"mood": ["happy"]}``."""
    if isinstance(value, Mapping):
        for key, given in value.items():
            for one in given if isinstance(given, list) else [given]:
                if text := _text(one):
                    yield _text(key), text
        return
    for given in value if isinstance(value, list) else ():
        key, colon, text = _text(given).partition(":")
        if colon and key and text:
            yield key.strip(), text.strip()


def _numbers(value: Any) -> Iterable[int]:
    for given in value if isinstance(value, list) else ():
        if isinstance(given, Mapping):
            given = given.get("target_fact_index", given.get("index"))
        if isinstance(given, int) and not isinstance(given, bool):
            yield given
