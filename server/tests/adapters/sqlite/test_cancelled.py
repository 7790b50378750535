"""What is left of deletions that nobody waits for any more."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path

import apsw

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.sqlite.curation import delete_document
from hindsight_server.testing.store_contract.builders import put

WORD = "zebrawort"


def held(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if WORD.encode() in path.read_bytes()]


async def test_a_deletion_whose_caller_went_away_leaves_no_words_in_the_files(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    await put(store, "b", "d", WORD)
    assert held(tmp_path)
    begun, goes_on = threading.Event(), threading.Event()

    def delete(connection: apsw.Connection) -> int:
        begun.set()
        goes_on.wait(10)
        return delete_document(connection, "b", "d", datetime.now(UTC))

    deleting = asyncio.create_task(store._forget(delete))
    await asyncio.to_thread(begun.wait, 10)
    deleting.cancel()
    await asyncio.gather(deleting, return_exceptions=True)
    goes_on.set()
    assert store._cleaning is not None
    await store._cleaning
    assert held(tmp_path) == []
    assert (await store.get_bank("b")).fact_count == 0
    await store.close()
