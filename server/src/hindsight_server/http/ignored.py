"""Telling a client which of its parameters and fields nobody read.

They are ignored, since a newer client may send what this server does not know yet; but a misspelt filter that is
dropped without a word gives wrong answers. So their names come back in a header.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, MutableMapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl, quote

from pydantic import BaseModel

HEADER = b"x-hindsight-ignored"
_MOST_NAMES = 20
_LONGEST_NAME = 80
_MOST_ITEMS = 50  # items of a list that are looked through; those of a request come from one program


def unknown_fields(model: type[BaseModel], value: Any, path: str = "") -> list[str]:
    """Paths of the fields of a decoded body that `model` does not know.

    Example:
        >>> unknown_fields(RecallRequest, {"query": "canoe", "include": {"chunk": {}}})
        ['include.chunk']
    """
    if not isinstance(value, dict):
        return []
    known, found = _fields(model), []
    for name, part in value.items():
        if name not in known:
            found.append(path + name)
            continue
        inner = known[name]
        if inner is None or not isinstance(part, dict | list):
            continue
        if isinstance(part, dict):
            found += unknown_fields(inner, part, f"{path}{name}.")
            continue
        for index, item in enumerate(part[:_MOST_ITEMS]):
            found += unknown_fields(inner, item, f"{path}{name}[{index}].")
    return found


def unknown_parameters(scope: Mapping[str, Any]) -> list[str]:
    """Names in the query of a routed request that its endpoint does not take."""
    route = scope.get("route")
    query = scope.get("query_string", b"")
    if not query or route is None:
        return []
    known = _parameters(route.endpoint) - scope["path_params"].keys()
    names = dict.fromkeys(name for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    return [name for name in names if name not in known]


def note_ignored(scope: MutableMapping[str, Any], names: list[str]) -> None:
    """Remember names for `ignored_header`."""
    if names:
        scope.setdefault("ignored", []).extend(names)


def ignored_header(scope: Mapping[str, Any]) -> bytes | None:
    """The value of `HEADER`: names, percent-encoded where needed, separated by commas. None when all was read."""
    names = [*unknown_parameters(scope), *scope.get("ignored", ())]
    if not names:
        return None
    shown = [quote(name[:_LONGEST_NAME], safe="[]", errors="replace") for name in names[:_MOST_NAMES]]
    return ", ".join(shown + ["..."] * (len(names) > _MOST_NAMES)).encode("ascii")


@cache
def _fields(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """Every name a field goes by, with the model of what it holds (None: a plain value, or one of several models)."""
    hints, names = get_type_hints(model), {}
    for name, field in model.model_fields.items():
        models = _models(hints[name])
        names[name] = names[field.alias or name] = models[0] if len(models) == 1 else None
    return names


def _models(kind: Any) -> list[type[BaseModel]]:
    if inspect.isclass(kind) and get_origin(kind) is None:
        return [kind] if issubclass(kind, BaseModel) else []
    return [model for part in get_args(kind) for model in _models(part)]


@cache
def _parameters(endpoint: Callable[..., Any]) -> frozenset[str]:
    """The names an endpoint takes, those in the path among them."""
    names: set[str] = set()
    for name, kind in get_type_hints(endpoint).items():
        models = _models(kind)
        names |= set(models[0].model_fields) if models else {name}
    return frozenset(names - {"request", "return"})
