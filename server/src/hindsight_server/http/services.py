"""What the routes work with: the engine's use cases, put together by `bootstrap`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
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

_log = logging.getLogger(__name__)

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

        What has begun is stopped whatever fails, and the store is closed last; the first error is the one that is
        raised.

        Raises:
            DataFolderError: the data folder can't be opened; nothing was changed.
        """
        async with AsyncExitStack() as stack:

            def at_the_end(stop: Callable[[], Awaitable[object]]) -> None:
                stack.push_async_exit(_exit_by(stop))

            # Each is stopped though its start fails: it may have begun.
            at_the_end(self.store.close)
            await self.store.open()
            at_the_end(self.request_log.close)
            at_the_end(self.models.close)
            at_the_end(self.recaller.close)
            await self.transfers.sweep()
            for part in (self.attached, self.webhooks, self.jobs, self.repair, self.schedules, self.consolidator):
                at_the_end(part.stop)
                await part.start()
            await self.request_log.start()
            stack.callback(asyncio.get_running_loop().call_later(_MODEL_DELAY_SECONDS, self.embedder.start).cancel)
            preparing = asyncio.create_task(self._prepare_models(), name="models")
            at_the_end(partial(_cancel, preparing))
            yield

    async def _prepare_models(self) -> None:
        """Load the libraries of language models, once the server answers; the first question tells of a failure."""
        if self.models.every():
            await asyncio.sleep(_MODEL_DELAY_SECONDS)
            await self.models.prepare()


def _exit_by(stop: Callable[[], Awaitable[object]]) -> Callable[..., Awaitable[bool]]:
    """An exit of a stack that calls `stop`; its error is only logged where another one came first."""

    async def leave(_kind: object, first: BaseException | None, _traceback: object) -> bool:
        try:
            await stop()
        except Exception:
            if first is None:
                raise
            _log.exception("a part of the server could not be stopped, after another error")
        return False

    return leave


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def services(request: Request) -> Services:
    """The services of the application that serves `request`."""
    return cast(Services, request.app.state.services)
