"""Whether a model's answer follows the schema that was asked for, and what is wrong when it does not.

The checking libraries are imported at the first answer. Schemas that a schema refers to are never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.language.bounds import TooLong, check_bounds, errors

if TYPE_CHECKING:
    from jsonschema import ValidationError

_NAME = re.compile(r"\w{1,40}")
_MOST_PROBLEMS = 5
_LONGEST = 200
_ALTERNATIVES = {
    "anyOf": "follows none of the schemas of anyOf",
    "oneOf": "must follow exactly one of the schemas of oneOf",
    "not": "follows the schema of not, which it must not",
}


def load_library() -> None:
    """Import the checking libraries, which takes a moment."""
    import jsonschema  # noqa: F401
    import referencing  # noqa: F401
    import regex  # noqa: F401


def check_schema(schema: Any, field: str) -> None:
    """Raises InvalidInput when a schema that a client gives is none, not one of an object, or beyond bounds.

    Args:
        field: the field that holds it, for the message.
    """
    from jsonschema import Draft202012Validator, SchemaError

    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise InvalidInput(f"{field} must be the JSON schema of an object.", field=field)
    check_bounds(schema, field)
    try:
        Draft202012Validator.check_schema(schema)
        errors(schema, {})
    except (SchemaError, RecursionError, TooLong):
        raise InvalidInput(f"{field} is no JSON schema of draft 2020-12.", field=field) from None
    except Exception as problem:  # what the library raises for a reference that leads nowhere is not one type
        raise InvalidInput(f"{field} refers to a schema that is not in it.", field=field) from problem


def problems(schema: Mapping[str, Any], value: Mapping[str, Any], *, is_own: bool = False) -> tuple[str, ...]:
    """What keeps a value from following a schema, the first few; empty when it does.

    Each names the place and the rule, and repeats nothing of the value, so that it can be shown and logged.

    Args:
        is_own: the schema is one of the server's few own ones: what checks by it is kept.

    Example:
        >>> problems({"properties": {"n": {"type": "integer"}}, "required": ["n", "m"]}, {"n": "one"})
        ("the object: 'm' is missing", 'n: must be of type integer')
    """
    try:
        found = errors(schema, value, is_own=is_own)
        found.sort(key=lambda error: (len(error.absolute_path), str(error.validator)))
    except TooLong:
        return ("the object: it takes too long to check against a pattern or the references of the schema",)
    except Exception:  # as in `check_schema`; and what arithmetic with numbers of any size raises
        return ("the object: it can't be checked, since the schema refers to nothing or a number is too large",)
    return tuple(dict.fromkeys(map(_told, found)))[:_MOST_PROBLEMS]


def pruned(schema: Mapping[str, Any], value: Any) -> Any:
    """A value without the properties that its schema does not allow: they say nothing that was asked for."""
    return _pruned(schema, schema, value)


def _told(error: ValidationError) -> str:
    rule = str(error.validator)
    wanted: Any = error.validator_value
    if rule == "required":
        missing = [name for name in wanted if isinstance(error.instance, dict) and name not in error.instance]
        text = f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    elif rule in ("enum", "const"):
        text = f"must be one of {_listed(wanted if rule == 'enum' else [wanted])}"
    elif rule == "type":
        text = f"must be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    elif rule == "additionalProperties":
        text = "has a property that is not allowed"
    elif rule in _ALTERNATIVES:
        text = _ALTERNATIVES[rule]
    elif isinstance(wanted, int | float | str):
        text = f"breaks the rule {rule} {wanted}"[:_LONGEST]
    else:
        text = f"breaks the rule {rule}"
    return f"{_place(error.absolute_path)}: {text}"


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names)[:_LONGEST]


def _place(path: Iterable[str | int]) -> str:
    """Where in the answer: names that look like names, since others may be content."""
    place = ""
    for part in path:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            place += f".{part}" if _NAME.fullmatch(part) else ".*"
    return place.lstrip(".") or "the object"


def _pruned(root: Mapping[str, Any], schema: Any, value: Any) -> Any:
    schema = _resolved(root, schema)
    if not schema:
        return value
    if isinstance(value, list):
        inside = schema.get("items", {})
        return [_pruned(root, inside, part) for part in value]
    if not isinstance(value, dict):
        return value
    known = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return {
        name: _pruned(root, known.get(name, {}), part) for name, part in value.items() if not closed or name in known
    }


def _resolved(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """The schema that a reference within `root` leads to."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        schema = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
    return schema if isinstance(schema, Mapping) else {}
