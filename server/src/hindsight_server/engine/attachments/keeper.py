"""Bytes of attachments: there before what refers to them is stored, and gone soon after nothing does any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from hindsight_server.domain.attachments import blob_space
from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.blobs import BlobStore
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)
_AT_ONCE = 500
_EVERY_BANK = 2**31
_POLL_SECONDS = 15.0
_SOON_SECONDS = 0.5
_TRIES = 10  # a job is completed right after it gave its bytes up; whatever takes longer is found at the next start


class BlobKeeper:
    """Keeps bytes while they are needed. One server owns a store of blobs."""

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._store = store
        self._blobs = blobs
        self._deciding = asyncio.Lock()
        self._held: Counter[tuple[str, str]] = Counter()
        self._later: dict[tuple[str, str], int] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def keeping(self, bank_id: str, uploads: Iterable[tuple[str, bytes]]) -> AsyncIterator[None]:
        """Keep bytes (by digest) for as long as it takes to store what refers to them; what nothing refers to then
        is deleted."""
        given = dict(uploads)

        async def read(digest: str) -> bytes:
            return given[digest]

        async with self.holding(bank_id, given, read):
            yield

    @asynccontextmanager
    async def holding(
        self, bank_id: str, digests: Iterable[str], read: Callable[[str], Awaitable[bytes]]
    ) -> AsyncIterator[None]:
        """The same for bytes that are read one after another."""
        keys = [(bank_id, digest) for digest in dict.fromkeys(digests)]
        async with self._deciding:
            self._held.update(keys)
        try:
            for _, digest in keys:
                await self._blobs.put(blob_space(bank_id), await read(digest))
            yield
        finally:
            self._held.subtract(keys)
            self._held += Counter()
            self._later |= dict.fromkeys(keys, 1)
            self._wake.set()

    async def read(self, bank_id: str, digest: str) -> bytes:
        """Raises NotFound."""
        return await self._blobs.get(blob_space(bank_id), digest)

    def give_up(self, bank_id: str, digest: str) -> None:
        """Delete bytes as soon as nothing uses them, such as those of a job that is about to be completed."""
        self._later[bank_id, digest] = _TRIES
        self._wake.set()

    async def sweep(self, bank_id: str | None = None) -> int:
        """Delete the bytes that were given up; how many blobs. With a bank that is gone, all that it left."""
        deleted = 0
        while True:
            released = await self._store.released_blobs(_AT_ONCE)
            for one in released:
                deleted += await self._collect(one.bank_id, one.digest)
                await self._store.drop_released(one.bank_id, one.digest)
            if len(released) < _AT_ONCE:
                break
        if bank_id is not None and await self._is_gone(bank_id):
            digests = [stored.digest async for stored in self._blobs.list(blob_space(bank_id))]
            for digest in digests:
                deleted += await self._collect(bank_id, digest)
        return deleted

    async def sweep_all(self) -> int:
        """Look at every blob that there is, since a killed process may have left some that nothing knows of."""
        digests: defaultdict[str, list[str]] = defaultdict(list)
        async for one in self._blobs.list():
            digests[one.space].append(one.digest)
        if not digests:
            return 0
        banks, deleted = await self._delete_without_bank(digests)
        for space in digests.keys() & banks.keys():
            for digest in digests[space]:
                deleted += await self._collect(banks[space], digest)
        return deleted

    async def start(self) -> None:
        """Begin to look after the bytes, in a task of the running event loop."""
        await self._blobs.clear_unfinished()
        self._task = asyncio.create_task(self._work(), name="attachments-keeper")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._blobs.close()

    async def _work(self) -> None:
        first = True
        while True:
            try:
                await (self.sweep_all() if first else self.sweep())
                first = False
                for key, tries in list(self._later.items()):
                    if await self._collect(*key) or tries <= 1:
                        self._later.pop(key, None)
                    else:
                        self._later[key] = tries - 1
            except Exception:  # what could not be deleted now is tried again
                _log.exception("looking after the bytes of attachments failed; trying again")
            wait = _SOON_SECONDS if self._later else _POLL_SECONDS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait)
                await asyncio.sleep(_SOON_SECONDS)  # what was written together is looked at together
            self._wake.clear()

    async def _collect(self, bank_id: str, digest: str) -> bool:
        """Delete bytes unless they are used or about to be."""
        async with self._deciding:
            if self._held[bank_id, digest] or await self._store.blob_in_use(bank_id, digest):
                return False
            await self._blobs.delete(blob_space(bank_id), digest)
            return True

    async def _delete_without_bank(self, digests: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], int]:
        """Delete the bytes of spaces that no bank has, unless one is about to be made that has it.

        Returns the banks by their space, and how many blobs were deleted.
        """
        async with self._deciding:
            # In this order: a bank that is made meanwhile is still held here, or listed.
            held = {blob_space(bank_id) for bank_id, _ in self._held}
            banks = await self._banks()
            left = [(space, digest) for space in digests.keys() - banks.keys() - held for digest in digests[space]]
            for space, digest in left:
                await self._blobs.delete(space, digest)
            return banks, len(left)

    async def _is_gone(self, bank_id: str) -> bool:
        try:
            await self._store.get_bank(bank_id)
        except BankNotFound:
            return True
        return False

    async def _banks(self) -> dict[str, str]:
        """All banks by their space; read at once, since a page ends elsewhere once a bank was written to."""
        page = await self._store.list_banks(None, _EVERY_BANK, 0)
        return {blob_space(bank.bank_id): bank.bank_id for bank in page.items}
