"""What the routes work with: the engine's use cases, put together by `bootstrap`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from fastapi import Request

from hindsight_server.engine.language.types import Models
from hindsight_server.http.admission import Admission
from hindsight_server.http.metrics import Metrics

if TYPE_CHECKING:
    from hindsight_server.engine.attachments.attached import Attached
    from hindsight_server.engine.attachments.uploads import Uploads
    from hindsight_server.engine.banks import Banks
    from hindsight_server.engine.consolidate import Consolidator, Observations
    from hindsight_server.engine.defence import Defender
    from hindsight_server.engine.directives import Directives
    from hindsight_server.engine.documents import Documents
    from hindsight_server.engine.entities import Entities
    from hindsight_server.engine.graph import Graphs
    from hindsight_server.engine.jobs import JobRunner
    from hindsight_server.engine.knowledge import KnowledgeBase
    from hindsight_server.engine.language.log import RequestLog
    from hindsight_server.engine.memories import Memories
    from hindsight_server.engine.mental_models.automatic import AutomaticRefreshes
    from hindsight_server.engine.mental_models.models import MentalModels
    from hindsight_server.engine.mental_models.schedule import Ticker
    from hindsight_server.engine.operations import Operations
    from hindsight_server.engine.recall.recaller import Recaller
    from hindsight_server.engine.reflect import Reflector
    from hindsight_server.engine.repair import VectorRepair
    from hindsight_server.engine.retain import Retainer
    from hindsight_server.engine.retain.preview import Previewer
    from hindsight_server.engine.tags import Tags
    from hindsight_server.engine.transfer.templates import Templates
    from hindsight_server.engine.transfer.transfers import Transfers
    from hindsight_server.engine.webhooks import Webhooks
    from hindsight_server.ports.embedder import Embedder
    from hindsight_server.ports.store import Store

# The first health check is answered before the model takes the interpreter for itself.
_MODEL_DELAY_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One server's use cases over one store."""

    store: Store
    embedder: Embedder
    retainer: Retainer
    previewer: Previewer
    graphs: Graphs
    recaller: Recaller
    reflector: Reflector
    directives: Directives
    banks: Banks
    documents: Documents
    memories: Memories
    consolidator: Consolidator
    observations: Observations
    entities: Entities
    operations: Operations
    defender: Defender
    tags: Tags
    templates: Templates
    transfers: Transfers
    jobs: JobRunner
    repair: VectorRepair
    mental_models: MentalModels
    knowledge: KnowledgeBase
    refreshes: AutomaticRefreshes
    schedules: Ticker
    request_log: RequestLog
    attached: Attached
    uploads: Uploads
    webhooks: Webhooks
    metrics: Metrics = field(default_factory=Metrics)
    admission: Admission = field(default_factory=Admission)
    reflect_admission: Admission = field(default_factory=Admission)
    models: Models = field(default_factory=Models)
    llm_health: bool = True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the store, begin to load the model and to work on jobs; stop them in the reverse order.

        Raises:
            DataFolderError: the data folder can't be opened; nothing was changed.
        """
        await self.store.open()
        try:
            loading = asyncio.get_running_loop().call_later(_MODEL_DELAY_SECONDS, self.embedder.start)
            preparing = asyncio.create_task(self._prepare_models(), name="models")
            await self.transfers.sweep()
            await self.attached.start()
            await self.webhooks.start()
            await self.jobs.start()
            await self.repair.start()
            await self.schedules.start()
            await self.consolidator.start()
            await self.request_log.start()
            try:
                yield
            finally:
                loading.cancel()
                preparing.cancel()
                await asyncio.gather(preparing, return_exceptions=True)
                await self.consolidator.stop()
                await self.schedules.stop()
                await self.repair.stop()
                await self.jobs.stop()
                await self.webhooks.stop()
                await self.attached.stop()
                await self.recaller.close()
                await self.models.close()
                await self.request_log.close()
        finally:
            await self.store.close()

    async def _prepare_models(self) -> None:
        """Load the libraries of language models, once the server answers; the first question tells of a failure."""
        if self.models.every():
            await asyncio.sleep(_MODEL_DELAY_SECONDS)
            await self.models.prepare()


def services(request: Request) -> Services:
    """The services of the application that serves `request`."""
    return cast(Services, request.app.state.services)
