"""How work reaches the database of an open folder: on a reading thread, or on the one that writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from hindsight_server.adapters.sqlite.banks import require_bank
from hindsight_server.adapters.sqlite.opened import OpenedFolder
from hindsight_server.domain.errors import HindsightServerError

P = ParamSpec("P")
T = TypeVar("T")
Call = Callable[Concatenate[apsw.Connection, P], T]


class FolderAccess:
    """What every part of the store stands on."""

    _opened: OpenedFolder | None = None

    async def _read(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._held().read(lambda connection: work(connection, *args, **kwargs)))

    async def _write(self, work: Call[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._held().write(lambda connection: work(connection, *args, **kwargs)))

    async def _read_bank(
        self, work: Callable[Concatenate[apsw.Connection, str, P], T], bank_id: str, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def checked(connection: apsw.Connection) -> T:
            require_bank(connection, bank_id)
            return work(connection, bank_id, *args, **kwargs)

        return await asyncio.wrap_future(self._held().read(checked))

    def _held(self) -> OpenedFolder:
        if self._opened is None:
            raise HindsightServerError("The store is not open. Call open() first.")
        return self._opened
