"""The log of what language models were asked: collected without waiting, written every now and then."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_server.domain.ids import new_id
from hindsight_server.engine.language.types import Attempt
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.llm import ChatReply, ChatRequest, Message, ToolRequest, Usage
from hindsight_server.ports.llm_log import LlmFilter, LlmLogStore, LlmPage, LlmRequest, LlmSums

_log = logging.getLogger(__name__)
_FLUSH_SECONDS = 0.5
_FLUSH_AT = 200
_MOST_WAITING = 10_000
_EXPIRE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """What is kept.

    Args:
        enabled: False keeps nothing.
        texts: keep what was asked and answered too, each cut at `max_chars`.
        retention_days: after which everything goes.
    """

    enabled: bool = True
    texts: bool = False
    max_chars: int = 50_000
    retention_days: float = 1.0


class RequestLog:
    """Keeps the tries of all models. `record` is called by them and never waits; what can't be written is lost, since
    no work may fail for its log.

    Args:
        count: told of every try, for the counters.

    Texts never outlive what they may hold: `forget` empties those of a bank, and questions of work that began before
    keep none, those too that are asked or tried again after.
    """

    def __init__(
        self,
        store: LlmLogStore,
        clock: Clock,
        options: LogOptions | None = None,
        *,
        count: Callable[[Attempt], None] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._options = options or LogOptions()
        self._count = count
        self._waiting: list[tuple[str, LlmRequest]] = []
        self._forgotten: dict[str, float] = {}
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._expiring: asyncio.Task[None] | None = None

    @property
    def options(self) -> LogOptions:
        return self._options

    def now(self) -> datetime:
        """The server's time."""
        return self._clock.now()

    async def start(self) -> None:
        """Begin to delete what is too old, in a task of the running event loop."""
        self._expiring = asyncio.create_task(self._expire(), name="llm-log")

    async def close(self) -> None:
        """Stop, and write what waits."""
        task, self._expiring = self._expiring, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.flush()

    def record(self, attempt: Attempt) -> None:
        """Keep one try."""
        if self._count is not None:
            self._count(attempt)
        if not self._options.enabled or len(self._waiting) >= _MOST_WAITING:
            return
        request = _request(attempt)
        if self._options.texts and attempt.about.since > self._forgotten.get(attempt.about.bank_id, 0.0):
            longest = self._options.max_chars
            asked, answered = _asked(attempt.request)[:longest], _answered(attempt.reply)
            request = replace(request, input=asked, output=answered[:longest] if answered else None)
        self._waiting.append((attempt.about.bank_id, request))
        if len(self._waiting) >= _FLUSH_AT:
            self._flush_soon()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._flush_soon)

    async def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._writing:
            waiting, self._waiting = self._waiting, []
            by_bank: defaultdict[str, list[LlmRequest]] = defaultdict(list)
            for bank_id, request in waiting:
                by_bank[bank_id].append(request)
            for bank_id, requests in by_bank.items():
                try:
                    await self._store.add_llm_requests(bank_id, requests)
                except Exception:  # no work may fail for its log
                    _log.exception("%d requests to language models could not be logged", len(requests))

    async def forget(self, bank_id: str) -> int:
        """Take away all texts of a bank, since something of what they may hold is forgotten; of how many requests."""
        if not self._options.texts:
            # None are written now, but a run of the server before this one may have.
            return await self._store.forget_llm_texts(bank_id)
        async with self._writing:
            self._forgotten[bank_id] = time.time()
            self._waiting = [
                (bank, replace(request, input=None, output=None) if bank == bank_id else request)
                for bank, request in self._waiting
            ]
            return await self._store.forget_llm_texts(bank_id)

    async def list(self, bank_id: str, wanted: LlmFilter, limit: int, offset: int, *, by_run: bool = False) -> LlmPage:
        """The newest first, also of those that were asked just now. Raises BankNotFound."""
        await self.flush()
        return await self._store.list_llm_requests(bank_id, wanted, limit, offset, by_run=by_run)

    async def sums(self, bank_id: str, operation: str | None, start: datetime, width: timedelta) -> Sequence[LlmSums]:
        """Sums since `start` over stretches of `width`. Raises BankNotFound."""
        await self.flush()
        return await self._store.sum_llm_requests(bank_id, operation, start, width)

    def _flush_soon(self) -> None:
        self._timer = None
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self.flush(), name="llm-log-flush")

    async def _expire(self) -> None:
        while True:
            try:
                before = self._clock.now() - timedelta(days=self._options.retention_days)
                await self._store.expire_llm_requests(before)
            except Exception:  # it outlives whatever the store is going through
                _log.exception("old requests to language models could not be deleted; trying again")
            await asyncio.sleep(_EXPIRE_SECONDS)


def _request(attempt: Attempt) -> LlmRequest:
    about = attempt.about
    return LlmRequest(
        request_id=new_id(),
        operation=about.purpose,
        scope=about.scope,
        run_id=about.run_id or about.operation_id,
        operation_id=about.operation_id,
        document_id=about.document_id,
        provider=attempt.provider,
        model=attempt.model,
        status="error" if attempt.reply is None else "success",
        started_at=datetime.fromtimestamp(attempt.began, UTC),
        duration_ms=max(0, round((attempt.ended - attempt.began) * 1000)),
        usage=attempt.reply.usage if attempt.reply else Usage(),
        error=attempt.error,
    )


def _asked(request: ChatRequest) -> str:
    """The messages as JSON; pictures by their size only."""
    return json.dumps([_message(message) for message in request.messages], ensure_ascii=False)


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.images:
        told["images"] = [f"{image.media_type}, {len(image.data)} bytes" for image in message.images]
    if message.tool_requests:
        told["tool_calls"] = _calls(message.tool_requests)
    return told


def _calls(requests: Sequence[ToolRequest]) -> list[dict[str, Any]]:
    return [{"name": asked.name, "arguments": asked.raw} for asked in requests]


def _answered(reply: ChatReply | None) -> str | None:
    if reply is None:
        return None
    told: dict[str, Any] = {"content": reply.text}
    if reply.tool_requests:
        told["tool_calls"] = _calls(reply.tool_requests)
    return json.dumps(told, ensure_ascii=False)
