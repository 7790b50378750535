"""What keeps which questions language models were asked. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from hindsight_server.ports.llm import Usage

MOST_REQUESTS = 20_000
"""Tries kept of a bank; the oldest go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRequest:
    """One try of one question.

    Args:
        operation: the kind of work: ``retain``, ``reflect``, ``consolidation``, ``mental_model`` or ``vision``.
        scope: which of the questions of that work it is.
        run_id: the same for all questions of one run.
        error: why there is no answer; holds neither key nor question.
        input: what was asked, as JSON, and `output` what was answered; None unless texts are kept.
    """

    request_id: str
    operation: str
    scope: str | None = None
    run_id: str | None = None
    operation_id: str | None = None
    document_id: str | None = None
    provider: str
    model: str
    status: Literal["success", "error"]
    started_at: datetime
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    input: str | None = field(default=None, repr=False)
    output: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmFilter:
    """Which requests a listing holds; None is any. `start` and `end` are included."""

    status: str | None = None
    operation: str | None = None
    scope: str | None = None
    provider: str | None = None
    run_id: str | None = None
    document_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class LlmPage:
    """One page; `total` counts all that match: requests, or runs when it is a page of runs."""

    items: tuple[LlmRequest, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSums:
    """Requests of one status in one stretch of time."""

    start: datetime
    status: str
    count: int
    usage: Usage


class LlmLogStore(Protocol):
    async def add_llm_requests(self, bank_id: str, requests: Sequence[LlmRequest]) -> None:
        """Keep requests, dropping the oldest beyond `MOST_REQUESTS`; nothing for a bank that does not exist."""
        ...

    async def list_llm_requests(
        self, bank_id: str, wanted: LlmFilter, limit: int, offset: int, *, by_run: bool = False
    ) -> LlmPage:
        """The newest first. With `by_run`, limit and offset count runs, each listed whole. Raises BankNotFound."""
        ...

    async def sum_llm_requests(
        self, bank_id: str, operation: str | None, start: datetime, width: timedelta
    ) -> Sequence[LlmSums]:
        """Sums since `start` over stretches of `width` counted from 1970, in order. Raises BankNotFound."""
        ...

    async def forget_llm_texts(self, bank_id: str) -> int:
        """Take away what was asked and answered in a bank, leaving no trace of it; of how many requests."""
        ...

    async def expire_llm_requests(self, before: datetime) -> int:
        """Delete the requests of all banks that began before a time; how many."""
        ...
