"""What keeps which fact is the cause of which. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class CauseStore(Protocol):
    async def causes(self, bank_id: str, fact_ids: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of a fact and its cause, by id, of which one is among the given ones. Raises BankNotFound.

        They come with the facts (`FactWrite.causes`), and go with either of the two.
        """
        ...
