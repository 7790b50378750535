"""Running named statements that read, with rows as plain tuples."""

from __future__ import annotations

from typing import Any

import apsw

from hindsight_server.adapters.sqlite.statements import sql


def all_rows(connection: apsw.Connection, name: str, values: Any = ()) -> list[tuple[Any, ...]]:
    """Every row of the statement `name`."""
    return connection.execute(sql(name), values).fetchall()


def one_row(connection: apsw.Connection, name: str, values: Any = ()) -> tuple[Any, ...] | None:
    """The first row of the statement `name`, or None."""
    row: tuple[Any, ...] | None = connection.execute(sql(name), values).fetchone()
    return row


def scalar(connection: apsw.Connection, name: str, values: Any = ()) -> Any:
    """The first column of the first row of a statement that always has one."""
    row = one_row(connection, name, values)
    assert row is not None, name
    return row[0]


def column(connection: apsw.Connection, name: str, values: Any = ()) -> list[Any]:
    """The first column of every row of the statement `name`."""
    return [row[0] for row in connection.execute(sql(name), values)]
