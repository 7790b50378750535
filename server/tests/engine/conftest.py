"""Use cases over the real store, extractor and analyser, with the embedder that needs no model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.banks import Banks
from hindsight_server.engine.documents import Documents
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobOptions, JobRunner
from hindsight_server.engine.memories import Memories
from hindsight_server.engine.operations import Operations
from hindsight_server.engine.retain import ItemInput, Retainer, RetainOutcome
from hindsight_server.ports.records import FactFilter
from hindsight_server.ports.store import Store


class SteppingClock:
    """Goes one millisecond on at each look, so that what happens later is later; can be set."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time

    def forward(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Engine:
    """The use cases, over one store."""

    store: Store
    clock: SteppingClock
    retainer: Retainer
    banks: Banks
    documents: Documents
    memories: Memories
    operations: Operations
    jobs: JobRunner

    async def retain(self, bank_id: str, items: Sequence[ItemInput], **options: Any) -> RetainOutcome:
        return await self.retainer.retain(bank_id, items, **options)

    async def texts(self, bank_id: str, state: str | None = None) -> list[str]:
        """The texts of all facts, oldest first."""
        page = await self.memories.list(bank_id, FactFilter(state=state), 1000)
        return [fact.text for fact in reversed(page.items)]


def build(store: Store, clock: SteppingClock, options: JobOptions | None = None) -> Engine:
    indexer = Indexer(Analyzer(), HashingEmbedder())
    jobs = JobRunner(store, clock, options=options)
    retainer = Retainer(store, BuiltinExtractor(Analyzer()), indexer, clock, on_job=jobs.wake)
    jobs.register("retain", retainer.run_job)
    return Engine(
        store=store,
        clock=clock,
        retainer=retainer,
        banks=Banks(store, clock),
        documents=Documents(store, retainer, clock),
        memories=Memories(store, indexer, clock),
        operations=Operations(store, clock, on_job=jobs.wake),
        jobs=jobs,
    )


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(tmp_path)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def engine(store: Store, clock: SteppingClock) -> Engine:
    return build(store, clock)
