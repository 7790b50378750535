"""Who is told that the facts of a bank changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

OnChange = Callable[[str], Awaitable[None]]
"""Told the bank whose facts were added, changed or taken away. Raises nothing: what was written stays written."""


async def nobody(bank_id: str) -> None:
    """For a server, or a test, that does nothing about it."""
