"""The consolidation job: takes the facts of a bank that wait, scope by scope, until none waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hindsight_server.domain.errors import BadRequest, BankNotFound, Conflict
from hindsight_server.engine import config as settings
from hindsight_server.engine.changes import nobody
from hindsight_server.engine.consolidate.asking import ModelJudge
from hindsight_server.engine.consolidate.builtin import BuiltinJudge
from hindsight_server.engine.consolidate.drafting import Drafter
from hindsight_server.engine.consolidate.rounds import Round, Tally, Tools
from hindsight_server.engine.consolidate.types import ConsolidatorOptions
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.language import LanguageModel
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.ports.records import Bank, Operation
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)


class Consolidator:
    """Keeps the observations of banks.

    Without a model the built-in way is taken, and only where it was asked for: by a request, or by a bank (or the
    server) that sets ``enable_auto_consolidation`` itself.

    Args:
        model: asked what facts say together; None for the built-in way.
        on_job: called after a job was added.
    """

    def __init__(
        self,
        store: Store,
        indexer: Indexer,
        clock: Clock,
        model: LanguageModel | None = None,
        *,
        on_job: Callable[[], None] = lambda: None,
        options: ConsolidatorOptions | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._has_model = model is not None
        self._options = options or ConsolidatorOptions()
        self._defaults = self._options.defaults
        self._tools = Tools(
            store=store,
            clock=clock,
            judge=ModelJudge(model) if model is not None else BuiltinJudge(store, indexer),
            drafter=Drafter(store, indexer, self._options.near),
            options=self._options,
        )
        self._on_job = on_job
        self._on_consolidated: Callable[[str], Awaitable[object]] = nobody
        self._sweeping: asyncio.Task[None] | None = None
        self._noticed: dict[str, None] = {}
        self._noticing: asyncio.Task[None] | None = None

    def tell(self, on_consolidated: Callable[[str], Awaitable[object]]) -> None:
        """Have somebody told of each bank whose observations a job went through."""
        self._on_consolidated = on_consolidated

    # asking for it

    async def notice(self, bank_id: str) -> None:
        """As `changed`, but nobody waits for it: what wrote the facts answers at once, and many writes ask once."""
        self._noticed[bank_id] = None
        if self._noticing is None or self._noticing.done():
            self._noticing = asyncio.create_task(self._take_noticed(), name="consolidation-notice")

    async def _take_noticed(self) -> None:
        while self._noticed:
            bank_id = next(iter(self._noticed))
            del self._noticed[bank_id]
            await self.changed(bank_id)

    async def changed(self, bank_id: str) -> None:
        """Facts of the bank were added, changed or taken away: have it consolidated, when it wants to be."""
        try:
            bank = await self._store.get_bank(bank_id)
            if self.by_itself(bank):
                await self._request(bank_id, {}, needed=True)
        except BankNotFound:
            _log.debug("bank %r was deleted before it could be consolidated", bank_id)
        except Exception:  # what was written stays written, and the sweep asks again
            _log.exception("bank %r could not be asked to be consolidated", bank_id)

    async def trigger(self, bank_id: str, scopes: Sequence[Sequence[str]] | None = None) -> tuple[str, bool]:
        """Add a job, or join the one there is; its id, and whether it was joined.

        Args:
            scopes: only facts that bear all tags of one of these lists; None or empty for all.

        Raises:
            BankNotFound: there is no such bank.
            BadRequest: the bank has observations switched off.
        """
        bank = await self._store.get_bank(bank_id)
        if not self._config(bank)["enable_observations"]:
            raise BadRequest("Observations are switched off for this bank (setting enable_observations).")
        wanted = {"scopes": [list(scope) for scope in scopes]} if scopes else {}
        asked = await self._request(bank_id, wanted, needed=False)
        assert asked is not None
        return asked

    def by_itself(self, bank: Bank) -> bool:
        """Whether the bank is consolidated without being asked to."""
        config = self._config(bank)
        if not (config["enable_observations"] and config["enable_auto_consolidation"]):
            return False
        return self._has_model or "enable_auto_consolidation" in {**self._defaults, **bank.config}

    def counts_pending(self, bank: Bank) -> bool:
        """Whether facts of the bank that nobody looked at wait for somebody."""
        return bool(self._config(bank)["enable_observations"]) and (self._has_model or self.by_itself(bank))

    async def _request(self, bank_id: str, payload: Mapping[str, Any], *, needed: bool) -> tuple[str, bool] | None:
        asked = await self._store.request_consolidation(bank_id, payload, self._clock.now(), needed=needed)
        if asked is None:
            return None
        self._on_job()
        return asked[0].operation_id, asked[1]

    # healing

    async def start(self) -> None:
        """Look now and then for banks whose facts wait although nobody will take them."""
        self._sweeping = asyncio.create_task(self._sweep_often(), name="consolidation-sweep")

    async def stop(self) -> None:
        """What was noticed and not asked for yet is found by the sweep of the next start."""
        tasks = [task for task in (self._sweeping, self._noticing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._sweeping = self._noticing = None

    async def sweep(self) -> None:
        """Ask for jobs of banks whose facts wait without one: after a crash, or when a provider was away for long."""
        for bank_id in await self._store.banks_waiting():
            with contextlib.suppress(BankNotFound):  # deleted meanwhile; the others still wait
                await self._ask_again(bank_id)

    async def _ask_again(self, bank_id: str) -> None:
        if not self.by_itself(await self._store.get_bank(bank_id)):
            return
        now = self._clock.now()
        last = await self._store.list_operations(bank_id, None, CONSOLIDATION, 1, 0)
        failed = next((one for one in last.items if one.status == "failed"), None)
        if failed is None:
            await self._request(bank_id, {}, needed=True)
        elif failed.updated_at is None or now - failed.updated_at >= self._pause:
            await self._store.requeue_operation(bank_id, failed.operation_id, now)
            self._on_job()

    @property
    def _pause(self) -> timedelta:
        return timedelta(seconds=self._options.failed_seconds)

    async def _sweep_often(self) -> None:
        while True:
            try:
                await self.sweep()
            except Exception:  # healing goes on whatever the store is going through
                _log.exception("looking for facts that wait failed; trying again")
            await asyncio.sleep(self._options.sweep_seconds)

    # the job

    async def run_job(self, operation: Operation) -> Mapping[str, Any]:
        """Consolidate what waits, in rounds; each batch of facts is a transaction, so that nothing is done twice.

        Raises:
            ModelUnavailable, ModelRefused: the facts keep waiting; what was done before stays.
            Conflict: another worker does the job now, or it was cancelled.
        """
        tally, idle = Tally(), 0
        while True:
            config = self._config(await self._store.get_bank(operation.bank_id))
            if not config["enable_observations"]:
                return tally.result()
            before = tally.facts
            await self._rounds(operation, config, tally)
            if await self._store.end_consolidation(operation, tally.result(), self._clock.now()):
                await self._on_consolidated(operation.bank_id)
                return tally.result()
            idle = idle + 1 if tally.facts == before else 0
            if idle == self._options.stale_tries:
                raise Conflict("The facts of the bank change faster than they can be consolidated.")
            held = await self._store.get_operation(operation.bank_id, operation.operation_id)
            operation = replace(operation, payload=held.payload if held else None)

    async def _rounds(self, operation: Operation, config: Mapping[str, Any], tally: Tally) -> None:
        """Go through all that waits, once."""
        wanted = [frozenset(scope) for scope in (operation.payload or {}).get("scopes") or ()]
        limit = config["consolidation_max_memories_per_round"]
        after = 0
        while waiting := await self._store.waiting_facts(operation.bank_id, after, limit):
            after = waiting[-1].fact.seq
            taken = [one for one in waiting if not wanted or any(scope <= set(one.fact.tags) for scope in wanted)]
            if taken:
                await Round(self._tools, operation, config, tally).run(taken)
                now = self._clock.now()
                await self._store.note_progress(operation, tally.progress(now), now)

    def _config(self, bank: Bank) -> dict[str, Any]:
        return settings.resolve({**self._defaults, **bank.config})
