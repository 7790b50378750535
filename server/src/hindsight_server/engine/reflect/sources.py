"""What reflect reads besides plain memories: standing answers, which something else keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.tags import TagFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModelText:
    """A standing answer, as reflect reads it.

    Args:
        question: what it answers.
        text: the answer, Markdown; blank when none was written yet.
        fresh: whether nothing that it rests on has changed since it was written.
    """

    mental_model_id: str
    name: str
    question: str
    text: str
    fresh: bool
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModelScope:
    """Which mental models a reflect may read; tags of None are no filter."""

    tags: TagFilter | None = None
    excluded: frozenset[str] = frozenset()


class MentalModelSource(Protocol):
    """The mental models of banks. Whatever it raises fails the reflect that asked."""

    async def any_mental_model(self, bank_id: str, scope: MentalModelScope) -> bool:
        """Whether there is one to read; without, reflect does not offer the tools."""
        ...

    async def search_mental_models(
        self, bank_id: str, query: str, scope: MentalModelScope, limit: int
    ) -> Sequence[MentalModelText]:
        """Those that may answer a question, the likeliest first."""
        ...

    async def read_mental_models(
        self, bank_id: str, mental_model_ids: Sequence[str], scope: MentalModelScope
    ) -> Sequence[MentalModelText]:
        """Those of the ids, in their order; what is not there or not in the scope is left out."""
        ...
