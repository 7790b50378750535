"""The job that refreshes a mental model."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hindsight_server.domain.errors import Conflict, HindsightServerError, ModelUnavailable, Overloaded
from hindsight_server.domain.pages.trigger import sources_of
from hindsight_server.engine.mental_models import types as kinds
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.scope import memory_scope
from hindsight_server.engine.mental_models.trace import trace_of
from hindsight_server.engine.mental_models.types import Refreshing
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.mental_models import RefreshWrite
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)
_TRIES = 3  # of a refresh whose model does not answer, and of one whose memories change under it


class RefreshJobs:
    """Refreshes models as operations say. What fails for good is told in the operation and in the model's history."""

    def __init__(self, store: Store, refresher: Refresher, clock: Clock) -> None:
        self._store = store
        self._refresher = refresher
        self._clock = clock

    async def run(self, job: Operation) -> Mapping[str, Any]:
        """Do one; the store ends the operation together with what it writes.

        Raises:
            ModelUnavailable, Overloaded, Conflict: to be tried again.
        """
        payload = job.payload or {}
        mental_model_id, full = str(payload["mental_model_id"]), bool(payload.get("full"))
        for attempt in range(1, _TRIES + 1):
            model = await self._store.get_mental_model(job.bank_id, mental_model_id)
            try:
                run = await self._refresher.compute(model, full=full, operation_id=job.operation_id)
            except (ModelUnavailable, Overloaded) as problem:
                if job.attempts < _TRIES:
                    raise
                run = await self._given_up(model.bank_id, mental_model_id, problem)
            except HindsightServerError:
                raise
            except Exception as problem:  # whatever it is, it is told in the model's history
                _log.exception("refresh of mental model %r of bank %r failed", mental_model_id, job.bank_id)
                run = await self._given_up(model.bank_id, mental_model_id, problem)
            try:
                return await self._save(job, run)
            except Conflict:
                held = await self._store.get_operation(job.bank_id, job.operation_id)
                if held is None or held.status != "processing" or attempt == _TRIES:
                    raise
                _log.info("refresh of mental model %r begins again: it, or a memory, changed under it", mental_model_id)
        raise AssertionError("unreachable")

    async def _save(self, job: Operation, run: Refreshing) -> Mapping[str, Any]:
        content = run.content
        if content is not None and run.model.trigger.keep_trace:
            content = replace(content, trace=trace_of(run, self._clock.now(), with_output=False))
        result = result_of(run)
        await self._store.save_refresh(
            RefreshWrite(
                bank_id=job.bank_id,
                mental_model_id=run.model.mental_model_id,
                now=self._clock.now(),
                mark=run.mark,
                base_version=run.model.version,
                base_sources=sources_of(run.model.tags, run.model.trigger),
                outcome=run.outcome,
                content=content,
                index=run.index if content is not None else None,
                full=run.effective == "full" and run.outcome != kinds.NOTHING_NEW,
                failure=run.failure,
                error=run.error,
                finishes=job,
                result=result,
            )
        )
        return result

    async def _given_up(self, bank_id: str, mental_model_id: str, problem: Exception) -> Refreshing:
        model = await self._store.get_mental_model(bank_id, mental_model_id)
        scope = await memory_scope(self._store, model)
        mark = await self._store.scope_mark(bank_id, scope)
        mode = model.trigger.mode
        run = Refreshing(model=model, scope=scope, mark=mark, requested=mode, effective=mode)
        safe = isinstance(problem, HindsightServerError)
        told = str(problem) if safe else f"internal error ({type(problem).__name__})"
        run.fail(kinds.FAILED, "unexpected_error", told)
        return run


def result_of(run: Refreshing) -> dict[str, Any]:
    """What the operation tells; nothing of it is from a memory."""
    details = {
        "operation_type": "refresh_mental_model",
        "outcome": run.outcome,
        "failure_reason": run.failure,
    }
    return {
        "mental_model_id": run.model.mental_model_id,
        "details": details,
        "effective_mode": run.effective,
        "mode_fallback_reason": run.fallback,
        "edits_applied": len(run.applied or ()),
        "edits_skipped": len(run.skipped or ()),
        **({"skipped_edits": dict(sorted(run.skipped_by.items()))} if run.skipped_by else {}),
        "sentences_left_out": len(run.left_out),
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
    }
