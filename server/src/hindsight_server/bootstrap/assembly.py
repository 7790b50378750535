"""The use cases over the adapters."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.extract import opens_sentences
from hindsight_server.bootstrap.files import make_attaching, make_uploads
from hindsight_server.bootstrap.knowing import Base, Knowing, make_knowing
from hindsight_server.bootstrap.outside import Outside
from hindsight_server.bootstrap.webhooks import make_webhooks
from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.defence.policy import read_policy
from hindsight_server.engine.attachments.attached import Attached
from hindsight_server.engine.attachments.attaching import Attaching
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.engine.banks import Banks
from hindsight_server.engine.consolidate import Observations
from hindsight_server.engine.defence.defender import SETTING, Defender
from hindsight_server.engine.defence.importing import ImportDefender
from hindsight_server.engine.directives import Directives
from hindsight_server.engine.documents import Documents
from hindsight_server.engine.entities import Entities
from hindsight_server.engine.graph import Graphs
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import Handler, JobOptions, JobRunner
from hindsight_server.engine.language.log import RequestLog
from hindsight_server.engine.memories import Memories
from hindsight_server.engine.operations import Operations
from hindsight_server.engine.recall.model import BadWeights
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.settings import RecallSettings
from hindsight_server.engine.repair import VectorRepair
from hindsight_server.engine.retain.batching import Batching
from hindsight_server.engine.retain.preview import Previewer
from hindsight_server.engine.retain.retainer import RETAIN, Retainer
from hindsight_server.engine.tags import Tags
from hindsight_server.engine.transfer.bytes import AttachmentBytes
from hindsight_server.engine.transfer.templates import Templates
from hindsight_server.engine.transfer.transfers import CLONE, EXPORT, IMPORT, Transfers
from hindsight_server.engine.transfer.withdrawal import OnForget
from hindsight_server.engine.webhooks import Webhooks
from hindsight_server.http.admission import Admission
from hindsight_server.http.metrics import Metrics
from hindsight_server.http.services import Services
from hindsight_server.ports.records import Operation
from hindsight_server.settings import Settings, SettingsError, variable_of

if TYPE_CHECKING:
    from hindsight_server.engine.extract.distiller import Distiller

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Core:
    """What most use cases stand on."""

    base: Base
    defender: Defender
    attaching: Attaching
    transfers: Transfers
    webhooks: Webhooks
    distiller: Distiller | None


def assembled(settings: Settings, outside: Outside) -> Services:
    """All use cases, with their jobs registered. Raises SettingsError when the ranking weights can't be used."""
    core = _core(settings, outside)
    base, store, clock = core.base, outside.store, outside.clock
    knowing = make_knowing(base)
    retainer, notice = _retainer(core, knowing), knowing.consolidator.notice
    recalls = Admission(settings.recalls_in_flight)
    return Services(
        store=store,
        embedder=outside.embedder,
        retainer=retainer,
        previewer=Previewer(
            store, outside.extractor, clock, defender=core.defender, distiller=core.distiller, attaching=core.attaching
        ),
        graphs=Graphs(store),
        recaller=base.recaller,
        reflector=knowing.reflector,
        mental_models=knowing.mental_models,
        knowledge=knowing.knowledge,
        refreshes=knowing.refreshes,
        schedules=knowing.schedules,
        directives=base.directives,
        banks=base.banks,
        documents=Documents(store, retainer, clock, core.defender, base.on_forget, on_change=notice),
        memories=Memories(store, base.indexer, clock, core.defender, base.on_forget, on_change=notice),
        consolidator=knowing.consolidator,
        observations=Observations(store, knowing.consolidator, clock),
        entities=Entities(store, clock, core.defender),
        defender=core.defender,
        operations=Operations(store, clock, on_job=base.jobs.wake, on_cancel=base.jobs.doubt),
        tags=Tags(store),
        templates=Templates(base.banks, knowing.mental_models, base.directives),
        transfers=core.transfers,
        jobs=base.jobs,
        repair=VectorRepair(store, base.indexer, clock),
        metrics=outside.metrics,
        attached=Attached(store, core.attaching.keeper),
        webhooks=core.webhooks,
        uploads=make_uploads(settings.files, core.attaching, retainer, base.jobs, clock),
        admission=recalls,
        # With a model, a reflect waits for it most of the time: it holds no place among the recalls.
        reflect_admission=recalls
        if outside.models.reflect is None
        else Admission(settings.reflects_in_flight, wait_seconds=math.inf),
        models=outside.models,
        request_log=outside.request_log,
        llm_health=settings.bank_llm_health,
    )


def _core(settings: Settings, outside: Outside) -> _Core:
    store, clock, defender = outside.store, outside.clock, _defender(settings, outside)
    indexer = Indexer(outside.analyzer, outside.embedder)
    jobs = JobRunner(store, clock, options=_job_options(settings))
    attaching = make_attaching(settings.files, outside, defender)
    transfers = _transfers(outside, indexer, jobs, defender, attaching)
    webhooks = make_webhooks(settings.webhooks, store, clock, outside.metrics)
    on_forget = _on_forget(transfers, outside.request_log, attaching.keeper, webhooks)
    base = Base(
        settings=settings,
        outside=outside,
        jobs=jobs,
        indexer=indexer,
        recaller=_recaller(settings, outside),
        banks=_banks(settings, outside, on_forget),
        directives=Directives(store, clock),
        on_forget=on_forget,
    )
    return _Core(
        base=base,
        defender=defender,
        attaching=attaching,
        transfers=transfers,
        webhooks=webhooks,
        distiller=_distiller(outside),
    )


def _retainer(core: _Core, knowing: Knowing) -> Retainer:
    base, outside = core.base, core.base.outside
    retainer = Retainer(
        outside.store,
        outside.extractor,
        base.indexer,
        outside.clock,
        on_job=base.jobs.wake,
        defender=core.defender,
    )
    retainer.attach_with(core.attaching)
    retainer.tell(knowing.consolidator.notice)
    if core.distiller is not None:
        retainer.read_with(core.distiller)
    if base.settings.retain_batch_enabled:
        _batch(retainer, base)
    base.jobs.register(RETAIN, _counted(retainer.run_job, outside.metrics))
    return retainer


def _batch(retainer: Retainer, base: Base) -> None:
    model, seconds = base.outside.models.retain, base.settings.retain_batch_poll_seconds
    if model is None or model.batches is None:
        variable = variable_of("retain_batch_enabled")
        _log.warning("%s changes nothing: the model that extracts facts has no batches", variable)
        return
    retainer.batch_with(Batching(model.batches, base.outside.clock, poll_seconds=seconds))


def _banks(settings: Settings, outside: Outside, on_forget: OnForget) -> Banks:
    return Banks(
        outside.store,
        outside.clock,
        settings.bank_defaults(),
        on_forget=on_forget,
        models=outside.models.work,
    )


def _recaller(settings: Settings, outside: Outside) -> Recaller:
    weights = settings.ranking_weights and settings.ranking_weights.expanduser()
    wanted = RecallSettings(view_bytes=settings.recall_cache_bytes, weights=weights)
    try:
        return Recaller(outside.store, outside.embedder, outside.analyzer, outside.clock, wanted)
    except (BadWeights, OSError) as problem:
        raise SettingsError(f"{variable_of('ranking_weights')}: {problem}") from problem


def _job_options(settings: Settings) -> JobOptions:
    """With a model, jobs mostly wait for it: as many run as it answers at the same time, so that small ones add up."""
    retain = settings.language.retain
    return JobOptions(slots=min(32, max(10, retain.max_concurrent))) if retain.configured else JobOptions()


def _distiller(outside: Outside) -> Distiller | None:
    if outside.models.retain is None:
        return None
    from hindsight_server.engine.extract.distiller import Distiller

    async def aliases(bank_id: str, names: Sequence[str]) -> list[list[str]]:
        found = await outside.store.find_entities(bank_id, names)
        return [[entity.name, *entity.aliases] for entity in found]

    return Distiller(outside.models.retain, ordinary=opens_sentences, aliases=aliases)


def _on_forget(transfers: Transfers, request_log: RequestLog, keeper: BlobKeeper, webhooks: Webhooks) -> OnForget:
    """What ends with the words of a bank: its exports, logged questions, bytes of attachments, answers to webhooks."""

    async def forget(bank_id: str) -> None:
        await transfers.withdraw(bank_id)
        await request_log.forget(bank_id)
        await keeper.sweep(bank_id)
        await webhooks.forget(bank_id)

    return forget


def _defender(settings: Settings, outside: Outside) -> Defender:
    def count(events: Sequence[SecurityEvent]) -> None:
        for event in events:
            outside.metrics.defended(event.detector, event.action)

    default = read_policy(settings.bank_defaults().get(SETTING), SETTING)
    return Defender(outside.store, outside.detector, outside.clock, default=default, on_events=count)


def _transfers(
    outside: Outside, indexer: Indexer, jobs: JobRunner, defender: Defender, attaching: Attaching
) -> Transfers:
    transfers = Transfers(outside.store, outside.archives, indexer, outside.clock, on_job=jobs.wake)
    transfers.carry(AttachmentBytes(attaching.keeper))
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
