"""Mental models over the real store, recall and reflect, with a model that does as a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import is_ordinary
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.pages.text import rendered
from hindsight_server.engine.banks import Banks
from hindsight_server.engine.directives import Directives
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobOptions, JobRunner
from hindsight_server.engine.knowledge import KnowledgeBase
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.engine.memories import ForgetInput
from hindsight_server.engine.mental_models.automatic import AutomaticRefreshes
from hindsight_server.engine.mental_models.delta import Reads
from hindsight_server.engine.mental_models.jobs import RefreshJobs
from hindsight_server.engine.mental_models.models import MentalModels
from hindsight_server.engine.mental_models.reading import MentalModelReader
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.search import PageSearch
from hindsight_server.engine.mental_models.types import MentalModelInput
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.reflect import Reasoning, Reflector
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.ports.mental_models import REFRESH, MentalModel
from hindsight_server.ports.records import FactFilter, Operation
from hindsight_server.ports.store import Store
from hindsight_server.testing.scripted_model import Reply, ScriptedProvider, tool_call

from ..conftest import Engine, SteppingClock, build

BANK = "ann"
_SEARCHES = ("search_mental_models", "search_observations", "recall")
FAST = ModelOptions(max_retries=0, backoff_seconds=0.0)


@dataclass
class Brain:
    """What the model does.

    Args:
        answer: what reflect ends with: words, or a reply, or an exception.
        ids: the memories that it cites.
        edits: the answer to a question for edits.
        structured: the answer by any other schema.
    """

    answer: Reply = "Ann drinks tea."
    ids: Sequence[str] = ()
    edits: Reply = field(default_factory=lambda: {"edits": []})
    structured: Reply = field(default_factory=lambda: {"drink": "tea"})
    asked: list[ChatRequest] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        if request.schema is not None:
            return self.edits if request.schema.name == "page_edits" else self.structured
        if request.tools:
            for name in _SEARCHES:
                if request.tool_choice == name:
                    return tool_call(name, query="Ann", reason="to know")
            if isinstance(self.answer, str):
                return tool_call("done", answer=self.answer, memory_ids=list(self.ids))
        return self.answer

    def edit_prompts(self) -> list[str]:
        return [one.messages[0].text for one in self.asked if one.schema and one.schema.name == "page_edits"]


@dataclass
class Pages:
    """The use cases, over one store."""

    engine: Engine
    store: Store
    clock: SteppingClock
    jobs: JobRunner
    models: MentalModels
    knowledge: KnowledgeBase
    refreshes: AutomaticRefreshes
    reader: MentalModelReader
    brain: Brain

    async def say(self, text: str, **options: Any) -> str:
        """Retain one memory; its id."""
        await self.engine.retain(BANK, [ItemInput(content=text, **options)])
        fact = (await self.engine.memories.list(BANK, FactFilter(), 1)).items[0]
        assert fact.text == text
        return fact.fact_id

    async def make(self, question: str = "What does Ann drink?", **options: Any) -> MentalModel:
        """A mental model ``tea``, refreshed once."""
        wanted = {"name": "Tea", "mental_model_id": "tea", **options}
        await self.models.create(BANK, MentalModelInput(source_query=question, **wanted))
        await self.run()
        return await self.get(wanted["mental_model_id"])

    async def get(self, model_id: str = "tea") -> MentalModel:
        return await self.store.get_mental_model(BANK, model_id)

    async def words(self, model_id: str = "tea") -> str:
        return rendered((await self.get(model_id)).content.text)

    async def forget(self, *fact_ids: str) -> None:
        await self.engine.memories.forget(BANK, ForgetInput(ids=fact_ids))

    async def run(self) -> None:
        await self.jobs.run_until_idle()

    async def refresh(self, model_id: str = "tea", *, full: bool = False) -> Operation:
        """A refresh that was done."""
        asked = await self.models.refresh(BANK, model_id, full=full)
        await self.run()
        done = await self.store.get_operation(BANK, asked.operation_id)
        assert done is not None
        return done

    async def outcome(self, model_id: str = "tea", *, full: bool = False) -> tuple[str, str | None]:
        """What a refresh came to, and why it failed if it did."""
        done = await self.refresh(model_id, full=full)
        details: Mapping[str, Any] = (done.result or {})["details"]
        assert done.status == ("failed" if details["failure_reason"] else "completed")
        return details["outcome"], details["failure_reason"]

    async def waiting(self) -> list[Operation]:
        return list((await self.store.list_operations(BANK, "pending", REFRESH, 100, 0)).items)


def assembled(store: Store, clock: SteppingClock, brain: Brain, *, with_model: bool = True) -> Pages:
    analyzer, embedder = Analyzer(), HashingEmbedder()
    embedder.start()
    indexer = Indexer(analyzer, embedder)
    jobs = JobRunner(store, clock, options=JobOptions(backoff_seconds=0.0))
    engine = build(store, clock)
    recaller = Recaller(store, embedder, analyzer, clock)
    search = PageSearch(analyzer, embedder)
    reader = MentalModelReader(store, search)
    model = LanguageModel(ScriptedProvider(brain), FAST) if with_model else None
    reasoning = None
    if model is not None:
        banks, directives = Banks(store, clock), Directives(store, clock)
        reasoning = Reasoning(model=model, banks=banks, directives=directives, mental_models=reader)
    reflector = Reflector(store, recaller, analyzer, clock, reasoning)
    reads = Reads(analyzer, is_ordinary)
    refresher = Refresher(store, reflector, recaller, indexer, reads, model)
    models = MentalModels(store, refresher, clock)
    jobs.register(REFRESH, RefreshJobs(store, refresher, clock).run)
    return Pages(
        engine=engine,
        store=store,
        clock=clock,
        jobs=jobs,
        models=models,
        knowledge=KnowledgeBase(store, models, search, clock),
        refreshes=AutomaticRefreshes(store, clock),
        reader=reader,
        brain=brain,
    )


@pytest.fixture
def brain() -> Brain:
    return Brain()


@pytest.fixture
def pages(store: Store, clock: SteppingClock, brain: Brain) -> Pages:
    return assembled(store, clock, brain)


@pytest.fixture
def quoting(store: Store, clock: SteppingClock, brain: Brain) -> Pages:
    """Without a language model."""
    return assembled(store, clock, brain, with_model=False)


Edit = Callable[..., dict[str, Any]]


def edit(kind: str, *facts: int, **fields: Any) -> dict[str, Any]:
    """One edit."""
    return {"kind": kind, "facts": list(facts), **fields}


def cut_off(text: str) -> ChatReply:
    """An answer that the limit of tokens cut off."""
    return ChatReply(text=text, truncated=True)


PAGE = "# Drinks\n\nAnn drinks green tea.\n\n# Place\n\nAnn lives in Oslo."


async def written(pages: Pages, brain: Brain, **options: Any) -> list[str]:
    """A page of two sections about two memories; their ids."""
    tea = await pages.say("Ann: I drink green tea.")
    oslo = await pages.say("Ann: I live in Oslo.")
    brain.answer, brain.ids = PAGE, [tea, oslo]
    await pages.make(trigger={"mode": "delta", **options})
    assert await pages.words() == PAGE
    return [tea, oslo]
