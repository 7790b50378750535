"""The bank setting ``reflect_default_options``: options of reflect that requests leave open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.recall.types import Budget

SETTING = "reflect_default_options"
_TYPES = frozenset({"world", "experience", "observation"})


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
    if not _TYPES.issuperset(types):
        raise ValueError
    return types


_COUNT, _FLAG = "a whole number above 0", "true or false"

# The name in the HTTP API, that in `ReflectQuery`, what reads a value, and what that may be.
_READERS: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    "budget": ("budget", Budget, "one of: low, mid, high"),
    "max_tokens": ("max_tokens", _count, _COUNT),
    "fact_types": ("fact_types", _types, "a list of: world, experience, observation"),
    "apply_all_directives": ("every_directive", _flag, _FLAG),
    "exclude_mental_models": ("exclude_mental_models", _flag, _FLAG),
    "exclude_mental_model_ids": ("excluded_mental_models", lambda value: frozenset(_texts(value)), "a list of ids"),
    "reflect_search_observations_max_tokens": ("observation_tokens", _count, _COUNT),
    "reflect_search_observations_include_entities": ("observation_entities", _flag, _FLAG),
}


def read_default_options(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The options of the setting by the names that `ReflectQuery` has; nulls are left out.

    Raises:
        InvalidInput: an option that there is not, or a value that it can't hold.
    """
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _READERS:
            known = ", ".join(_READERS)
            raise InvalidInput(f"{field}: '{name[:80]}' is none of: {known}.", field=f"{field}.{name[:80]}")
        option, reader, wanted = _READERS[name]
        if value is None:
            continue
        try:
            read[option] = reader(value)
        except (ValueError, TypeError):
            raise InvalidInput(f"{field}.{name} must be {wanted}.", field=f"{field}.{name}") from None
    return read
