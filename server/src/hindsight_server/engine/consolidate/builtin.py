"""The built-in consolidator (stub for now: proposes nothing)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.engine.consolidate.types import Look, Proposal
from hindsight_server.engine.indexing import Indexer
from hindsight_server.ports.store import Store


class BuiltinJudge:
    def __init__(self, store: Store, indexer: Indexer) -> None:
        self._store = store
        self._indexer = indexer

    async def propose(self, look: Look, notes: Sequence[str] = ()) -> Proposal:
        return Proposal(actions=())
