"""Vectors for facts that were stored while no model could encode them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

from hindsight_server.engine.indexing import Indexer, embedded_text
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.store import Store

_AT_ONCE = 64  # facts; a write waits for no more than these
_LONGEST_SECONDS = 600.0

_log = logging.getLogger(__name__)


class VectorRepair:
    """Looks now and then for facts without a vector and gives them theirs, once their model is there.

    Args:
        pause_seconds: time between two looks; it doubles, up to ten minutes, while models stay away.
    """

    def __init__(self, store: Store, indexer: Indexer, clock: Clock, *, pause_seconds: float = 10.0) -> None:
        self._store = store
        self._indexer = indexer
        self._clock = clock
        self._pause = pause_seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look, in a task of the running event loop."""
        self._task = asyncio.create_task(self._work(), name="vector-repair")

    async def stop(self) -> None:
        """Stop looking; what is being written is written."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def repair(self) -> tuple[int, int]:
        """Encode all facts without a vector, once; how many got theirs, and how many still have none."""
        repaired = left = 0
        after = ("", 0)
        while found := await self._store.unencoded_facts(after, _AT_ONCE):
            encodings = await self._indexer.encode_later([embedded_text(fact) for _, fact in found])
            made: defaultdict[str, dict[int, Encoding]] = defaultdict(dict)
            for (bank_id, fact), encoding in zip(found, encodings, strict=True):
                if encoding is not None:
                    made[bank_id][fact.seq] = encoding
            for bank_id, of_bank in made.items():
                repaired += await self._store.add_encodings(bank_id, of_bank, self._clock.now())
            left += sum(encoding is None for encoding in encodings)
            after = (found[-1][0], found[-1][1].seq)
        return repaired, left

    async def _work(self) -> None:
        pause = self._pause
        while True:
            await asyncio.sleep(pause)
            try:
                repaired, left = await self.repair()
            except Exception:  # it outlives whatever the store is going through
                _log.exception("giving facts their vectors failed; trying again")
                repaired, left = 0, 1
            if repaired:
                _log.info("%d facts that had no vector got theirs; %d still have none", repaired, left)
            pause = min(2 * pause, _LONGEST_SECONDS) if left and not repaired else self._pause
