"""Several pieces of work side by side that are of use only together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. The first failure ends the rest and is raised, so that no model is asked for nothing.

    Example:
        >>> notes = await together(ask(part) for part in parts)
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one) for one in work]
    except ExceptionGroup as group:
        raise first_of(group) from None
    return [task.result() for task in running]


def first_of(group: ExceptionGroup) -> Exception:
    """The failure that the others came of: callers tell failures apart by their types."""
    first: Exception = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
