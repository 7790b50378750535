"""Vectors in the shared space for facts of other scripts, made when a question first needs them.

A fact is retained in the space of its script alone. In a bank that is asked in several scripts, or holds facts of
several, all facts are compared with a question in the one space that understands every script. What lacks a vector
there gets one then: at once in a small bank, after the answer in a big one. Banks of one script that are asked in it
pay nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

import numpy as np

from hindsight_server.domain.errors import BankNotFound, EmbeddingUnavailable
from hindsight_server.engine.indexing import embedded_text
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.view import BankView, Int32Array
from hindsight_server.ports.embedder import Embedder, Encoding
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)

# Some two seconds of one core: facts that a question waits for. More are encoded after its answer.
AWAITED = 500
_AT_ONCE = 64  # facts encoded between two writes, so that nobody waits long and what was done stays done
_MERGED_AT_ONCE = 16 * _AT_ONCE
_WAIT_SHARE = 0.5  # of the time that a recall has left
_REST = 3  # times as long as it worked, where nobody waits: others retain and ask meanwhile
_MEMO = "uncrossed"


class Crossing:
    """Fills the shared space of banks, one job a bank at a time.

    Args:
        store: holds the texts of facts.
        embedder: with a single space there is nothing to do.
        cache: keeps the views, which are told of new vectors.
        awaited: how many facts a question waits for.
    """

    def __init__(self, store: Store, embedder: Embedder, cache: ViewCache, *, awaited: int = AWAITED) -> None:
        self._store = store
        self._embedder = embedder
        self._cache = cache
        self._awaited = awaited
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._urgent: Counter[str] = Counter()

    async def close(self) -> None:
        """Stop; what was stored stays, and the next question goes on from there."""
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)

    async def needed(self, bank_id: str, view: BankView, text: str, until: float) -> int | None:
        """See to the vectors that a question needs: None when none were missing, else how many facts still lack theirs.

        Args:
            view: the bank as it is now; the cache has a newer one when vectors came.
            text: the question's words.
            until: reading of `time.monotonic` at which the recall must be done.
        """
        shared = self._embedder.spaces[-1]
        if shared == self._embedder.spaces[0]:
            return None
        needs_them = self._embedder.space_of(text) == shared
        if shared not in view.vectors and not needs_them:
            return None
        count = len(uncrossed(view, shared))
        if not count:
            return None
        job = self._jobs.get(bank_id)
        if job is None:
            seqs = view.seq[uncrossed(view, shared)].tolist()
            job = self._jobs[bank_id] = asyncio.create_task(self._fill(bank_id, shared, seqs), name=f"cross {bank_id}")
            job.add_done_callback(lambda _: self._jobs.pop(bank_id, None))
        if not needs_them:  # facts of its own script have a vector that serves it well
            return 0
        if count <= self._awaited:
            self._urgent[bank_id] += 1
            try:
                await asyncio.wait([job], timeout=max(0.0, (until - time.monotonic()) * _WAIT_SHARE))
            finally:
                self._urgent[bank_id] -= 1
                self._urgent += Counter()  # without the banks that nobody waits for
        return 0 if job.done() else count

    async def _fill(self, bank_id: str, space: str, seqs: list[int]) -> None:
        made: dict[int, Encoding] = {}
        try:
            for start in range(0, len(seqs), _AT_ONCE):
                facts = await self._store.facts(bank_id, seqs[start : start + _AT_ONCE])
                texts = [embedded_text(fact) for fact in facts]
                began = time.monotonic()
                encodings = await asyncio.to_thread(self._encode, texts, space)
                if not self._urgent[bank_id]:
                    await asyncio.sleep(_REST * (time.monotonic() - began))
                made |= {fact.seq: encoding for fact, encoding in zip(facts, encodings, strict=True)}
                if len(made) >= _MERGED_AT_ONCE:
                    await self._cache.add_vectors(bank_id, made)
                    made = {}
            if made:
                await self._cache.add_vectors(bank_id, made)
        except BankNotFound:
            return
        except EmbeddingUnavailable:
            _log.debug("Facts of bank %r get no vectors for questions in other scripts", bank_id, exc_info=True)
        except Exception:  # the next question tries again; this one is answered without
            _log.exception("Facts of bank %r got no vectors for questions in other scripts", bank_id)

    def _encode(self, texts: list[str], space: str) -> list[Encoding]:
        return [self._embedder.encode_query(text, [space])[0] for text in texts]


def uncrossed(view: BankView, shared: str) -> Int32Array:
    """Living rows with a vector in another space and none in the shared one; worked out once for a view."""
    known = view.memo.get(_MEMO)
    if isinstance(known, np.ndarray):
        return known
    lacking = np.zeros(len(view), np.bool_)
    for space, held in view.vectors.items():
        if space != shared:
            lacking[held.rows] = True
    if shared in view.vectors:
        lacking[view.vectors[shared].rows] = False
    rows: Int32Array = np.flatnonzero(lacking & view.alive).astype(np.int32)
    view.memo[_MEMO] = rows
    return rows
