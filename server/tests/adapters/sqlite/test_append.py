"""What an append costs, in steps of the database's machine: they are the same on every computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.ports.records import DocumentWrite
from hindsight_server.testing.store_contract.builders import appended, document, write

CHUNKS = 5_000


@dataclass
class Counted:
    """Statements run by the writer, the steps they took, and the rows they changed."""

    statements: int = 0
    steps: int = 0
    rows: int = 0


class Counting:
    """Counts on the writing connection of a store."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    @contextmanager
    def counted(self) -> Iterator[Counted]:
        assert self._store._opened is not None
        writer = self._store._opened._writer._connection
        counted = Counted()

        def note(event: dict[str, object]) -> None:
            status = event["stmt_status"]
            assert isinstance(status, dict)
            counted.statements += 1
            counted.steps += status["SQLITE_STMTSTATUS_VM_STEP"]

        changes = writer.total_changes()
        writer.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
        try:
            yield counted
        finally:
            writer.trace_v2(0, None)
            counted.rows = writer.total_changes() - changes


@pytest.mark.feature("R4")
async def test_a_line_appended_to_a_long_document_costs_no_more_than_a_new_document(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    try:
        long = document("long", *(f"Line {number} of the long talk." for number in range(CHUNKS)))
        await store.retain(write("b", long))
        counting = Counting(store)

        async def cost(part: DocumentWrite) -> Counted:
            with counting.counted() as counted:
                await store.retain(write("b", part))
            return counted

        # Once each beforehand, so that words and pages that are new to the bank count for neither.
        await cost(document("first", "One more line."))
        await cost(appended("long", "One more line."))
        new = await cost(document("second", "One more line."))
        more = await cost(appended("long", "One more line."))
        assert more.rows == new.rows
        assert more.statements <= 2 * new.statements
        assert more.steps <= 2 * new.steps
        assert new.steps > 100  # it counts
        # Replacing the whole is another matter.
        whole = await cost(document("long", "One more line."))
        assert whole.steps > 50 * more.steps
    finally:
        await store.close()
