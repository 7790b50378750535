"""The writer's thread outlives whatever goes wrong in it; few rows are read without a thread, but from a slow disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.sqlite.threads import Readers, Writer
from hindsight_server.domain.errors import HindsightServerError


@pytest.fixture
def connection() -> apsw.Connection:
    made = apsw.Connection(":memory:")
    made.execute("CREATE TABLE words (word TEXT)")
    return made


@pytest.fixture
def writer(connection: apsw.Connection) -> Iterator[Writer]:
    made = Writer(lambda: connection, named=nullcontext)
    yield made
    made.close()


def _fails(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO words VALUES ('lost')")
    raise ValueError("the work failed")


def test_writes_go_on_when_a_transaction_could_not_be_rolled_back(writer: Writer, connection: apsw.Connection) -> None:
    refused: list[str] = []

    def refuse(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        if statement == "ROLLBACK" and not refused:
            refused.append(statement)
            raise apsw.IOError("the disk does not answer")
        return True

    writer.submit(lambda open_: open_.execute("INSERT INTO words VALUES ('kept')")).result(5)
    failing = writer.submit(lambda open_: (setattr(open_, "exec_trace", refuse), _fails(open_)))
    with pytest.raises(ValueError, match="the work failed"):
        failing.result(5)
    writer.submit(lambda open_: open_.execute("INSERT INTO words VALUES ('later')")).result(5)
    held = writer.submit(lambda open_: [word for (word,) in open_.execute("SELECT word FROM words")]).result(5)
    assert (held, refused) == (["kept", "later"], ["ROLLBACK"])


@pytest.fixture
def readers() -> Iterator[Readers]:
    made = Readers(lambda: apsw.Connection(":memory:"), threads=1)
    yield made
    made.close()


def _thread(connection: apsw.Connection) -> str:
    connection.execute("SELECT 1").fetchone()
    return threading.current_thread().name


def test_a_few_rows_are_read_on_the_spot_and_in_a_transaction(readers: Readers) -> None:
    reading = readers.glance(lambda connection: (_thread(connection), connection.in_transaction))
    assert reading.done()
    assert reading.result() == (threading.current_thread().name, True)


def test_what_fails_on_the_spot_is_told_to_the_caller_and_the_next_reads_go_on(readers: Readers) -> None:
    failing = readers.glance(lambda connection: connection.execute("SELECT nothing"))
    with pytest.raises(apsw.SQLError, match="nothing"):
        failing.result(5)
    assert readers.glance(_thread).result(5) == threading.current_thread().name


def test_after_a_slow_one_reads_go_to_the_threads_for_a_while(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers.glance(lambda _: time.sleep(0.05)).result(5)
    assert readers.glance(_thread).result(5).startswith("hindsight-store-reader")
    later = time.monotonic() + 11
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert readers.glance(_thread).result(5) == threading.current_thread().name


def test_what_the_database_takes_long_for_is_given_up_on_the_spot_and_read_by_a_thread(readers: Readers) -> None:
    asked: list[str] = []

    def count(connection: apsw.Connection) -> int:
        asked.append(threading.current_thread().name)
        numbers = (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT count(*) FROM n"
        )
        return int(connection.execute(numbers).fetchall()[0][0])

    assert readers.glance(count).result(30) == 300_000
    assert asked[0] == threading.current_thread().name
    assert asked[1].startswith("hindsight-store-reader")
    assert readers.glance(_thread).result(5).startswith("hindsight-store-reader")


def test_a_rollback_that_failed_keeps_nobody_from_reading() -> None:
    connection = apsw.Connection(":memory:")
    readers = Readers(lambda: connection, threads=1)
    connection.execute("BEGIN")
    assert readers.glance(_thread).result(5) == threading.current_thread().name
    assert not connection.in_transaction
    readers.close()


def test_while_another_reads_on_the_spot_reads_go_to_the_threads(readers: Readers) -> None:
    begun, end = threading.Event(), threading.Event()

    def long(_: apsw.Connection) -> None:
        begun.set()
        end.wait(5)

    other = threading.Thread(target=readers.glance, args=(long,))
    other.start()
    begun.wait(5)
    assert readers.glance(_thread).result(5).startswith("hindsight-store-reader")
    end.set()
    other.join(5)


def test_a_closed_store_says_so_on_the_spot_too() -> None:
    readers = Readers(lambda: apsw.Connection(":memory:"), threads=1)
    readers.close()
    with pytest.raises(HindsightServerError, match="closed"):
        readers.glance(_thread)


async def test_who_reads_one_row_after_another_gives_way(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    await store.ensure_bank("b", datetime.now(UTC))
    others = 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        await store.get_bank("b")
    beside.cancel()
    await store.close()
    assert others > 5
