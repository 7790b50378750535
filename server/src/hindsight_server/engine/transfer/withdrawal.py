"""Exports of a bank end with what they hold: whatever forgets something deletes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

OnForget = Callable[[str], Awaitable[object]]
"""Told the bank in which something is being forgotten."""


async def no_exports(bank_id: str) -> None:
    """For a server, or a test, that keeps no exports."""


@asynccontextmanager
async def forgetting(on_forget: OnForget, bank_id: str) -> AsyncIterator[None]:
    """Around a write that takes words away. Before it, so that a crash can't leave an export that holds them; after it,
    so that one which was begun meanwhile is not kept either."""
    await on_forget(bank_id)
    try:
        yield
    except asyncio.CancelledError:
        # A write that was begun is done within moments, whether or not anybody waits for it.
        await on_forget(bank_id)
        raise
    await on_forget(bank_id)
