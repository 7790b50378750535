"""The questions of a job as one batch that is left with the provider."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hindsight_server.domain.errors import ModelError, ModelUnavailable
from hindsight_server.engine.jobs import JobIncomplete, JobWaits
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.llm import BatchProvider, ChatReply, ChatRequest
from hindsight_server.ports.records import Operation

_LONGEST = timedelta(hours=26)  # providers give a batch up after 24 hours

_log = logging.getLogger(__name__)


class Batching:
    """Leaves the questions of jobs with the provider of a model. The operation of a job tells which batch is its own.

    Args:
        poll_seconds: after how long a job looks for its answers again.
    """

    def __init__(self, provider: BatchProvider, clock: Clock, *, poll_seconds: float = 60.0) -> None:
        self._provider = provider
        self._clock = clock
        self._poll_seconds = poll_seconds

    async def collected(self, operation: Operation) -> Mapping[str, ChatReply] | None:
        """The answers of a job's batch by the ids of their questions; None when it has left none yet.

        Answers that never came are missing: a batch that failed, expired or is gone has none.

        Raises:
            JobWaits: the batch is not done.
        """
        batch = (operation.result or {}).get("batch")
        if batch is None:
            return None
        answers: Mapping[str, ChatReply] | None = None
        try:
            answers = await self._provider.poll(batch["id"])
        except ModelUnavailable as error:
            _log.warning("batch of job %s could not be asked for, trying again: %s", operation.operation_id, error)
        except ModelError as error:
            _log.warning("batch of job %s is lost, its questions are put singly: %s", operation.operation_id, error)
            return {}
        if answers is not None:
            return answers
        if self._clock.now() - datetime.fromisoformat(batch["since"]) < _LONGEST:
            raise self._waits(operation, operation.result or {})
        _log.warning("batch of job %s is given up, its questions are put singly", operation.operation_id)
        return {}

    async def submit(self, operation: Operation, questions: Mapping[str, ChatRequest]) -> None:
        """Leave the questions of a job; returns when the provider refuses them, so that they are put singly.

        Raises:
            JobWaits: they are there.
            JobIncomplete: the provider is away.
        """
        before = operation.result or {}
        try:
            batch_id = await self._provider.submit(operation.operation_id, questions)
        except ModelUnavailable as error:
            raise JobIncomplete(str(error), result=before, waits=True) from error
        except ModelError as error:
            _log.warning("batch of job %s is refused, its questions are put singly: %s", operation.operation_id, error)
            return
        batch = {"id": batch_id, "since": self._clock.now().isoformat()}
        raise self._waits(operation, {**before, "batch": batch})

    async def discard(self, operation: Operation) -> None:
        """Have the provider delete the questions and answers of a job that is done."""
        batch = (operation.result or {}).get("batch")
        if batch is not None:
            await self._provider.discard(batch["id"])

    def _waits(self, operation: Operation, result: Mapping[str, Any]) -> JobWaits:
        progress = {
            "stage": "waiting_for_batch",
            "at": self._clock.now().isoformat(),
            "processed": len(result.get("read", {}).get("document_ids", ())),
            "total": operation.items_count,
        }
        return JobWaits(result={**result, "progress": progress}, seconds=self._poll_seconds)
