"""The part of the store that corrects, forgets and moves what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hindsight_server.adapters.sqlite import curation, forgetting, operations, transfer, transfer_write
from hindsight_server.adapters.sqlite.access import Call, FolderAccess, P, T
from hindsight_server.domain.model import Fact
from hindsight_server.ports.forgetting import ForgetWrite, Forgotten
from hindsight_server.ports.records import FactChange, Operation
from hindsight_server.ports.transfer import TransferCounts, TransferRecord, TransferWrite

_INLINE_BYTES = 64 << 20
_PAUSE_SECONDS = 0.5


class ForgettingRows(FolderAccess):
    """The part of the store that is `ForgettingStore` and `TransferStore`."""

    _cleaning: asyncio.Task[None] | None = None
    _unclean = False

    async def delete_document(self, bank_id: str, document_id: str, now: datetime) -> int:
        return await self._forget(curation.delete_document, bank_id, document_id, now)

    async def update_fact(self, bank_id: str, fact_id: str, change: FactChange, now: datetime) -> Fact:
        if change.text is None:
            return await self._write(curation.update_fact, bank_id, fact_id, change, now)
        return await self._forget(curation.update_fact, bank_id, fact_id, change, now)

    async def clear_facts(self, bank_id: str, fact_type: str | None, now: datetime) -> int:
        return await self._forget(curation.clear_facts, bank_id, fact_type, now)

    async def forget(self, write: ForgetWrite, now: datetime) -> Forgotten:
        if write.dry_run:
            return await self._write(forgetting.forget, write, now)
        return await self._forget(forgetting.forget, write, now)

    async def note_progress(self, operation: Operation, progress: Mapping[str, Any], now: datetime) -> None:
        await self._write(operations.note_progress, operation, progress, now)

    async def note_result(self, operation: Operation, result: Mapping[str, Any], now: datetime) -> None:
        await self._write(operations.note_result, operation, result, now)

    async def read_transfer(
        self, bank_id: str, document_ids: Sequence[str] | None, take: Callable[[TransferRecord], None]
    ) -> None:
        await self._read(transfer.read_transfer, bank_id, document_ids, take)

    async def write_transfer(self, write: TransferWrite) -> TransferCounts | None:
        return await self._write(transfer_write.write_transfer, write)

    async def _forget(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A write that takes words away, after which the files are cleaned; large ones in the background."""
        try:
            done = await self._write(work, *args, **kwargs)
            opened = self._held()
            if opened.size > _INLINE_BYTES or not await asyncio.wrap_future(opened.clean()):
                self._clean_soon()
        except asyncio.CancelledError:
            self._clean_soon()  # a write that was begun is done, whether or not anybody waits for it
            raise
        return done

    def _clean_soon(self) -> None:
        self._unclean = True
        if self._cleaning is None:
            self._cleaning = asyncio.create_task(self._clean_later(), name="store-clean")

    async def _clean_later(self) -> None:
        try:
            while self._unclean:
                await asyncio.sleep(_PAUSE_SECONDS)
                self._unclean = False
                if not await asyncio.wrap_future(self._held().clean()):
                    self._unclean = True
        finally:
            self._cleaning = None

    async def _stop_cleaning(self) -> None:
        """Before the store is closed; what was put off is done now."""
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.gather(self._cleaning, return_exceptions=True)
            await asyncio.wrap_future(self._held().clean())
