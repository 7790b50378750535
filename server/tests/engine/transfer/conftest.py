"""Use cases with archives in a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.archives import FolderArchives
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.banks import Banks
from hindsight_server.engine.documents import Documents
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.memories import Memories
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallQuery
from hindsight_server.engine.transfer.transfers import CLONE, EXPORT, IMPORT, Transfers
from hindsight_server.engine.transfer.types import ExportInput, ImportInput, TransferLimits


@dataclass(frozen=True)
class Movers:
    engine: Any
    transfers: Transfers
    archives: FolderArchives
    recaller: Recaller

    async def done(self, operation: Any) -> Any:
        """The finished operation's result."""
        await self.engine.jobs.run_until_idle()
        known = await self.engine.operations.status(operation.bank_id, operation.operation_id)
        assert known.status == "completed", known.error
        return known.result

    async def exported(self, bank_id: str, **wanted: Any) -> bytes:
        result = await self.done(await self.transfers.export(bank_id, ExportInput(**wanted)))
        file, size = await self.transfers.open_export(result["storage_key"])
        with file:
            data = file.read()
        assert len(data) == size == result["byte_size"]
        return data

    async def imported(self, bank_id: str, data: bytes, **wanted: Any) -> Any:
        return await self.done(await self.transfers.import_archive(bank_id, data, ImportInput(**wanted)))

    async def recalled(self, bank_id: str, query: str) -> list[tuple[str, float]]:
        outcome = await self.recaller.recall(bank_id, RecallQuery(query=query))
        return [(result.fact.text, round(result.scores.final, 5)) for result in outcome.results]


@pytest.fixture
def archives(tmp_path: Path) -> FolderArchives:
    return FolderArchives(tmp_path / "archives")


@pytest.fixture
def movers(engine: Any, archives: FolderArchives) -> Movers:
    indexer = Indexer(Analyzer(), HashingEmbedder())
    limits = TransferLimits(archive_bytes=1 << 20, unpacked_bytes=8 << 20, line_bytes=1 << 20)
    transfers = Transfers(engine.store, archives, indexer, engine.clock, limits=limits, on_job=engine.jobs.wake)
    for kind, run in ((EXPORT, transfers.run_export), (IMPORT, transfers.run_import), (CLONE, transfers.run_clone)):
        engine.jobs.register(kind, run)
    told = replace(
        engine,
        banks=Banks(engine.store, engine.clock, on_forget=transfers.withdraw),
        documents=Documents(engine.store, engine.retainer, engine.clock, on_forget=transfers.withdraw),
        memories=Memories(engine.store, indexer, engine.clock, on_forget=transfers.withdraw),
    )
    return Movers(told, transfers, archives, Recaller(engine.store, HashingEmbedder(), Analyzer(), engine.clock))
