"""Bytes that something needs are never deleted, whatever is written while the server looks for others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.blobs import FolderBlobs
from hindsight_server.domain.attachments import token
from hindsight_server.engine.attachments import keeper as keeping
from hindsight_server.engine.attachments.blocks import describe
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.ports.records import DocumentWrite, RetainWrite
from hindsight_server.ports.store import Store

from ..conftest import SteppingClock

SHEET = describe(b"a,b", kind="file", media_type="text/csv", filename="a.csv")


class ListedMeanwhile:
    """A store whose banks are written to right after it has listed them for the first time."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._meanwhile: Callable[[], Awaitable[None]] | None = meanwhile
        self.listings = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def list_banks(self, query: str | None, limit: int, offset: int) -> Any:
        self.listings += 1
        page = await self._store.list_banks(query, limit, offset)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return page


async def write(store: Store, bank_id: str, clock: SteppingClock, document_id: str = "d") -> None:
    document = DocumentWrite(
        document_id=document_id, text=token(SHEET.attachment_id), content_hash="h", attachments=(SHEET,)
    )
    await store.retain(RetainWrite(bank_id=bank_id, documents=(document,), now=clock.now()))


async def test_a_bank_that_is_made_while_others_are_listed_keeps_its_bytes(
    store: Store, clock: SteppingClock, tmp_path: Path
) -> None:
    async with AsyncExitStack() as retaining:

        async def made() -> None:
            await write(store, "new", clock)
            await retaining.aclose()

        keeper = BlobKeeper(ListedMeanwhile(store, made), FolderBlobs(tmp_path / "blobs"))  # type: ignore[arg-type]
        await retaining.enter_async_context(keeper.keeping("new", [(SHEET.digest, b"a,b")]))
        assert await keeper.sweep_all() == 0
    assert await keeper.read("new", SHEET.digest) == b"a,b"


async def test_a_bank_that_is_written_to_while_others_are_listed_keeps_its_bytes(
    store: Store, clock: SteppingClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_AT_ONCE", 1)

    async def written() -> None:
        await write(store, "old", clock, "another")

    keeper = BlobKeeper(ListedMeanwhile(store, written), FolderBlobs(tmp_path / "blobs"))  # type: ignore[arg-type]
    async with keeper.keeping("old", [(SHEET.digest, b"a,b")]):
        await write(store, "old", clock)
    await store.ensure_bank("newer", clock.now())
    async with keeper.keeping("gone", [(SHEET.digest, b"a,b")]):
        pass
    assert await keeper.sweep_all() == 1, "what is left of a bank that there is not"
    assert await keeper.read("old", SHEET.digest) == b"a,b"


async def test_banks_are_listed_once_however_many_are_gone(store: Store, clock: SteppingClock, tmp_path: Path) -> None:
    async def nothing() -> None: ...

    listed = ListedMeanwhile(store, nothing)
    keeper = BlobKeeper(listed, FolderBlobs(tmp_path / "blobs"))  # type: ignore[arg-type]
    for bank_id in ("kept", "gone", "gone too", "gone as well"):
        async with keeper.keeping(bank_id, [(SHEET.digest, b"a,b")]):
            pass
    await write(store, "kept", clock)
    assert await keeper.sweep_all() == 3
    assert listed.listings == 1
    assert await keeper.read("kept", SHEET.digest) == b"a,b"
