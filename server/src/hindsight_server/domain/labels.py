"""A bank's vocabulary of labels (`entity_labels`), and finding the labels that a text states word for word.

A label is an entity ``key:value``, in a map ``key.field:value``. It equals only itself: labels are never merged with
likenesses. Which value an unstated text stands for ("I can't sleep" for ``mood:anxious``) takes a language model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.model import EntityMention

LABEL_TYPE = "LABEL"
_TYPES = ("value", "multi-values", "text", "multi-text", "map")
_MOST_GROUPS = 100
_MOST_VALUES = 1000
_DEEPEST = 5
_LONGEST = 200  # characters of a key or value
_STATED = re.compile(r"[ \t]*[:：=][ \t]*([^\n;；。]{1,200})")
_HAN = "\u3400-\u9fff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One dimension of labels: its path (``key`` or ``key.field``), type, values, and whether it is a tag too."""

    path: str
    name: str
    type: str
    values: tuple[str, ...] = ()
    is_tag: bool = False


def check_labels(groups: Any, field: str) -> None:
    """Refuse a vocabulary that can't be read. Raises InvalidInput, which names the part."""
    list(_read(groups, field))


@lru_cache(maxsize=64)
def read_labels(written: str) -> tuple[Label, ...]:
    """The labels of a vocabulary written as JSON, maps flattened; none for an empty text."""
    return tuple(_read(json.loads(written), "entity_labels")) if written else ()


def find_labels(text: str, labels: tuple[Label, ...]) -> list[EntityMention]:
    """The labels that a text states.

    * ``value``: the one of the values that stands first in the text; ``multi-values``: each that stands there. Whole
      words, whatever their case; the label is spelt as in the vocabulary.
    * ``text``: what stands behind ``name:`` or ``name =``, up to the end of the line or a semicolon; ``multi-text``:
      likewise, each part between commas.

    Example:
        >>> mood = Label(path="mood", name="mood", type="value", values=("happy", "sad"))
        >>> [mention.name for mention in find_labels("A happy day.", (mood,))]
        ['mood:happy']
    """
    found: dict[str, EntityMention] = {}
    for label in labels:
        for value in _values(text, label):
            name = f"{label.path}:{value}"
            found[name] = EntityMention(name=name, type=LABEL_TYPE, literal=True, tag=label.is_tag)
    return list(found.values())


def _values(text: str, label: Label) -> list[str]:
    if label.type in ("value", "multi-values"):
        places = {value: match.start() for value in label.values if (match := _word(value).search(text))}
        ordered = sorted(places, key=lambda value: (places[value], -len(value)))
        return ordered if label.type == "multi-values" else ordered[:1]
    stated = [behind for name in _word(label.name).finditer(text) if (behind := _STATED.match(text, name.end()))]
    values = [" ".join(match[1].split()).rstrip(".") for match in stated]
    if label.type == "text":
        return [value for value in values if value][:1]
    parts = (part.strip() for value in values for part in re.split(r"[,，、]", value))
    return list(dict.fromkeys(part for part in parts if part))


@lru_cache(maxsize=4096)
def _word(value: str) -> re.Pattern[str]:
    """The value as whole words; between Chinese characters there are no bounds."""
    before = "" if re.match(f"[{_HAN}]", value) else r"(?<![^\W_])"
    after = "" if re.search(f"[{_HAN}]$", value) else r"(?![^\W_])"
    words = r"\s+".join(re.escape(word) for word in value.split())
    return re.compile(f"{before}{words}{after}", re.IGNORECASE)


def _read(groups: Any, field: str) -> Iterator[Label]:
    if not isinstance(groups, list) or len(groups) > _MOST_GROUPS:
        raise InvalidInput(f"{field} must be a list of at most {_MOST_GROUPS} groups.", field=field)
    keys: set[str] = set()
    for index, group in enumerate(groups):
        place = f"{field}[{index}]"
        if not isinstance(group, Mapping):
            raise InvalidInput(f"{place} must be an object.", field=place)
        key = _text(group.get("key"), f"{place}.key")
        if key.casefold() in keys:
            raise InvalidInput(f"{place}.key: '{key}' is there twice.", field=f"{place}.key")
        keys.add(key.casefold())
        for flag in ("optional", "tag"):
            if not isinstance(group.get(flag, False), bool | None):
                raise InvalidInput(f"{place}.{flag} must be true or false.", field=f"{place}.{flag}")
        yield from _read_one(group, (key,), place, is_tag=bool(group.get("tag")))


def _read_one(group: Mapping[str, Any], path: tuple[str, ...], place: str, *, is_tag: bool) -> Iterator[Label]:
    kind = group.get("type") or ("value" if len(path) == 1 else "text")
    if kind not in _TYPES:
        raise InvalidInput(f"{place}.type must be one of: {', '.join(_TYPES)}.", field=f"{place}.type")
    if kind == "map":
        fields = group.get("fields") or {}
        if not isinstance(fields, Mapping) or not fields or len(path) >= _DEEPEST:
            reason = f"must name at least one field, nested at most {_DEEPEST} deep"
            raise InvalidInput(f"{place}.fields {reason}.", field=f"{place}.fields")
        for key, value in fields.items():
            inner = f"{place}.fields.{key}"
            if not isinstance(value, Mapping):
                raise InvalidInput(f"{inner} must be an object.", field=inner)
            _text(key, inner)
            yield from _read_one(value, (*path, key), inner, is_tag=is_tag)
        return
    values = _read_values(group, kind, place)
    yield Label(path=".".join(path), name=path[-1], type=kind, values=values, is_tag=is_tag)


def _read_values(group: Mapping[str, Any], kind: str, place: str) -> tuple[str, ...]:
    values = group.get("values") or []
    if not isinstance(values, list) or len(values) > _MOST_VALUES:
        raise InvalidInput(f"{place}.values must be a list of at most {_MOST_VALUES}.", field=f"{place}.values")
    if kind in ("value", "multi-values") and not values:
        raise InvalidInput(f"{place}.values must name at least one value.", field=f"{place}.values")
    found = []
    for index, value in enumerate(values):
        inner = f"{place}.values[{index}]"
        if not isinstance(value, Mapping):
            raise InvalidInput(f'{inner} must be an object like {{"value": "..."}}.', field=inner)
        found.append(_text(value.get("value"), f"{inner}.value"))
    return tuple(dict.fromkeys(found))


def _text(value: Any, field: str) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST:
        raise InvalidInput(f"{field} must be text of 1 to {_LONGEST} characters.", field=field)
    return text
