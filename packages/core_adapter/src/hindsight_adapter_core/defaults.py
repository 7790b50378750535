"""Default values that can be told from the same value given by a caller.

A documented signature may show ``budget="mid"``, yet ``configure(budget="high")`` must win when the caller says
nothing and lose when the caller says ``"mid"``. Such a default is an instance of a subclass: equal to the plain value
and shown like it, but recognised by :func:`given`.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["default_number", "default_text", "given"]

T = TypeVar("T")


class _DefaultText(str):
    __slots__ = ()


class _DefaultNumber(int):
    __slots__ = ()


def default_text(value: str) -> str:
    """``value`` as the default of a signature."""
    return _DefaultText(value)


def default_number(value: int) -> int:
    """``value`` as the default of a signature."""
    return _DefaultNumber(value)


def given(value: T | None) -> T | None:
    """The value if a caller gave it, ``None`` if it is a default of a signature.

    Example:
        >>> given("mid"), given(default_text("mid"))
        ('mid', None)
    """
    return None if isinstance(value, _DefaultText | _DefaultNumber) else value
