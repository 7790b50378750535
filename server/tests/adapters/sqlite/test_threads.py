"""The writer's thread outlives whatever goes wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import apsw
import pytest

from hindsight_server.adapters.sqlite.threads import Writer


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
