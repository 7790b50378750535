"""What keeps the directives of banks. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.directives import Directive


class DirectiveStore(Protocol):
    async def save_directive(self, bank_id: str, directive: Directive, now: datetime) -> None:
        """Keep a directive, in place of the one with its id if there is one; creates the bank when needed."""
        ...

    async def directives(self, bank_id: str, *, active_only: bool = False) -> Sequence[Directive]:
        """All of a bank, in no special order. Raises BankNotFound."""
        ...

    async def directive(self, bank_id: str, directive_id: str) -> Directive:
        """Raises BankNotFound; NotFound when the bank has no such directive."""
        ...

    async def delete_directive(self, bank_id: str, directive_id: str) -> bool:
        """False when there is none. Raises BankNotFound."""
        ...
