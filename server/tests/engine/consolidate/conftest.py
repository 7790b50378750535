"""Consolidation over the real store, with a model whose answers are made of what it is shown."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions, Observations
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobOptions
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatRequest
from hindsight_server.ports.observations import CONSOLIDATION, Observation
from hindsight_server.testing.scripted_model import Reply, ScriptedProvider

from ..conftest import Engine, SteppingClock, build

_FACT = re.compile(r"^(F\d+): (?:\((\S+)\) )?(.*)$", re.MULTILINE)
_OBSERVATION = re.compile(r"^(O\d+): (.*) \(facts: (\d+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """What a request shows the model: labels with texts."""

    facts: Mapping[str, str]
    observations: Mapping[str, str]
    instructions: str

    @classmethod
    def of(cls, request: ChatRequest) -> Shown:
        text = request.messages[1].text
        facts = text[text.index("<facts>") :]
        return cls(
            facts={label: said for label, _, said in _FACT.findall(facts)},
            observations={label: said for label, said, _ in _OBSERVATION.findall(text)},
            instructions=request.messages[0].text,
        )

    def fact(self, words: str) -> str:
        """The label of the one fact that holds some words."""
        (label,) = [label for label, said in self.facts.items() if words in said]
        return label

    def observation(self, words: str) -> str | None:
        return next((label for label, said in self.observations.items() if words in said), None)


def action(kind: str, text: str | None, *facts: str, about: str | None = None, quote: str = "") -> dict[str, Any]:
    sources = [{"fact": label, "quote": quote} for label in facts]
    return {"action": kind, "observation": about, "text": text, "sources": sources}


Answer = Callable[[Shown], Any]


@dataclass
class World:
    """One server's consolidation, with a model that answers by a function which a test may replace."""

    engine: Engine
    clock: SteppingClock
    consolidator: Consolidator
    observations: Observations
    provider: ScriptedProvider
    answers: dict[str, Answer] = field(default_factory=dict)

    def answer(self, by: Answer) -> None:
        """Have the model answer with the actions that a function makes, or with whatever else it gives."""
        self.answers["by"] = by

    async def retain(self, bank_id: str, *texts: str, **options: Any) -> list[str]:
        """Retain items, a document each; the ids of their facts."""
        items = [ItemInput(content=text, **options) for text in texts]
        await self.engine.retain(bank_id, items)
        return [one.fact.fact_id for one in await self.engine.store.waiting_facts(bank_id, 0, 1000)]

    async def run(self, bank_id: str | None = None) -> None:
        """Ask for a job of the bank, where one is given, and do all jobs."""
        if bank_id is not None:
            await self.consolidator.trigger(bank_id)
        await self.engine.jobs.run_until_idle()

    async def held(self, bank_id: str, scope: tuple[str, ...] = ()) -> list[Observation]:
        store = self.engine.store
        return await store.observations(bank_id, list(await store.observations_in(bank_id, scope)))

    async def texts(self, bank_id: str, scope: tuple[str, ...] = ()) -> list[str]:
        return [one.fact.text for one in await self.held(bank_id, scope)]

    async def counts(self, bank_id: str) -> tuple[int, int]:
        """Facts that wait, and facts that failed."""
        counts = await self.observations.counts(bank_id)
        return counts.pending, counts.failed

    async def last(self, bank_id: str) -> Any:
        """The newest consolidation job."""
        return (await self.engine.store.list_operations(bank_id, None, CONSOLIDATION, 1, 0)).items[0]


def make_world(store: SqliteStore, clock: SteppingClock, *, model: bool = True, **options: Any) -> World:
    world: World

    def reply(request: ChatRequest) -> Reply:
        made = world.answers["by"](Shown.of(request))
        return {"actions": made} if isinstance(made, list) else made

    provider = ScriptedProvider(reply)
    engine = build(store, clock, JobOptions(max_attempts=3))
    indexer = Indexer(Analyzer(), HashingEmbedder())
    language = LanguageModel(provider, ModelOptions(max_retries=0)) if model else None
    consolidator = Consolidator(
        store, indexer, clock, language, on_job=engine.jobs.wake, options=ConsolidatorOptions(**options)
    )
    engine.jobs.register(CONSOLIDATION, consolidator.run_job)
    world = World(engine, clock, consolidator, Observations(store, consolidator, clock), provider)
    world.answer(lambda shown: [])
    return world


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def world(opened: SqliteStore, clock: SteppingClock) -> World:
    return make_world(opened, clock)
