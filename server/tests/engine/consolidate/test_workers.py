"""Many workers on one bank, and workers that die: nothing is made twice, nothing is left behind."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions
from hindsight_server.engine.jobs import JobOptions, JobRunner
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.ports.store import Store
from hindsight_server.testing.scripted_model import ScriptedProvider

from ..conftest import SteppingClock
from .conftest import Shown, World, action, make_world

_WORKERS = 8
_TOPIC = re.compile(r"topic \w+")


def by_topic(shown: Shown) -> list[dict[str, Any]]:
    """One observation for each topic, whose later facts support it."""
    topics: dict[str, list[str]] = {}
    for label, said in shown.facts.items():
        topics.setdefault(_TOPIC.findall(said)[0], []).append(label)
    actions = []
    for topic, labels in topics.items():
        about = next((label for label, said in shown.observations.items() if f"{topic} " in said), None)
        kind = "create" if about is None else "update"
        actions.append(action(kind, f"Ann spoke of {topic} again.", *labels, about=about))
    return actions


class Mortal:
    """A store as one worker has it: once the worker is dead, nothing of it reaches the store any more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise RuntimeError("this worker is dead")
            return await method(*args, **kwargs)

        return call


class Worker:
    """A job runner that can be killed."""

    def __init__(self, world: World, clock: Clock) -> None:
        self.mortal = Mortal(world.engine.store)
        store = cast("Store", self.mortal)
        provider = ScriptedProvider(lambda request: {"actions": by_topic(Shown.of(request))}, seconds=0.003)
        consolidator = Consolidator(
            store,
            world.consolidator._tools.drafter._indexer,
            clock,
            LanguageModel(provider, ModelOptions(max_retries=0)),
            options=ConsolidatorOptions(candidates=50),
        )
        options = JobOptions(slots=1, poll_seconds=0.005, lease_seconds=30.0, max_attempts=3, backoff_seconds=0.1)
        self.runner = JobRunner(store, clock, handlers={CONSOLIDATION: consolidator.run_job}, options=options)

    async def kill(self) -> None:
        self.mortal.dead = True
        tasks = {task for task in (self.runner._looking, *self.runner._running) if task is not None}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.feature("F6")
async def test_case_a39_eight_workers_killed_at_random_make_nothing_twice(
    opened: SqliteStore, clock: SteppingClock
) -> None:
    world = make_world(opened, clock)
    chance = random.Random(7)
    topics = [f"topic t{number}x" for number in range(12)]
    workers = [Worker(world, clock) for _ in range(_WORKERS)]
    for worker in workers:
        await worker.runner.start()
    retained = 0
    for turn in range(24):
        said = [f"Ann: I speak of {topic} for the {turn}. time." for topic in chance.sample(topics, 5)]
        await world.retain("b", *said)
        retained += len(said)
        await asyncio.gather(*(world.consolidator.changed("b") for _ in range(4)))
        await asyncio.sleep(chance.uniform(0, 0.02))
        at = chance.randrange(_WORKERS)
        await workers[at].kill()
        # The lease of a dead worker runs out, and sometimes that of one that is only slow.
        clock.forward(40 if chance.random() < 0.7 else 1)
        workers[at] = Worker(world, clock)
        await workers[at].runner.start()
    await _come_to_rest(world, clock)
    for worker in workers:
        await worker.runner.stop()
    held = await world.held("b")
    assert sorted(one.fact.text for one in held) == sorted(f"Ann spoke of {topic} again." for topic in topics)
    sources = Counter(source.fact_id for one in held for source in one.sources)
    assert (len(sources), set(sources.values())) == (retained, {1})
    assert await world.counts("b") == (0, 0)
    assert sum(one.fact.proof_count for one in held) == retained


async def _come_to_rest(world: World, clock: SteppingClock) -> None:
    """Until nothing waits and no job is left; what failed for good is asked for again by the sweep."""
    for _ in range(400):
        clock.forward(1000)
        await world.consolidator.sweep()
        await asyncio.sleep(0.02)
        stats = (await world.engine.store.bank_stats("b")).operations_by_status
        if await world.counts("b") == (0, 0) and not stats.get("pending") and not stats.get("processing"):
            return
    raise AssertionError("facts were left behind")


async def test_a_slow_worker_whose_turn_is_over_writes_nothing(opened: SqliteStore, clock: SteppingClock) -> None:
    world = make_world(opened, clock)
    await world.retain("b", "Ann: I speak of topic x.")
    await world.consolidator.trigger("b")
    first = await opened.claim_operation([CONSOLIDATION], clock.now(), 30.0)
    assert first is not None
    other = Worker(world, clock)
    chat = world.provider.chat

    async def slow(request: Any) -> Any:
        clock.forward(100)
        await other.runner.run_until_idle()
        return await chat(request)

    world.provider.chat = slow  # type: ignore[method-assign]
    world.answer(by_topic)
    with pytest.raises(Exception, match="taken up by another worker"):
        await world.consolidator.run_job(first)
    (found,) = await world.held("b")
    assert (found.fact.proof_count, found.version) == (1, 1)
    assert await world.counts("b") == (0, 0)


# Consolidates until it is killed; its model answers by topic, as above.
_CONSOLIDATING = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobOptions, JobRunner
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.testing.scripted_model import ScriptedProvider
import re

class Now:
    def now(self):
        return datetime.now(UTC)

def answer(request):
    text = request.messages[1].text
    facts = re.findall(r"^(F[0-9]+): .*?(topic \\w+)", text[text.index("<facts>"):], re.M)
    held = {topic: label for label, topic in re.findall(r"^(O[0-9]+): .*?(topic \\w+)", text, re.M)}
    topics = {}
    for label, topic in facts:
        topics.setdefault(topic, []).append({"fact": label, "quote": ""})
    return {"actions": [
        {"action": "update" if topic in held else "create", "observation": held.get(topic),
         "text": f"Ann spoke of {topic} again.", "sources": sources}
        for topic, sources in topics.items()
    ]}

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    model = LanguageModel(ScriptedProvider(answer, seconds=0.004), ModelOptions(max_retries=0))
    indexer = Indexer(Analyzer(), HashingEmbedder())
    consolidator = Consolidator(store, indexer, Now(), model, options=ConsolidatorOptions(candidates=50))
    jobs = JobRunner(store, Now(), handlers={"consolidation": consolidator.run_job},
                     options=JobOptions(slots=8, poll_seconds=0.01, max_attempts=1000))
    await consolidator.changed("b")
    await jobs.start()
    print("open", flush=True)
    while (await store.consolidation_counts("b")).pending:
        await asyncio.sleep(0.01)
    await jobs.stop()
    await store.close()
    print("done", flush=True)

asyncio.run(main())
"""


@pytest.mark.feature("F6")
async def test_kill_9_in_the_middle_leaves_nothing_twice_and_nothing_behind(
    tmp_path: Path, clock: SteppingClock
) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    world = make_world(store, clock)
    topics = [f"topic t{number}x" for number in range(10)]
    said = [f"Ann: I speak of {topic} for the {turn}. time." for turn in range(12) for topic in topics]
    await world.retain("b", *said)
    await store.close()
    chance = random.Random(3)
    kills = 0
    while _killed(tmp_path, chance.uniform(0.01, 0.12) if kills < 6 else None):
        kills += 1
    assert kills >= 2
    store = SqliteStore(tmp_path)
    await store.open()
    world = make_world(store, clock)
    held = await world.held("b")
    assert sorted(one.fact.text for one in held) == sorted(f"Ann spoke of {topic} again." for topic in topics)
    assert {one.fact.proof_count for one in held} == {12}
    assert await world.counts("b") == (0, 0)
    assert (await store.bank_stats("b")).operations_by_status == {"completed": 1}
    await store.close()


def _killed(folder: Path, seconds: float | None) -> bool:
    """Let a process consolidate for that long and kill it, or let it come to its end; whether it was killed."""
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(_CONSOLIDATING),
        str(folder),
        str(Path(__file__).parents[3] / "src"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        if seconds is None:
            said, _ = process.communicate(timeout=60)
            return "done" not in said
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return "done\n" not in list(process.stdout)
