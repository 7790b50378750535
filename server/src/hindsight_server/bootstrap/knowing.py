"""The part of the wiring that turns facts into more: observations, answers, standing answers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from hindsight_server.adapters.extract import is_ordinary, opens_sentences
from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions
from hindsight_server.engine.knowledge import KnowledgeBase
from hindsight_server.engine.mental_models.automatic import AutomaticRefreshes
from hindsight_server.engine.mental_models.delta import Reads
from hindsight_server.engine.mental_models.jobs import RefreshJobs
from hindsight_server.engine.mental_models.models import MentalModels
from hindsight_server.engine.mental_models.reading import MentalModelReader
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.schedule import Ticker
from hindsight_server.engine.mental_models.search import PageSearch
from hindsight_server.engine.reflect import Reasoning, ReflectOptions, Reflector
from hindsight_server.ports.mental_models import REFRESH
from hindsight_server.ports.observations import CONSOLIDATION

if TYPE_CHECKING:
    from hindsight_server.bootstrap.outside import Outside
    from hindsight_server.engine.banks import Banks
    from hindsight_server.engine.directives import Directives
    from hindsight_server.engine.indexing import Indexer
    from hindsight_server.engine.jobs import JobRunner
    from hindsight_server.engine.recall.recaller import Recaller
    from hindsight_server.engine.transfer.withdrawal import OnForget
    from hindsight_server.settings import Settings


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What is wired before."""

    settings: Settings
    outside: Outside
    jobs: JobRunner
    indexer: Indexer
    recaller: Recaller
    banks: Banks
    directives: Directives
    on_forget: OnForget


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Knowing:
    """The use cases that rest on facts."""

    consolidator: Consolidator
    reflector: Reflector
    mental_models: MentalModels
    knowledge: KnowledgeBase
    refreshes: AutomaticRefreshes
    schedules: Ticker


def make_knowing(base: Base) -> Knowing:
    """Observations, reflect, mental models and pages, with their jobs."""
    outside, wake = base.outside, base.jobs.wake
    store, clock = outside.store, outside.clock
    search = PageSearch(outside.analyzer, outside.embedder)
    reflector = _reflector(base, search)
    reads = Reads(outside.analyzer, is_ordinary)
    refresher = Refresher(store, reflector, base.recaller, base.indexer, reads, outside.models.reflect)
    models = MentalModels(store, refresher, clock, on_job=wake, on_forget=base.on_forget)
    observes = outside.models.consolidation is not None
    pages = KnowledgeBase(store, models, search, clock, on_forget=base.on_forget, observations=observes)
    refreshes = AutomaticRefreshes(store, clock, on_job=wake)
    base.jobs.register(REFRESH, RefreshJobs(store, refresher, clock).run)
    consolidator = _consolidator(base)
    consolidator.tell(refreshes.consolidated)
    return Knowing(
        consolidator=consolidator,
        reflector=reflector,
        mental_models=models,
        knowledge=pages,
        refreshes=refreshes,
        schedules=Ticker(refreshes.tick, base.settings.mental_model_refresh_tick_seconds),
    )


def _reflector(base: Base, search: PageSearch) -> Reflector:
    outside, settings = base.outside, base.settings
    store, clock, thinker = outside.store, outside.clock, outside.models.reflect
    if thinker is None:
        return Reflector(store, base.recaller, outside.analyzer, clock)
    options = ReflectOptions(
        iterations=settings.reflect_max_iterations,
        wall_seconds=settings.reflect_wall_timeout,
        context_tokens=settings.reflect_max_context_tokens,
    )
    reasoning = Reasoning(
        model=thinker,
        banks=base.banks,
        directives=base.directives,
        mental_models=MentalModelReader(store, search),
        options=options,
    )
    return Reflector(store, base.recaller, outside.analyzer, clock, reasoning)


def _consolidator(base: Base) -> Consolidator:
    outside = base.outside
    options = ConsolidatorOptions(defaults=base.settings.bank_defaults(), ordinary=opens_sentences)
    consolidator = Consolidator(
        outside.store,
        base.indexer,
        outside.clock,
        outside.models.consolidation,
        on_job=base.jobs.wake,
        options=options,
    )
    base.jobs.register(CONSOLIDATION, consolidator.run_job)
    return consolidator
