"""What the settings of observations may hold. All raise InvalidInput, naming the place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.observation_scopes import STRATEGY_SETTINGS

SCOPE_WORDS = ("combined", "per_tag", "all_combinations", "shared")
_MATCHES = ("all", "exact")


def check_default_scopes(value: Any, field: str) -> None:
    """One of four words, or lists of tags."""
    if isinstance(value, str) and value in SCOPE_WORDS:
        return
    if isinstance(value, list) and all(map(_is_tags, value)):
        return
    raise InvalidInput(f"{field} must be one of {', '.join(SCOPE_WORDS)}, or lists of tags.", field=field)


def check_limits(value: Sequence[Any], field: str) -> None:
    """``[{"scope": ["run_*"], "limit": 1}]``."""
    for at, rule in enumerate(value):
        place = f"{field}[{at}]"
        if not isinstance(rule, Mapping) or not _is_tags(rule.get("scope")) or not _is_count(rule.get("limit")):
            raise InvalidInput(f"{place} must be an object with 'scope', a list of tags, and 'limit'.", field=place)


def check_strategies(value: Sequence[Any], field: str) -> None:
    """``[{"scopes": [{"tags": ["company:*"]}], "max_observations_per_scope": 20}]``."""
    for at, strategy in enumerate(value):
        place = f"{field}[{at}]"
        if not isinstance(strategy, Mapping):
            raise InvalidInput(f"{place} must be an object.", field=place)
        unknown = sorted(strategy.keys() - {"scopes", *STRATEGY_SETTINGS})
        if unknown:
            raise InvalidInput(f"{place} has no setting '{unknown[0]}'.", field=f"{place}.{unknown[0]}")
        rules = strategy.get("scopes") or []
        if not isinstance(rules, list):
            raise InvalidInput(f"{place}.scopes must be a list of rules.", field=f"{place}.scopes")
        for number, rule in enumerate(rules):
            _check_rule(rule, f"{place}.scopes[{number}]")
        _check_values(strategy, place)


def _check_rule(rule: Any, place: str) -> None:
    if not isinstance(rule, Mapping) or not _is_tags(rule.get("tags", [])):
        raise InvalidInput(f"{place} must be an object with 'tags', a list of tags.", field=place)
    unknown = sorted(rule.keys() - {"tags", "tags_match"})
    if unknown:
        raise InvalidInput(f"{place} has no setting '{unknown[0]}'.", field=f"{place}.{unknown[0]}")
    if rule.get("tags_match") not in (None, *_MATCHES):
        raise InvalidInput(f"{place}.tags_match must be one of: {', '.join(_MATCHES)}.", field=f"{place}.tags_match")


def _check_values(strategy: Mapping[str, Any], place: str) -> None:
    for name in STRATEGY_SETTINGS:
        value = strategy.get(name)
        if value is None:
            continue
        if name == "observations_mission":
            if not isinstance(value, str):
                raise InvalidInput(f"{place}.{name} must be text.", field=f"{place}.{name}")
        elif not _is_count(value):
            raise InvalidInput(f"{place}.{name} must be a whole number, -1 or more.", field=f"{place}.{name}")


def _is_tags(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(tag, str) for tag in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= -1
