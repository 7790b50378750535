"""The threads that do the blocking work: one writer, and a few readers that never wait for it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import apsw

from hindsight_server.domain.errors import HindsightServerError

_log = logging.getLogger(__name__)
T = TypeVar("T")
Work = Callable[[apsw.Connection], T]

# More would only make the first of them wait longer for its commit.
_GROUP = 64
# A few rows take a tenth of a millisecond, or a few when other threads compute; longer takes a disk, or huge texts.
_LONG_SECONDS = 0.01
_AWAY_SECONDS = 10.0
_STEPS = 200  # of SQLite's machine, between two looks at the clock: about four rows


@dataclass(slots=True)
class _Job:
    work: Work[Any]
    future: Future[Any]
    in_transaction: bool = True
    outcome: Any = None
    failure: BaseException | None = None

    def settle(self, commit_failure: BaseException | None) -> None:
        failure = self.failure or commit_failure
        if failure is None:
            self.future.set_result(self.outcome)
        else:
            self.future.set_exception(failure)


class Writer:
    """One thread with the only connection that writes.

    Writes that queue up while another is being committed share the next commit: each runs in its own savepoint, so that
    one that fails leaves no trace, and none is acknowledged before the commit is on the disk.

    Args:
        connect: makes the connection.
        named: gives the errors of beginning and committing their names.
    """

    def __init__(
        self, connect: Callable[[], apsw.Connection], named: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._named = named
        self._connection = connect()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="hindsight-store-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[T]) -> Future[T]:
        """Run `work` in a transaction. A future that is cancelled before its turn comes is never run."""
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise HindsightServerError("The store is closed.")
            self._queue.put(_Job(work, future))
        return future

    def submit_outside(self, work: Work[T]) -> Future[T]:
        """Run `work` after what was submitted before is committed, outside of any transaction."""
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise HindsightServerError("The store is closed.")
            self._queue.put(_Job(work, future, in_transaction=False))
        return future

    def close(self) -> None:
        """Finish what is queued, then close the connection."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            jobs, last = self._next_group()
            jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            writes = [job for job in jobs if job.in_transaction]
            if writes:
                self._commit_together(writes)
            for job in jobs:
                if not job.in_transaction:
                    self._run_outside(job)
        self._connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        jobs: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == _GROUP:
                return jobs, False
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _run_outside(self, job: _Job) -> None:
        try:
            job.outcome = job.work(self._connection)
        except Exception as error:  # whatever it is, it belongs to the caller who waits
            job.failure = error
        job.settle(None)

    def _commit_together(self, jobs: list[_Job]) -> None:
        failure: BaseException | None = None
        try:
            with self._named():
                self._roll_back()  # what a failed rollback left
                self._connection.execute("BEGIN IMMEDIATE")
                for job in jobs:
                    self._run_one(job, alone=len(jobs) == 1)
                self._connection.execute("COMMIT")
        except Exception as error:  # none of the jobs happened, and each caller must hear why
            failure = error
            try:
                self._roll_back()
            except apsw.Error:  # the next group tries again; without this thread, every later write would wait for ever
                _log.exception("a transaction that failed could not be rolled back")
        for job in jobs:
            job.settle(failure)

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _run_one(self, job: _Job, *, alone: bool) -> None:
        connection = self._connection
        if not alone:
            connection.execute("SAVEPOINT job")
        try:
            job.outcome = job.work(connection)
        except Exception as error:  # whatever it is, it belongs to one caller: the other jobs go on
            job.failure = error
            # A disk that is full ends the whole transaction, savepoints and all.
            if alone or not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO job")
        if not alone:
            connection.execute("RELEASE job")


class Readers:
    """A few threads, each with its own connection that can't write; and one more, for what is read on the spot."""

    def __init__(self, connect: Callable[[], apsw.Connection], *, threads: int) -> None:
        self._connect = connect
        self._local = threading.local()
        self._glance: apsw.Connection | None = connect()
        self._glancing = threading.Lock()
        self._opened = [self._glance]
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="hindsight-store-reader")
        self._away_until = 0.0

    def submit(self, work: Work[T]) -> Future[T]:
        """Run `work` in a read transaction: it sees one state of the database from beginning to end."""
        try:
            return self._executor.submit(self._run, work)
        except RuntimeError:
            raise HindsightServerError("The store is closed.") from None

    def glance(self, work: Work[T]) -> Future[T]:
        """Run `work`, which reads a few rows, on the spot: waking a thread for it takes longer.

        What takes 10 ms, as from a disk that is busy, is given up there and run by a thread, as are the next ones for
        ten seconds.
        """
        if time.monotonic() < self._away_until or not self._glancing.acquire(blocking=False):
            return self.submit(work)
        try:
            read = self._on_the_spot(work)
        finally:
            self._glancing.release()
        return self.submit(work) if read is None else read

    def _on_the_spot(self, work: Work[T]) -> Future[T] | None:
        if self._glance is None:
            return None
        future: Future[T] = Future()
        until = time.monotonic() + _LONG_SECONDS
        try:
            future.set_result(_read(self._glance, partial(_hurried, work, until=until)))
        except apsw.InterruptError:
            return None
        except Exception as error:  # whatever it is, it belongs to the caller who waits
            future.set_exception(error)
        finally:
            if (ended := time.monotonic()) > until:
                self._away_until = ended + _AWAY_SECONDS
        return future

    def close(self) -> None:
        self._executor.shutdown(wait=True)
        with self._glancing:
            self._glance = None
        for connection in self._opened:
            connection.close()

    def _run(self, work: Work[T]) -> T:
        return _read(self._connection(), work)

    def _connection(self) -> apsw.Connection:
        held: apsw.Connection | None = getattr(self._local, "connection", None)
        if held is None:
            held = self._connect()
            self._local.connection = held
            with self._lock:
                self._opened.append(held)
        return held


def _read(connection: apsw.Connection, work: Work[T]) -> T:
    if connection.in_transaction:  # the rollback of one before was interrupted
        connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        connection.execute("ROLLBACK")


def _hurried(work: Work[T], connection: apsw.Connection, *, until: float) -> T:
    """Raises InterruptError when the database is still at it by then."""
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        return work(connection)
    finally:
        connection.set_progress_handler(None)
