"""What keeps which fact is the cause of which. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LinkedFacts:
    """Numbers of facts that are cause or effect of others, and whether the bank holds any cause at all."""

    seqs: frozenset[int]
    any: bool


class CauseStore(Protocol):
    async def causes(self, bank_id: str, fact_ids: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of a fact and its cause, by id, of which one is among the given ones. Raises BankNotFound.

        They come with the facts (`FactWrite.causes`), and go with either of the two.
        """
        ...

    async def linked_by_cause(self, bank_id: str, seqs: Sequence[int]) -> LinkedFacts:
        """The causes and the effects of facts, given by number. Raises BankNotFound."""
        ...
