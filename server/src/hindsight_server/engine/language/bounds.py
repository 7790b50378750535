"""Bounds on what checking by a schema may take, since callers write schemas and models write what is checked.

A regular expression can take years for a short text, and a schema of one page can lead through a million references.
Both end here after a while, and the answer counts as one that does not follow its schema.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.remembering import RememberedOf

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

_PATTERN_SECONDS = 0.2  # of the processor, for one search
_ALL_PATTERNS_SECONDS = 1.0  # for all searches of one check
_LEAST_SECONDS = 0.001
_MOST_REFERENCES = 20_000  # followed in one check
_MOST_PARTS = 2_000  # of a caller's schema
_LONGEST_PATTERN = 1_000

# Their values are schemas by names, which are no keywords.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "enum", "default", "examples"})
# What takes exponential time in nested schemas.
_REFUSED = frozenset({"unevaluatedProperties", "unevaluatedItems", "$dynamicRef"})


class TooLong(Exception):
    """A check that takes longer than it may."""


def check_bounds(schema: Mapping[str, Any], field: str) -> None:
    """Raises InvalidInput for a caller's schema that is too large, or uses what can't be bounded."""
    for parts, (keyword, value) in enumerate(_parts(schema)):
        if keyword in _REFUSED:
            raise InvalidInput(f"{field} uses {keyword}, which is not supported: name the properties.", field=field)
        if not all(map(_can_be_searched, _patterns(keyword, value))):
            raise InvalidInput(
                f"{field} has a pattern that is no regular expression, or longer than {_LONGEST_PATTERN} characters.",
                field=field,
            )
        if parts >= _MOST_PARTS:
            raise InvalidInput(f"{field} is too large: it may have {_MOST_PARTS} keywords and names.", field=field)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each keyword with its value; a name of a property counts as a part without a keyword."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, Mapping):
            for keyword, value in part.items():
                yield keyword, value
                if keyword in _NAMED and isinstance(value, Mapping):
                    yield from (("", None) for _ in value)
                    waiting += value.values()
                elif keyword not in _DATA:
                    waiting.append(value)


def _patterns(keyword: str, value: Any) -> list[str]:
    if keyword == "pattern" and isinstance(value, str):
        return [value]
    return list(value) if keyword == "patternProperties" and isinstance(value, Mapping) else []


def _can_be_searched(pattern: str) -> bool:
    import regex

    try:
        regex.compile(pattern[: _LONGEST_PATTERN + 1])
    except (regex.error, RecursionError):
        return False
    return len(pattern) <= _LONGEST_PATTERN


@dataclass(slots=True)
class _Spent:
    """What one check has taken so far."""

    references: int = 0
    pattern_seconds: float = 0.0


_SPENT: ContextVar[_Spent] = ContextVar("_SPENT")


def errors(schema: Mapping[str, Any], value: Any, *, is_own: bool = False) -> list[ValidationError]:
    """Where a value does not follow its schema, as the library tells it.

    Args:
        is_own: the schema is one of the server's few own ones: what checks by it is kept.

    Raises:
        TooLong: the check takes more than it may.
    """
    began = _SPENT.set(_Spent())
    try:
        validator = _kept(schema) if is_own else _validator(schema)
        return list(validator.iter_errors(value))
    except RecursionError:
        raise TooLong from None
    finally:
        _SPENT.reset(began)


def _validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    from referencing import Registry

    # A registry of its own keeps the library from fetching what a schema refers to.
    return _kind()(dict(schema), registry=Registry())


_kept = RememberedOf(_validator, most=16)


@cache
def _kind() -> type[Draft202012Validator]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    follow = Draft202012Validator.VALIDATORS["$ref"]

    def reference(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        spent = _SPENT.get()
        spent.references += 1
        if spent.references > _MOST_REFERENCES:
            raise TooLong
        yield from follow(validator, wanted, value, schema)

    rules = {
        "$ref": reference,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    made: type[Draft202012Validator] = extend(Draft202012Validator, rules)  # type: ignore[no-untyped-call]
    return made


def _pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not _found(wanted, value):
        yield ValidationError("the pattern is not found")


def _pattern_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, inside in wanted.items():
        for name, part in value.items():
            if _found(pattern, name):
                yield from validator.descend(part, inside, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """The library's own searches by all patterns at once, where no bound can be set."""
    from jsonschema import ValidationError

    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [name for name in value if name not in named and not any(_found(pattern, name) for pattern in patterns)]
    if wanted is False and more:
        yield ValidationError("there is a property that is not allowed")
    elif wanted is not False:
        for name in more:
            yield from validator.descend(value[name], wanted, path=name)


def _found(pattern: str, text: str) -> bool:
    import regex

    spent = _SPENT.get()
    if spent.pattern_seconds > _ALL_PATTERNS_SECONDS:  # many quick searches
        raise TooLong
    seconds = min(_PATTERN_SECONDS, _ALL_PATTERNS_SECONDS - spent.pattern_seconds)
    began = time.thread_time()
    try:
        return regex.search(pattern, text, timeout=max(seconds, _LEAST_SECONDS), concurrent=True) is not None
    except TimeoutError:
        raise TooLong from None
    finally:
        spent.pattern_seconds += time.thread_time() - began
