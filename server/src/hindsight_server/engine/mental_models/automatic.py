"""Refreshes that nobody asked for: after consolidation, and by schedule."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from hindsight_server.domain.errors import InvalidInput, NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pages.trigger import free_again
from hindsight_server.engine import config as settings
from hindsight_server.engine.mental_models.schedule import next_time
from hindsight_server.engine.mental_models.scope import memory_scope
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.mental_models import REFRESH, MentalModel, MentalModelChange, refresh_payload
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)
_MINIMUM = "mental_model_min_refresh_interval_seconds"


class AutomaticRefreshes:
    """Queues refreshes of models that are behind their memories.

    A model whose last refresh failed waits until memories come that the failed one has not seen: what can't succeed is
    not tried on every occasion.
    """

    def __init__(self, store: Store, clock: Clock, *, on_job: Callable[[], None] = lambda: None) -> None:
        self._on_job = on_job
        self._store = store
        self._clock = clock

    async def consolidated(self, bank_id: str) -> list[Operation]:
        """To be called after a round of consolidation: refreshes are queued of the models that wait for it."""
        models = await self._store.list_mental_models(bank_id)
        waiting = [model for model in models if model.trigger.refresh_after_consolidation]
        queued = []
        for model in await self._behind(bank_id, waiting):
            try:
                queued.append(await self.queue(model))
            except NotFound as problem:  # deleted meanwhile; the others are refreshed all the same
                _log.info("%s is not refreshed: %s", _named(model), problem)
        return queued

    async def tick(self) -> list[Operation]:
        """Queue the refreshes that have come due by schedule, in all banks."""
        now = self._clock.now()
        queued: list[Operation] = []
        for model in await self._store.scheduled_mental_models():
            try:
                queued += await self._due(model, now)
            except NotFound as problem:  # deleted meanwhile; the others come due all the same
                _log.info("the schedule of %s is over: %s", _named(model), problem)
        return queued

    async def _due(self, model: MentalModel, now: datetime) -> list[Operation]:
        """The refresh of a model whose schedule has come due, when there is anything new for it."""
        trigger = model.trigger
        since = max(filter(None, (model.created_at, model.last_refreshed_at, model.scheduled_at)))
        full_since = max(filter(None, (model.created_at, model.last_full_refreshed_at, model.full_scheduled_at)))
        is_due = _is_due(trigger.refresh_cron, since, now)
        is_full_due = _is_due(trigger.full_refresh_cron, full_since, now)
        if not is_due and not is_full_due:
            return []
        behind = await self._behind(model.bank_id, [model])
        queued = [await self.queue(one, full=is_full_due) for one in behind]
        # A tick that finds nothing new is over: what comes later waits for the next one.
        change = MentalModelChange(scheduled_at=now if is_due else None, full_scheduled_at=now if is_full_due else None)
        await self._store.change_mental_model(model.bank_id, model.mental_model_id, change, model.updated_at)
        return queued

    async def queue(self, model: MentalModel, *, full: bool = False) -> Operation:
        """Queue a refresh; it waits until the model may be refreshed by itself again."""
        now = self._clock.now()
        until = await self._free_at(model)
        asked = new_refresh(model, now, full=full, until=until if until is not None and until > now else None)
        queued = await self._store.queue_refresh(model.bank_id, model.mental_model_id, asked)
        self._on_job()
        return queued

    async def _behind(self, bank_id: str, models: Sequence[MentalModel]) -> list[MentalModel]:
        """Those in whose scope something was written that their last refresh, failed or not, has not seen."""
        looked_at, wanted = [], []
        for model in models:
            try:
                scope = await memory_scope(self._store, model)
            except InvalidInput as problem:  # too many tags to find similar ones; the others are refreshed all the same
                _log.warning("%s is not refreshed by itself: %s", _named(model), problem)
                continue
            looked_at.append(model)
            wanted.append((max(model.seen_seq, model.failed_seq or 0), scope))
        news = await self._store.scope_news(bank_id, wanted) if wanted else []
        return [model for model, is_new in zip(looked_at, news, strict=True) if is_new or _was_cut(model)]

    async def _free_at(self, model: MentalModel) -> datetime | None:
        least = model.trigger.min_refresh_interval_seconds
        if least is None:
            bank = await self._store.get_bank(model.bank_id)
            least = settings.resolve(bank.config)[_MINIMUM]
        return free_again(model.last_refreshed_at, least)


def new_refresh(model: MentalModel, now: datetime, *, full: bool = False, until: datetime | None = None) -> Operation:
    """An operation that refreshes a model, to be queued."""
    return Operation(
        bank_id=model.bank_id,
        operation_id=new_id(),
        type=REFRESH,
        status="pending",
        payload=refresh_payload(model.mental_model_id, full=full),
        items_count=1,
        next_attempt_at=until,
        created_at=now,
        updated_at=now,
    )


def _is_due(expression: str | None, since: datetime, now: datetime) -> bool:
    if not expression:
        return False
    due = next_time(expression, since)
    return due is not None and due <= now


def _was_cut(model: MentalModel) -> bool:
    """Whether content was taken out of it and no refresh came since, failed or without anything to write from."""
    if model.cut_at is None or model.failed_seq is not None:
        return False
    return model.last_refreshed_at is None or model.last_refreshed_at <= model.cut_at


def _named(model: MentalModel) -> str:
    return f"mental model {model.mental_model_id!r} of bank {model.bank_id!r}"
