"""Keeping the event loop free: what takes long is done in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FEW = 50  # items; checking, converting or listing so many takes about a millisecond
MANY = _FEW + 1
"""Items for what may take long however few they are."""


async def offloaded(items: int, work: Callable[[], T]) -> T:
    """The result of `work`, which handles so many items; a few are handled on the spot, which is quicker than a thread.

    Example:
        >>> listed = await offloaded(len(facts), lambda: [as_json(fact) for fact in facts])
    """
    return work() if items <= _FEW else await asyncio.to_thread(work)
