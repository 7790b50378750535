"""Jobs: done once, tried again, taken up after a crash."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.engine.jobs import JobIncomplete, JobOptions, JobRunner, JobWaits
from hindsight_server.engine.operations import Operations
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import Operation

from .conftest import Engine, SteppingClock, build

QUICK = JobOptions(poll_seconds=0.01, backoff_seconds=10.0, max_attempts=3, lease_seconds=0.15, stop_seconds=1.0)


class Work:
    """A handler that fails or waits as told."""

    def __init__(self) -> None:
        self.tries = 0
        self.failures: list[Exception] = []
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, operation: Operation) -> dict[str, int]:
        self.tries += 1
        self.started.set()
        await self.go_on.wait()
        if self.failures:
            raise self.failures.pop(0)
        return {"tries": self.tries}


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def runner(engine: Engine, work: Work) -> JobRunner:
    return JobRunner(engine.store, engine.clock, handlers={"test": work}, options=QUICK)


async def add(engine: Engine, operation_id: str = "job") -> None:
    await engine.store.ensure_bank("b", engine.clock.now())
    await engine.store.add_operation(
        Operation(bank_id="b", operation_id=operation_id, type="test", status="pending", created_at=engine.clock.now())
    )


async def status(engine: Engine, operation_id: str = "job") -> Operation:
    found: Operation = await engine.operations.status("b", operation_id)
    return found


async def test_a_job_is_done_once_and_its_result_kept(engine: Engine, runner: JobRunner, work: Work) -> None:
    await add(engine)
    assert await runner.run_until_idle() == 1
    done = await status(engine)
    assert (done.status, done.result, done.attempts, work.tries) == ("completed", {"tries": 1}, 1, 1)
    assert done.completed_at is not None


async def test_a_failed_job_waits_longer_before_each_try_and_is_given_up(
    engine: Engine, runner: JobRunner, work: Work
) -> None:
    work.failures = [RuntimeError("/etc/secret"), RuntimeError("x"), RuntimeError("y")]
    await add(engine)
    assert await runner.run_until_idle() == 1
    waiting = await status(engine)
    assert (waiting.status, waiting.error) == ("pending", "internal error (RuntimeError)")
    assert waiting.next_attempt_at is not None
    assert timedelta(seconds=9) < waiting.next_attempt_at - engine.clock.now() <= timedelta(seconds=10)
    engine.clock.forward(11)
    assert await runner.run_until_idle() == 1
    engine.clock.forward(11)
    assert await runner.run_until_idle() == 0
    engine.clock.forward(30)
    assert await runner.run_until_idle() == 1
    failed = await status(engine)
    assert (failed.status, failed.attempts, work.tries) == ("failed", 3, 3)


async def test_a_failure_that_would_repeat_is_not_tried_again(engine: Engine, runner: JobRunner, work: Work) -> None:
    work.failures = [InvalidInput("no such strategy")]
    await add(engine)
    await runner.run_until_idle()
    failed = await status(engine)
    assert (failed.status, failed.error) == ("failed", "no such strategy")


async def test_a_job_that_keeps_killing_its_process_is_given_up(engine: Engine, runner: JobRunner, work: Work) -> None:
    await add(engine)
    for _ in range(3):
        assert await engine.store.claim_operation(("test",), engine.clock.now(), 1.0)
        engine.clock.forward(2)
    await runner.run_until_idle()
    failed = await status(engine)
    assert (failed.status, work.tries) == ("failed", 0)
    assert "gave up" in (failed.error or "")


async def test_a_job_is_taken_up_as_soon_as_it_is_announced(engine: Engine, work: Work) -> None:
    slow = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=JobOptions(poll_seconds=600))
    await slow.start()
    await asyncio.sleep(0.05)
    await add(engine)
    slow.wake()
    await asyncio.wait_for(work.started.wait(), 10)
    await slow.stop()
    assert (await status(engine)).status == "completed"


async def test_an_unannounced_job_is_found_by_looking(engine: Engine, runner: JobRunner, work: Work) -> None:
    await runner.start()
    await add(engine)
    await asyncio.wait_for(work.started.wait(), 10)
    await runner.stop()
    assert (await status(engine)).status == "completed"


async def test_stopping_hands_a_running_job_back(engine: Engine, work: Work) -> None:
    options = JobOptions(poll_seconds=0.01, stop_seconds=0.05)
    runner = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=options)
    work.go_on.clear()
    await add(engine)
    await runner.start()
    await asyncio.wait_for(work.started.wait(), 10)
    await runner.stop()
    assert (await status(engine)).status == "pending"
    work.go_on.set()
    assert await runner.run_until_idle() == 1
    assert (await status(engine)).status == "completed"


async def _stopped_in_mid_job(engine: Engine, work: Work, options: JobOptions) -> None:
    runner = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=options)
    work.started.clear()
    work.go_on.clear()
    await runner.start()
    await asyncio.wait_for(work.started.wait(), 10)
    await runner.stop()
    work.go_on.set()


async def test_a_try_in_which_the_server_was_stopped_does_not_count(engine: Engine, work: Work) -> None:
    options = replace(QUICK, stop_seconds=0.01, lease_seconds=60.0)
    await add(engine)
    for _ in range(5):
        await _stopped_in_mid_job(engine, work, options)
    stopped = await status(engine)
    assert (stopped.status, stopped.attempts, stopped.error) == ("pending", 5, None)
    runner = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=options)
    work.failures = [RuntimeError("x"), RuntimeError("y"), RuntimeError("z")]
    for expected in ("pending", "pending", "failed"):
        assert await runner.run_until_idle() == 1
        assert (await status(engine)).status == expected
        engine.clock.forward(100)


async def test_a_job_that_waits_for_something_is_as_patient_after_a_stop(engine: Engine, work: Work) -> None:
    options = replace(QUICK, stop_seconds=0.01, lease_seconds=60.0, patient_attempts=5)
    runner = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=options)
    work.failures = [JobIncomplete("away", result={"so": "far"}, waits=True) for _ in range(4)]
    await add(engine)
    for _ in range(4):
        assert await runner.run_until_idle() == 1
        engine.clock.forward(1000)
    await _stopped_in_mid_job(engine, work, options)
    stopped = await status(engine)
    assert (stopped.error, stopped.result) == ("away", {"so": "far", "waited": 1})
    assert await runner.run_until_idle() == 1
    assert (await status(engine)).status == "completed"


async def test_a_long_job_keeps_its_lease(engine: Engine, runner: JobRunner, work: Work) -> None:
    # The clock stands in for the lease's time: each renewal pushes the end of the lease ahead of it.
    work.go_on.clear()
    await add(engine)
    await runner.start()
    await asyncio.wait_for(work.started.wait(), 10)
    for _ in range(4):
        engine.clock.forward(0.1)
        await asyncio.sleep(0.12)
    assert work.tries == 1
    work.go_on.set()
    await runner.stop()
    assert (await status(engine)).status == "completed"


async def test_a_cancelled_job_is_stopped_while_it_runs(engine: Engine, runner: JobRunner, work: Work) -> None:
    work.go_on.clear()
    await add(engine)
    await runner.start()
    await asyncio.wait_for(work.started.wait(), 10)
    await engine.operations.cancel("b", "job")
    await add(engine, "next")
    work.started.clear()
    work.go_on.set()
    await asyncio.wait_for(work.started.wait(), 10)
    await runner.stop()
    assert (await status(engine)).status == "cancelled"
    assert (await status(engine, "next")).status == "completed"


async def test_a_job_that_finds_itself_cancelled_when_it_stores_is_no_failure(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    async def store(operation: Operation) -> dict[str, int]:
        await engine.operations.cancel("b", operation.operation_id)
        raise Conflict("The operation was cancelled; nothing was stored.")

    await add(engine)
    await JobRunner(engine.store, engine.clock, handlers={"test": store}, options=QUICK).run_until_idle()
    assert (await status(engine)).status == "cancelled"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_what_can_not_be_done_as_asked_is_one_line_in_the_log(
    engine: Engine, work: Work, runner: JobRunner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "hindsight_server.engine.jobs")
    work.failures = [InvalidInput("File 'a.pdf' can't be read: it is damaged.")]
    await add(engine)
    await runner.run_until_idle()
    told = [record for record in caplog.records if "a.pdf" in record.message]
    assert [(record.levelname, record.exc_info) for record in told] == [("ERROR", None)]
    traces = [record.levelname for record in caplog.records if record.exc_info]
    assert traces == ["DEBUG"]


async def test_a_cancelled_job_is_stopped_long_before_its_lease_is_renewed(engine: Engine, work: Work) -> None:
    runner = JobRunner(engine.store, engine.clock, handlers={"test": work}, options=JobOptions(slots=1))
    operations = Operations(engine.store, engine.clock, on_cancel=runner.doubt)
    work.go_on.clear()
    await add(engine)
    await runner.start()
    await asyncio.wait_for(work.started.wait(), 10)
    work.started.clear()
    await operations.cancel("b", "job")
    await add(engine, "next")
    await asyncio.wait_for(work.started.wait(), 5)  # in the only slot
    work.go_on.set()
    await runner.stop()
    assert (await status(engine)).status == "cancelled"


async def test_what_may_be_done_to_an_operation_depends_on_its_state(engine: Engine, runner: JobRunner) -> None:
    await add(engine)
    assert (await engine.operations.status("b", "other")).status == "not_found"
    with pytest.raises(NotFound):
        await engine.operations.cancel("b", "other")
    with pytest.raises(Conflict):
        await engine.operations.delete("b", "job")
    with pytest.raises(Conflict):
        await engine.operations.retry("b", "job")
    await engine.operations.cancel("b", "job")
    assert await runner.run_until_idle() == 0
    with pytest.raises(Conflict):
        await engine.operations.cancel("b", "job")
    assert [one.operation_id for one in (await engine.operations.list("b", status="cancelled")).items] == ["job"]
    with pytest.raises(InvalidInput):
        await engine.operations.list("b", status="lost")
    await engine.operations.delete("b", "job")
    assert (await engine.operations.status("b", "job")).status == "not_found"


async def test_a_failed_operation_can_be_tried_again(engine: Engine, runner: JobRunner, work: Work) -> None:
    work.failures = [InvalidInput("x")]
    await add(engine)
    await runner.run_until_idle()
    await engine.operations.retry("b", "job")
    await runner.run_until_idle()
    assert (await status(engine)).status == "completed"


async def test_a_cancelled_retain_keeps_its_words_and_can_be_taken_up_again(engine: Engine) -> None:
    outcome = await engine.retain("b", [ItemInput(content="Ann moved.")], run_async=True)
    assert outcome.operation_id
    await engine.operations.cancel("b", outcome.operation_id)
    assert await engine.jobs.run_until_idle() == 0
    assert await engine.texts("b", "pending") == ["Ann moved."]
    await engine.operations.retry("b", outcome.operation_id)
    assert await engine.jobs.run_until_idle() == 1
    assert await engine.texts("b", "valid") == ["Ann moved."]
    assert await engine.texts("b", "pending") == []


async def test_case_a08_a_retain_whose_bank_is_deleted_writes_nothing(engine: Engine) -> None:
    outcome = await engine.retain("b", [ItemInput(content="Ann moved.")], run_async=True)
    job = await engine.store.claim_operation(("retain",), engine.clock.now(), 30.0)
    assert job
    assert job.operation_id == outcome.operation_id
    await engine.banks.delete("b")
    with pytest.raises(NotFound):
        await engine.retainer.run_job(job)
    assert (await engine.banks.list()).total == 0


async def test_a_job_whose_bank_is_deleted_while_it_runs_is_no_error(
    engine: Engine, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    async def deleting(job: Operation) -> Mapping[str, Any]:
        await engine.banks.delete("b")
        raise NotFound("the bank is gone")

    caplog.set_level("INFO")
    await add(engine)
    runner = JobRunner(engine.store, engine.clock, handlers={"test": deleting})
    assert await runner.run_until_idle() == 1
    assert "was deleted while it ran" in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


KILLED = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobRunner
from hindsight_server.engine.retain import ItemInput, Retainer


class Clock:
    def now(self):
        return datetime.now(UTC)

class Dying(HashingEmbedder):
    def encode(self, texts):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    retainer = Retainer(store, BuiltinExtractor(Analyzer()), Indexer(Analyzer(), Dying()), Clock())
    runner = JobRunner(store, Clock(), handlers={"retain": retainer.run_job})
    items = [ItemInput(content=f"Ann: note {n} is here.", document_id="d") for n in range(5)]
    outcome = await retainer.retain("b", items, run_async=True)
    print(outcome.operation_id, flush=True)
    await runner.run_until_idle()

asyncio.run(main())
"""


async def test_a_job_survives_the_death_of_its_process(tmp_path: Path, clock: SteppingClock) -> None:
    folder = tmp_path / "data"
    command = [sys.executable, "-c", KILLED, str(folder)]
    died = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    store = SqliteStore(folder)
    await store.open()
    try:
        engine = build(store, clock)
        clock.time = datetime.now(UTC)
        expected = sorted(f"Ann: note {n} is here." for n in range(5))
        assert sorted(await engine.texts("b", "pending")) == expected
        # Its lease still has most of its 30 seconds, but nobody else can hold the folder.
        assert await engine.jobs.run_until_idle() == 1
        assert sorted(await engine.texts("b", "valid")) == expected
        assert await engine.texts("b", "pending") == []
        assert (await engine.operations.status("b", died.stdout.strip())).status == "completed"
    finally:
        await store.close()


async def test_a_job_cancelled_and_queued_again_is_left_by_the_worker_that_was_at_it(engine: Engine) -> None:
    works = [Work(), Work()]
    patient = replace(QUICK, lease_seconds=60.0)
    runners = [JobRunner(engine.store, engine.clock, handlers={"test": work}, options=patient) for work in works]
    works[0].go_on.clear()
    await add(engine)
    first = asyncio.create_task(runners[0].run_until_idle())
    await asyncio.wait_for(works[0].started.wait(), 10)
    await engine.operations.cancel("b", "job")
    await engine.operations.retry("b", "job")
    works[1].go_on.clear()
    second = asyncio.create_task(runners[1].run_until_idle())
    await asyncio.wait_for(works[1].started.wait(), 10)
    runners[0].doubt()
    assert await asyncio.wait_for(first, 10) == 1
    assert (await status(engine)).status == "processing"
    works[1].go_on.set()
    assert await asyncio.wait_for(second, 10) == 1
    done = await status(engine)
    assert (done.status, done.attempts) == ("completed", 1)


@pytest.mark.parametrize("waits", [2, 9])
async def test_tries_that_only_wait_do_not_count_and_a_job_queued_anew_begins_anew(
    engine: Engine, runner: JobRunner, work: Work, waits: int
) -> None:
    work.failures = [JobWaits(result={"n": n}, seconds=60) for n in range(waits)]
    work.failures += [ValueError("broken") for _ in range(6)]
    await add(engine)
    seen = []
    for _ in range(waits + 3):
        assert await runner.run_until_idle() == 1
        found = await engine.store.get_operation("b", "job")
        assert found is not None
        seen.append((found.status, (found.result or {}).get("waited")))
        engine.clock.forward(100_000)
    assert seen[waits - 1 :] == [("pending", waits)] * 3 + [("failed", waits)]
    assert await engine.store.requeue_operation("b", "job", engine.clock.now())
    for expected in ("pending", "pending", "failed"):
        assert await runner.run_until_idle() == 1
        found = await engine.store.get_operation("b", "job")
        assert found is not None
        assert found.status == expected
        engine.clock.forward(100_000)
