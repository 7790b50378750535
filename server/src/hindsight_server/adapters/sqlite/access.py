"""How work reaches the database of an open folder: on a reading thread, on the spot, or on the one that writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from hindsight_server.adapters.sqlite.banks import holds_at_most, require_bank
from hindsight_server.adapters.sqlite.opened import OpenedFolder
from hindsight_server.domain.errors import HindsightServerError

P = ParamSpec("P")
T = TypeVar("T")
Call = Callable[Concatenate[apsw.Connection, P], T]
BankCall = Callable[Concatenate[apsw.Connection, str, P], T]

# A row found by its key takes some 10 microseconds, about as long as it takes to wake a thread and to be woken by it.
_FEW = 64
_TURN_SECONDS = 0.002  # others wait no longer for a caller that reads one row after another
_SMALL_BANK = 1000  # facts; what recall reads of all of them is a few rows a word


class FolderAccess:
    """What every part of the store stands on."""

    _opened: OpenedFolder | None = None
    _gave_way = 0.0

    async def _read(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._held().read(lambda connection: work(connection, *args, **kwargs)))

    async def _glance(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of work that reads a few rows by their keys at most: on the spot. A row of them gives way."""
        reading = self._held().glance(lambda connection: work(connection, *args, **kwargs))
        if not reading.done():
            return await asyncio.wrap_future(reading)
        if (now := time.monotonic()) > self._gave_way + _TURN_SECONDS:
            self._gave_way = now
            await asyncio.sleep(0)
        return reading.result()

    async def _write(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._held().write(lambda connection: work(connection, *args, **kwargs)))

    async def _read_bank(self, work: BankCall[P, T], bank_id: str, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(_checked(work, bank_id), *args, **kwargs)

    async def _read_keys(self, keys: int, work: BankCall[P, T], bank_id: str, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of work that reads the rows of so many keys; a few on the spot."""
        if keys <= _FEW:
            return await self._glance(_checked(work, bank_id), *args, **kwargs)
        return await self._read_bank(work, bank_id, *args, **kwargs)

    async def _read_recalled(
        self, keys: int, work: BankCall[P, T], bank_id: str, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same for keys with many rows each: on the spot when the bank is small as well."""
        if keys <= _FEW and await self._glance(holds_at_most, bank_id, _SMALL_BANK):
            return await self._read_keys(keys, work, bank_id, *args, **kwargs)
        return await self._read_bank(work, bank_id, *args, **kwargs)

    def _held(self) -> OpenedFolder:
        if self._opened is None:
            raise HindsightServerError("The store is not open. Call open() first.")
        return self._opened


def _checked(work: BankCall[P, T], bank_id: str) -> Call[P, T]:
    def checked(connection: apsw.Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        require_bank(connection, bank_id)
        return work(connection, bank_id, *args, **kwargs)

    return checked
