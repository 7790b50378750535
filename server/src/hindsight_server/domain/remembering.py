"""Remembering what was worked out, of single words within a bound of bytes rather than of entries alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


def remembered(*, most: int, longest: int = 40) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Remember what a function gave for the last short texts. It is asked anew for longer ones.

    A word may be as long as a whole document, and some thousand of those would fill the memory.

    Args:
        most: texts that are remembered.
        longest: characters of such a text.

    Example:
        >>> @remembered(most=100)
        ... def shouted(word: str) -> str:
        ...     return word.upper()
        >>> shouted("hey")
        'HEY'
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def ask(text: str) -> T:
            return known(text) if len(text) <= longest else function(text)

        return ask

    return decorate


class once(Generic[T]):
    """A property that is worked out when it is first asked for, and kept with its object.

    The same as `functools.cached_property`, which before Python 3.12 takes a lock for each value: two threads that ask
    at the same time may work it out twice.

    Example:
        >>> class Word:
        ...     @once
        ...     def size(self) -> int:
        ...         return 4
        >>> Word().size
        4
    """

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, one: object, owner: type) -> T: ...
    def __get__(self, one: object | None, owner: type) -> once[T] | T:
        if one is None:
            return self
        value = one.__dict__[self._name] = self._work(one)
        return value
