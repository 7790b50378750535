"""Remembering what was worked out, of single words within a bound of bytes rather than of entries alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar, overload

A = TypeVar("A")
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


class RememberedOf(Generic[A, T]):
    """Remembers what a function gave for the last few objects, which are told apart by identity.

    For those that have no hash, like schemas, and that are not changed.

    Args:
        most: objects that are remembered, and kept for it.

    Example:
        >>> words = RememberedOf(sorted, most=2)
        >>> asked = ["b", "a"]
        >>> words(asked) is words(asked)
        True
    """

    def __init__(self, function: Callable[[A], T], *, most: int) -> None:
        self._function = function
        self._most = most
        self._known: dict[int, tuple[A, T]] = {}

    def __call__(self, one: A) -> T:
        known = self._known.get(id(one))
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
            # The object is kept too: its number would go to another one.
            known = self._known[id(one)] = (one, self._function(one))
        return known[1]


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
