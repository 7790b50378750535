"""The worker: takes jobs from the store and does them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hindsight_server.domain.errors import BankNotFound, Conflict, HindsightServerError, InvalidInput, NotFound
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.jobs import JobQueue
from hindsight_server.ports.records import Operation

Handler = Callable[[Operation], Awaitable[Mapping[str, Any]]]
"""Does a job and tells what came of it. It is run again after a crash, so doing it twice must equal doing it once."""

_log = logging.getLogger(__name__)


class JobIncomplete(HindsightServerError):
    """A job did what could be done; the rest is to be tried again.

    Args:
        result: what came of it so far; the next try finds it in its operation.
        waits: for something that is away, so that it is tried for longer.
    """

    def __init__(self, message: str, *, result: Mapping[str, Any], waits: bool = False) -> None:
        super().__init__(message)
        self.result = result
        self.waits = waits


class JobWaits(HindsightServerError):
    """A job has nothing to do for a while. It is handed back, and the try does not count.

    Args:
        result: what came of it so far; the next try finds it in its operation.
        seconds: after how long it is taken up again.
    """

    def __init__(self, *, result: Mapping[str, Any], seconds: float) -> None:
        super().__init__(f"The job waits for {seconds:g} s.")
        self.result = result
        self.seconds = seconds


WAITED = "waited"
"""The key of a job's result for how many of its tries do not count: they did nothing but wait, or the server was
stopped meanwhile. A job that goes on keeps it; the store takes it out when a job is queued again, as it begins to count
anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """How jobs are run.

    Args:
        slots: jobs done at the same time.
        poll_seconds: how often to look for jobs that nobody announced (of other processes, or after a lease ran out).
        lease_seconds: how long a job of a killed process stays taken, unless the store has one owner and was opened
            again; a living worker renews it every third of that.
        max_attempts: tries before a job is failed for good.
        patient_attempts: tries of a job that waits for something that is away; with the other defaults, for an hour.
        backoff_seconds: wait before the second try; four times as long before each further one.
        longest_backoff_seconds: but no longer than this.
        stop_seconds: how long `stop` waits for running jobs before it hands them back.
    """

    slots: int = 2
    poll_seconds: float = 0.5
    lease_seconds: float = 30.0
    max_attempts: int = 4
    patient_attempts: int = 10
    backoff_seconds: float = 2.0
    longest_backoff_seconds: float = 900.0
    stop_seconds: float = 5.0


class JobRunner:
    """Claims jobs with a lease, does them, retries with backoff.

    A job lost to a crash is taken up when its lease ends, or when a store with one owner is opened again.

    Args:
        handlers: what does the jobs of each type; more can be added with `register` before `start`.
    """

    def __init__(
        self,
        store: JobQueue,
        clock: Clock,
        *,
        handlers: Mapping[str, Handler] | None = None,
        options: JobOptions | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._handlers = dict(handlers or {})
        self._options = options or JobOptions()
        self._announced = asyncio.Event()
        self._doubted = asyncio.Event()
        self._stopping = False
        self._looking: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()

    def register(self, type_: str, handler: Handler) -> None:
        """Let `handler` do the jobs of a type."""
        self._handlers[type_] = handler

    async def start(self) -> None:
        """Begin taking jobs, in tasks of the running event loop."""
        self._stopping = False
        self._looking = asyncio.create_task(self._look(), name="jobs")

    async def stop(self) -> None:
        """Take no more jobs and wait for the running ones; those that take too long go back to the queue."""
        self._stopping = True
        self._announced.set()
        if self._looking is not None:
            await self._looking
            self._looking = None
        running = set(self._running)
        if running:
            _, late = await asyncio.wait(running, timeout=self._options.stop_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def wake(self) -> None:
        """Look for jobs now. Called from the event loop that runs the worker."""
        self._announced.set()

    def doubt(self) -> None:
        """Have each running job look now whether it is still to be done. Called like `wake`, after a cancellation.

        One that was cancelled by another process is noticed when its lease is renewed.
        """
        self._doubted.set()
        self._doubted.clear()

    async def run_until_idle(self) -> int:
        """Do all jobs that can be taken now, in the caller's task; the number of tries. For tests and commands."""
        tries = 0
        while (job := await self._claimed()) is not None:
            await self._run(job)
            tries += 1
        return tries

    async def _look(self) -> None:
        while not self._stopping:
            job = None
            if len(self._running) < self._options.slots:
                try:
                    job = await self._claimed()
                except Exception:  # the worker outlives whatever the store is going through
                    _log.exception("looking for jobs failed; trying again")
            if job is None:
                await self._wait()
                continue
            task = asyncio.create_task(self._run_safely(job), name=f"slot-{job.operation_id}")
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._announced.set()  # there is a free slot

    async def _claimed(self) -> Operation | None:
        if not self._handlers:
            return None
        types = tuple(self._handlers)
        return await self._store.claim_operation(types, self._clock.now(), self._options.lease_seconds)

    async def _run_safely(self, job: Operation) -> None:
        try:
            await self._run(job)
        except Exception:  # it is taken up again when its lease ends
            _log.exception("the outcome of job %s could not be kept", job.operation_id)

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._announced.wait(), self._options.poll_seconds)
        if not self._stopping:
            self._announced.clear()

    async def _run(self, job: Operation) -> None:
        work = asyncio.create_task(self._do(job), name=f"job-{job.operation_id}")
        lease = asyncio.create_task(self._keep_lease(job), name=f"lease-{job.operation_id}")
        try:
            await asyncio.wait({work, lease}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
            else:
                _log.info("job %s of bank %r was cancelled while it ran", job.operation_id, job.bank_id)
        except asyncio.CancelledError:
            if not work.done():
                await _ended(work)
                await self._handed_back(job)
            raise
        finally:
            await _ended(work, lease)

    async def _handed_back(self, job: Operation) -> None:
        """Of a server that stops: the job is as it was before this try, besides what it has told of itself."""
        result = {**(await self._result_of(job) or {}), WAITED: job.attempts - _tries(job) + 1}
        await self._store.finish_operation(job, "pending", self._clock.now(), result=result, error=job.error)

    async def _do(self, job: Operation) -> None:
        most = self._options.max_attempts if job.error is None else self._options.patient_attempts
        if _tries(job) > most:
            # Only a job that takes its process down with it gets here: other failures are counted when they happen.
            told = f"gave up after {most} tries that never came to an end"
            await self._store.finish_operation(job, "failed", self._clock.now(), result=job.result, error=told)
            return
        try:
            result = await self._handlers[job.type](job)
        except JobWaits as wait:
            now = self._clock.now()
            result = {**wait.result, WAITED: job.attempts - _tries(job) + 1}
            retry_at = now + timedelta(seconds=wait.seconds)
            await self._store.finish_operation(job, "pending", now, result=result, retry_at=retry_at)
        except Exception as error:  # whatever goes wrong in a job is told in its operation
            await self._failed(job, error)
        else:
            await self._store.finish_operation(job, "completed", self._clock.now(), result=result)

    async def _failed(self, job: Operation, error: Exception) -> None:
        now = self._clock.now()
        if isinstance(error, NotFound | Conflict) and await self._gone(job):
            _log.info(
                "job %s of bank %r ended: it was deleted while it ran, or cancelled", job.operation_id, job.bank_id
            )
            return
        waits = isinstance(error, JobIncomplete) and error.waits
        most = self._options.patient_attempts if waits else self._options.max_attempts
        tries = _tries(job)
        lasting = isinstance(error, InvalidInput | NotFound) or tries >= most
        told = str(error) if isinstance(error, HindsightServerError) else f"internal error ({type(error).__name__})"
        foreseen = isinstance(error, JobIncomplete | InvalidInput)
        _log.error(
            "job %s (%s) of bank %r failed at try %d, %s: %s",
            job.operation_id,
            job.type,
            job.bank_id,
            tries,
            "for good" if lasting else "to be tried again",
            told,
            exc_info=None if foreseen else error,
        )
        if foreseen:
            _log.debug("job %s failed here:", job.operation_id, exc_info=error)
        result = error.result if isinstance(error, JobIncomplete) else await self._result_of(job)
        if lasting:
            await self._store.finish_operation(job, "failed", now, result=result, error=told)
        else:
            if job.attempts > tries:
                result = {**(result or {}), WAITED: job.attempts - tries}
            delay = self._options.backoff_seconds * 4 ** max(0, tries - 1)
            retry_at = now + timedelta(seconds=min(delay, self._options.longest_backoff_seconds))
            await self._store.finish_operation(job, "pending", now, result=result, error=told, retry_at=retry_at)

    async def _result_of(self, job: Operation) -> Mapping[str, Any] | None:
        """What the job has told of itself so far."""
        try:
            known = await self._store.get_operation(job.bank_id, job.operation_id)
        except BankNotFound:
            return None
        return known.result if known is not None else None

    async def _gone(self, job: Operation) -> bool:
        try:
            known = await self._store.get_operation(job.bank_id, job.operation_id)
        except BankNotFound:
            return True
        return known is None or known.status == "cancelled"

    async def _keep_lease(self, job: Operation) -> None:
        """Renew the lease; returns when the job was cancelled or deleted."""
        lease = self._options.lease_seconds
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._doubted.wait(), lease / 3)
            try:
                if not await self._store.renew_operation(job, self._clock.now(), lease):
                    return
            except Exception:  # the job goes on; at worst it is done twice, which equals once
                _log.exception("the lease of job %s could not be renewed; trying again", job.operation_id)


def _tries(job: Operation) -> int:
    """The tries of a job that count."""
    return job.attempts - int((job.result or {}).get(WAITED, 0))


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
