"""The settings of a bank that steer reflect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect.searches import SearchSettings
from hindsight_server.engine.reflect.types import ReflectQuery

SETTING = "reflect_default_options"


def _budget(value: Any) -> Budget:
    return Budget(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError
    return tuple(value)


def _types(value: Any) -> tuple[str, ...]:
    types = _texts(value)
    if not {"world", "experience", "observation"}.issuperset(types):
        raise ValueError
    return types


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "budget": ("budget", _budget),
    "max_tokens": ("max_tokens", _count),
    "fact_types": ("fact_types", _types),
    "apply_all_directives": ("every_directive", _flag),
    "exclude_mental_models": ("exclude_mental_models", _flag),
    "exclude_mental_model_ids": ("excluded_mental_models", lambda value: frozenset(_texts(value))),
    "reflect_search_observations_max_tokens": ("observation_tokens", _count),
    "reflect_search_observations_include_entities": ("observation_entities", _flag),
}


def read_default_options(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The options of a bank's setting, by the names that `ReflectQuery` has, nulls left out.

    Raises:
        InvalidInput: an option that there is not, or a value that it can't hold.
    """
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _READERS:
            known = ", ".join(_READERS)
            raise InvalidInput(f"{field}: '{name[:80]}' is none of: {known}.", field=f"{field}.{name[:80]}")
        option, reader = _READERS[name]
        if value is None:
            continue
        try:
            read[option] = reader(value)
        except (ValueError, TypeError):
            raise InvalidInput(f"{field}.{name} can't be {value!r:.80}.", field=f"{field}.{name}") from None
    return read


def with_bank_defaults(asked: ReflectQuery, config: Mapping[str, Any]) -> ReflectQuery:
    """The query with what it left open filled in from the bank's settings."""
    given = config.get(SETTING) or {}
    wanted = {name: value for name, value in given.items() if name in asked.left_open}
    return replace(asked, **read_default_options(wanted, SETTING)) if wanted else asked


def search_settings(config: Mapping[str, Any]) -> SearchSettings:
    """The limits of the searches, from a bank's resolved settings."""
    return SearchSettings(
        recall_tokens=config["recall_max_tokens"],
        chunk_tokens=config["recall_chunks_max_tokens"] if config["recall_include_chunks"] else 0,
        source_tokens=max(0, config["reflect_source_facts_max_tokens"]),
    )
