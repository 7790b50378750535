"""Default values that can be told from the same value given by a caller.

The documented signatures show ``budget="mid"``, yet ``configure(budget="high")`` must win when the caller says
nothing and lose when the caller says ``"mid"``. A default therefore is an instance of a subclass: equal to the plain
value and shown like it, but recognised by :func:`given`.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_CONTEXT",
    "DEFAULT_MAX_TOKENS",
    "DEFAULT_TAGS_MATCH",
    "given",
]

T = TypeVar("T")


class _DefaultText(str):
    __slots__ = ()


class _DefaultNumber(int):
    __slots__ = ()


DEFAULT_CONTEXT: str = _DefaultText("llamaindex")
DEFAULT_BUDGET: str = _DefaultText("mid")
DEFAULT_TAGS_MATCH: str = _DefaultText("any")
DEFAULT_MAX_TOKENS: int = _DefaultNumber(4096)


def given(value: T | None) -> T | None:
    """The value if a caller gave it, ``None`` if it is a default of a signature."""
    return None if isinstance(value, _DefaultText | _DefaultNumber) else value
