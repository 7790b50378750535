"""Joins the adapters to the engine; the only module that knows both.

Nothing heavy is imported before `limit_threads` had its say, since numeric libraries read their thread limits once,
when they are first imported.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hindsight_server.bootstrap_files import make_attaching, make_blobs, make_uploads
from hindsight_server.model_settings import LanguageSettings, ModelSettings
from hindsight_server.settings import Settings, SettingsError, variable_of

if TYPE_CHECKING:
    from hindsight_server.domain.defence.events import SecurityEvent
    from hindsight_server.engine.attachments.keeper import BlobKeeper
    from hindsight_server.engine.consolidate import Consolidator
    from hindsight_server.engine.defence import Defender
    from hindsight_server.engine.extract import Distiller
    from hindsight_server.engine.indexing import Indexer
    from hindsight_server.engine.jobs import Handler, JobOptions, JobRunner
    from hindsight_server.engine.language import Models
    from hindsight_server.engine.language.log import RequestLog
    from hindsight_server.engine.language.types import Recorder
    from hindsight_server.engine.recall.recaller import Recaller
    from hindsight_server.engine.transfer.transfers import Transfers
    from hindsight_server.engine.transfer.withdrawal import OnForget
    from hindsight_server.http.metrics import Metrics
    from hindsight_server.http.services import Services
    from hindsight_server.ports.analyzer import TextAnalyzer
    from hindsight_server.ports.archives import Archives
    from hindsight_server.ports.blobs import BlobStore
    from hindsight_server.ports.clock import Clock
    from hindsight_server.ports.detector import SensitiveDetector
    from hindsight_server.ports.embedder import Embedder
    from hindsight_server.ports.extractor import Extractor
    from hindsight_server.ports.llm import ChatProvider
    from hindsight_server.ports.parser import FileParser
    from hindsight_server.ports.records import Operation
    from hindsight_server.ports.store import Store

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def limit_threads(threads: int) -> None:
    """Set the thread limits of numeric libraries in the environment, where they are not set already."""
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, str(threads))


def build_services(settings: Settings) -> Services:
    """The use cases over one data folder, not yet running.

    Args:
        settings: where the data is, and which embedder encodes it.

    Raises:
        SettingsError: the file of ranking weights can't be used.
    """
    limit_threads(settings.threads)
    from hindsight_server.adapters.archives import FolderArchives
    from hindsight_server.adapters.detect import SensitiveData
    from hindsight_server.adapters.embed import make_embedder
    from hindsight_server.adapters.extract import BuiltinExtractor
    from hindsight_server.adapters.parse.process import ProcessParser
    from hindsight_server.adapters.sqlite import SqliteStore
    from hindsight_server.adapters.text import Analyzer
    from hindsight_server.http.metrics import Metrics

    analyzer, store, metrics = Analyzer(), SqliteStore(settings.folder()), Metrics()
    request_log = _request_log(settings, store, metrics)
    outside = _Adapters(
        store=store,
        embedder=make_embedder(settings.embeddings_provider),
        analyzer=analyzer,
        extractor=BuiltinExtractor(analyzer),
        clock=SystemClock(),
        detector=SensitiveData(),
        archives=FolderArchives(settings.folder() / "archives"),
        blobs=make_blobs(settings),
        parser=ProcessParser(),
        models=build_models(settings.language, request_log.record),
        request_log=request_log,
        metrics=metrics,
    )
    return _assembled(settings, outside, _recaller(settings, outside))


def build_embedder(settings: Settings) -> Embedder:
    """The embedder of the settings; no model is loaded yet."""
    limit_threads(settings.threads)
    from hindsight_server.adapters.embed import make_embedder

    return make_embedder(settings.embeddings_provider)


def check_folder(settings: Settings) -> None:
    """Raise the DataFolderError that opening the data folder would raise; nothing in it is changed."""
    from hindsight_server.adapters.sqlite import look_through

    look_through(settings.folder())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adapters:
    """What the use cases work with."""

    store: Store
    embedder: Embedder
    analyzer: TextAnalyzer
    extractor: Extractor
    clock: Clock
    detector: SensitiveDetector
    archives: Archives
    blobs: BlobStore
    parser: FileParser
    models: Models
    request_log: RequestLog
    metrics: Metrics


def _request_log(settings: Settings, store: Store, metrics: Metrics) -> RequestLog:
    from hindsight_server.engine.language.log import LogOptions, RequestLog

    options = LogOptions(
        enabled=settings.llm_trace_enabled,
        texts=settings.llm_trace_texts,
        max_chars=settings.llm_trace_max_chars,
        retention_days=settings.llm_trace_retention_days,
    )
    return RequestLog(store, SystemClock(), options, count=metrics.language.count)


def build_models(wanted: LanguageSettings, record: Recorder | None = None) -> Models:
    """The language models of the settings. Kinds of work with the same settings share one, and its limits.

    Args:
        record: told of every try.

    Raises:
        SettingsError: the library of a provider is not installed.
    """
    from hindsight_server.engine.language import LanguageModel, ModelOptions, Models
    from hindsight_server.engine.language.types import no_record

    made: dict[ModelSettings, LanguageModel] = {}

    def model(settings: ModelSettings) -> LanguageModel | None:
        if settings.configured and settings not in made:
            options = ModelOptions(
                max_concurrent=settings.max_concurrent,
                max_retries=settings.max_retries,
                timeout_seconds=settings.timeout_seconds,
                max_tokens=settings.max_tokens,
            )
            made[settings] = LanguageModel(_provider(settings), options, record or no_record)
        return made.get(settings)

    return Models(
        retain=model(wanted.retain),
        reflect=model(wanted.reflect),
        consolidation=model(wanted.consolidation),
        vision=model(wanted.vision),
    )


def _provider(settings: ModelSettings) -> ChatProvider:
    from hindsight_server.adapters.llm import Endpoint, make_provider
    from hindsight_server.domain.errors import ModelRefused

    assert settings.model is not None
    endpoint = Endpoint(
        provider=settings.provider,
        api=settings.known.api,
        model=settings.model,
        base_url=settings.address,
        key=settings.api_key,
    )
    try:
        return make_provider(endpoint)
    except ModelRefused as problem:
        raise SettingsError(str(problem)) from problem


def _recaller(settings: Settings, outside: _Adapters) -> Recaller:
    from hindsight_server.engine.recall.model import BadWeights
    from hindsight_server.engine.recall.recaller import Recaller
    from hindsight_server.engine.recall.settings import RecallSettings

    wanted = RecallSettings(view_bytes=settings.recall_cache_bytes, weights=settings.ranking_weights)
    try:
        return Recaller(outside.store, outside.embedder, outside.analyzer, outside.clock, wanted)
    except (BadWeights, OSError) as problem:
        raise SettingsError(f"{variable_of('ranking_weights')}: {problem}") from problem


def _assembled(settings: Settings, outside: _Adapters, recaller: Recaller) -> Services:
    from hindsight_server.engine.attachments.attached import Attached
    from hindsight_server.engine.banks import Banks
    from hindsight_server.engine.consolidate import Observations
    from hindsight_server.engine.directives import Directives
    from hindsight_server.engine.documents import Documents
    from hindsight_server.engine.entities import Entities
    from hindsight_server.engine.graph import Graphs
    from hindsight_server.engine.indexing import Indexer
    from hindsight_server.engine.jobs import JobRunner
    from hindsight_server.engine.knowledge import KnowledgeBase
    from hindsight_server.engine.memories import Memories
    from hindsight_server.engine.mental_models.automatic import AutomaticRefreshes
    from hindsight_server.engine.mental_models.jobs import RefreshJobs
    from hindsight_server.engine.mental_models.models import MentalModels
    from hindsight_server.engine.mental_models.reading import MentalModelReader
    from hindsight_server.engine.mental_models.refresher import Refresher
    from hindsight_server.engine.mental_models.schedule import Ticker
    from hindsight_server.engine.mental_models.search import PageSearch
    from hindsight_server.engine.operations import Operations
    from hindsight_server.engine.reflect import Reasoning, ReflectOptions, Reflector
    from hindsight_server.engine.repair import VectorRepair
    from hindsight_server.engine.retain.preview import Previewer
    from hindsight_server.engine.retain.retainer import RETAIN, Retainer
    from hindsight_server.engine.tags import Tags
    from hindsight_server.engine.transfer.bytes import AttachmentBytes
    from hindsight_server.engine.transfer.templates import Templates
    from hindsight_server.http.admission import Admission
    from hindsight_server.http.services import Services
    from hindsight_server.ports.mental_models import REFRESH

    store, clock, metrics = outside.store, outside.clock, outside.metrics
    defender = _defender(settings, outside, metrics)
    indexer = Indexer(outside.analyzer, outside.embedder)
    jobs = JobRunner(store, clock, options=_job_options(settings))
    retainer = Retainer(store, outside.extractor, indexer, clock, on_job=jobs.wake, defender=defender)
    distiller = _distiller(outside)
    if distiller is not None:
        retainer.read_with(distiller)
    attaching = make_attaching(settings.files, outside, defender)
    retainer.attach_with(attaching)
    transfers = _transfers(outside, indexer, jobs, defender)
    transfers.carry(AttachmentBytes(attaching.keeper))
    on_forget = _on_forget(transfers, outside.request_log, attaching.keeper)
    has_model, reflects = distiller is not None, outside.models.reflect is not None
    banks = Banks(store, clock, settings.bank_defaults(), on_forget=on_forget, has_model=has_model, reflects=reflects)
    jobs.register(RETAIN, _counted(retainer.run_job, metrics))
    directives, thinker = Directives(store, clock), outside.models.reflect
    search = PageSearch(outside.analyzer, outside.embedder)
    reading = MentalModelReader(store, search)
    reasoning = (
        Reasoning(
            model=thinker,
            banks=banks,
            directives=directives,
            mental_models=reading,
            options=ReflectOptions(
                iterations=settings.reflect_max_iterations,
                wall_seconds=settings.reflect_wall_timeout,
                context_tokens=settings.reflect_max_context_tokens,
            ),
        )
        if thinker is not None
        else None
    )
    reflector = Reflector(store, recaller, outside.analyzer, clock, reasoning)
    refresher = Refresher(store, reflector, recaller, indexer, outside.analyzer, thinker)
    models = MentalModels(store, refresher, clock, on_job=jobs.wake, on_forget=on_forget)
    refreshes = AutomaticRefreshes(store, clock, on_job=jobs.wake)
    consolidator = _consolidator(settings, outside, indexer, jobs)
    consolidator.tell(refreshes.consolidated)
    retainer.tell(consolidator.notice)
    jobs.register(REFRESH, RefreshJobs(store, refresher, clock).run)
    return Services(
        store=store,
        embedder=outside.embedder,
        retainer=retainer,
        previewer=Previewer(
            store, outside.extractor, clock, defender=defender, distiller=distiller, attaching=attaching
        ),
        graphs=Graphs(store),
        recaller=recaller,
        reflector=reflector,
        mental_models=models,
        knowledge=KnowledgeBase(
            store, models, search, clock, on_forget=on_forget, observations=outside.models.consolidation is not None
        ),
        refreshes=refreshes,
        schedules=Ticker(refreshes.tick, settings.mental_model_refresh_tick_seconds),
        directives=directives,
        banks=banks,
        documents=Documents(store, retainer, clock, defender, on_forget, on_change=consolidator.notice),
        memories=Memories(store, indexer, clock, defender, on_forget, on_change=consolidator.notice),
        consolidator=consolidator,
        observations=Observations(store, consolidator, clock),
        entities=Entities(store, clock, defender),
        defender=defender,
        operations=Operations(store, clock, on_job=jobs.wake),
        tags=Tags(store),
        templates=Templates(banks, models, directives),
        transfers=transfers,
        jobs=jobs,
        repair=VectorRepair(store, indexer, clock),
        metrics=metrics,
        attached=Attached(store, attaching.keeper),
        uploads=make_uploads(settings.files, attaching, retainer, jobs, clock),
        admission=Admission(settings.recalls_in_flight),
        reflect_admission=Admission(settings.reflects_in_flight, wait_seconds=math.inf),
        models=outside.models,
        request_log=outside.request_log,
        llm_health=settings.bank_llm_health,
    )


def _job_options(settings: Settings) -> JobOptions:
    """With a model, jobs mostly wait for it: as many run as it answers at the same time, so that small ones add up."""
    from hindsight_server.engine.jobs import JobOptions

    retain = settings.language.retain
    return JobOptions(slots=min(32, max(10, retain.max_concurrent))) if retain.configured else JobOptions()


def _distiller(outside: _Adapters) -> Distiller | None:
    if outside.models.retain is None:
        return None
    from hindsight_server.adapters.extract import opens_sentences
    from hindsight_server.engine.extract import Distiller

    async def aliases(bank_id: str, names: Sequence[str]) -> list[list[str]]:
        found = await outside.store.find_entities(bank_id, names)
        return [[entity.name, *entity.aliases] for entity in found]

    return Distiller(outside.models.retain, ordinary=opens_sentences, aliases=aliases)


def _consolidator(settings: Settings, outside: _Adapters, indexer: Indexer, jobs: JobRunner) -> Consolidator:
    from hindsight_server.adapters.extract import opens_sentences
    from hindsight_server.engine.consolidate import Consolidator, ConsolidatorOptions
    from hindsight_server.ports.observations import CONSOLIDATION

    options = ConsolidatorOptions(defaults=settings.bank_defaults(), ordinary=opens_sentences)
    store, clock, model = outside.store, outside.clock, outside.models.consolidation
    consolidator = Consolidator(store, indexer, clock, model, on_job=jobs.wake, options=options)
    jobs.register(CONSOLIDATION, consolidator.run_job)
    return consolidator


def _on_forget(transfers: Transfers, request_log: RequestLog, keeper: BlobKeeper) -> OnForget:
    """What ends with the words of a bank: exports of it, logged questions, and the bytes of attachments."""

    async def forget(bank_id: str) -> None:
        await transfers.withdraw(bank_id)
        await request_log.forget(bank_id)
        await keeper.sweep(bank_id)

    return forget


def _defender(settings: Settings, outside: _Adapters, metrics: Metrics) -> Defender:
    from hindsight_server.domain.defence.policy import read_policy
    from hindsight_server.engine.defence.defender import SETTING, Defender

    def count(events: Sequence[SecurityEvent]) -> None:
        for event in events:
            metrics.defended(event.detector, event.action)

    default = read_policy(settings.bank_defaults().get(SETTING), SETTING)
    return Defender(outside.store, outside.detector, outside.clock, default=default, on_events=count)


def _transfers(outside: _Adapters, indexer: Indexer, jobs: JobRunner, defender: Defender) -> Transfers:
    from hindsight_server.engine.defence.importing import ImportDefender
    from hindsight_server.engine.transfer.transfers import CLONE, EXPORT, IMPORT, Transfers

    transfers = Transfers(outside.store, outside.archives, indexer, outside.clock, on_job=jobs.wake)
    transfers.defend(ImportDefender(outside.store, outside.detector, outside.clock, defender))
    jobs.register(EXPORT, transfers.run_export)
    jobs.register(IMPORT, transfers.run_import)
    jobs.register(CLONE, transfers.run_clone)
    return transfers


def _counted(run_job: Handler, metrics: Metrics) -> Handler:
    """A retain job whose documents are counted as those of a request are."""

    async def run(operation: Operation) -> Mapping[str, Any]:
        result = await run_job(operation)
        metrics.retained(len(set(result["document_ids"])), result["no_fact_documents"])
        return result

    return run
