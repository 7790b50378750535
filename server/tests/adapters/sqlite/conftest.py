"""A store in a folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def reopen(store: SqliteStore) -> Callable[[], Awaitable[SqliteStore]]:
    async def again() -> SqliteStore:
        await store.close()
        await store.open()
        return store

    return again


@pytest.fixture
def dump(store: SqliteStore, tmp_path: Path) -> Callable[[], Awaitable[str]]:
    async def every_value() -> str:
        connection = apsw.Connection(str(tmp_path / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        values = [value for table in tables for row in connection.execute(f'SELECT * FROM "{table}"') for value in row]
        connection.close()
        return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values)

    return every_value
