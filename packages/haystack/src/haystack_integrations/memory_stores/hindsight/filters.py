"""Haystack's metadata filters as the tag groups and fact types of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindsight_adapter_core import SettingsError

__all__ = ["SearchFilter", "parse_filters"]

_HELP = (
    'filters are {"field": "tags", "operator": "==" | "!=" | "in" | "not in", "value": ...}, '
    '{"field": "type", "operator": "==" | "in", "value": ...} at the top or directly under AND, '
    'or {"operator": "AND" | "OR" | "NOT", "conditions": [...]}'
)


@dataclass(frozen=True, kw_only=True)
class SearchFilter:
    """What a search is held to: every one of ``tag_groups``, and ``types`` when not ``None``."""

    tag_groups: tuple[dict[str, Any], ...] = ()
    types: tuple[str, ...] | None = None


def parse_filters(filters: Mapping[str, Any] | None) -> SearchFilter:
    """Translate Haystack's filter syntax.

    ``tags == x`` holds for a memory that carries the tag ``x`` (a list: all of them), ``tags in [..]`` for one that
    carries any of them.

    Raises:
        SettingsError: a field, an operator or a value that memory search has no filter for.

    Example:
        >>> parse_filters({"field": "tags", "operator": "in", "value": ["user:ann"]}).tag_groups
        ({'tags': ['user:ann'], 'match': 'any_strict'},)
    """
    if not filters:
        return SearchFilter()
    parts = _conditions(filters) if filters.get("operator") == "AND" else [filters]
    types: tuple[str, ...] | None = None
    groups = []
    for part in parts:
        if _field(part) != "type":
            groups.append(_group(part))
            continue
        wanted = _types(part)
        types = wanted if types is None else tuple(one for one in types if one in wanted)
        if not types:
            raise SettingsError("filters: no memory is of two types at once")
    return SearchFilter(tag_groups=tuple(groups), types=types)


def _field(part: Mapping[str, Any]) -> str:
    return str(part.get("field", "")).removeprefix("meta.")


def _conditions(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    conditions = part.get("conditions")
    if not isinstance(conditions, list) or not conditions or not all(isinstance(one, Mapping) for one in conditions):
        raise SettingsError(f"filters: {part.get('operator')} needs a non-empty list of conditions; {_HELP}")
    return conditions


def _values(part: Mapping[str, Any]) -> list[str]:
    value = part.get("value")
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(one, str) and one for one in values):
        raise SettingsError(f"filters: the value of {_field(part)} must be a string or a list of them, not {value!r}")
    return values


def _types(part: Mapping[str, Any]) -> tuple[str, ...]:
    if part.get("operator") not in ("==", "in"):
        raise SettingsError(f"filters: type takes == and in, not {part.get('operator')!r}")
    return tuple(_values(part))


def _group(part: Mapping[str, Any]) -> dict[str, Any]:
    operator = part.get("operator")
    if "conditions" in part or operator in ("AND", "OR", "NOT"):
        groups = [_group(one) for one in _conditions(part)]
        if operator == "NOT":
            # Haystack's NOT: not all of them.
            return {"not": groups[0] if len(groups) == 1 else {"and": groups}}
        if operator not in ("AND", "OR"):
            raise SettingsError(f"filters: unknown operator {operator!r}; {_HELP}")
        return {operator.lower(): groups}
    if _field(part) != "tags":
        raise SettingsError(f"filters: memory search has no filter for {part.get('field')!r} here; {_HELP}")
    if operator in ("==", "!="):
        leaf = {"tags": _values(part), "match": "all_strict"}
    elif operator in ("in", "not in"):
        leaf = {"tags": _values(part), "match": "any_strict"}
    else:
        raise SettingsError(f"filters: tags takes ==, !=, in and not in, not {operator!r}")
    return {"not": leaf} if operator in ("!=", "not in") else leaf
