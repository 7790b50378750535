"""The queue of work: rows that are claimed with a lease, so that what a dead worker held is taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.queries import one_row, scalar
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, from_micros, mapping_json, to_json, to_micros
from hindsight_server.domain.errors import BankNotFound, Conflict
from hindsight_server.ports.records import Operation, Page


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try at an operation ended."""

    status: str
    result: Mapping[str, Any] | None
    error: str | None
    retry_at: datetime | None = None


def find_same(connection: apsw.Connection, asked: Operation) -> Operation | None:
    """The stored operation of that id, when it was asked for the same; None for a new id. Raises Conflict otherwise."""
    row = one_row(connection, "operations.anywhere", (asked.operation_id,))
    if row is None:
        return None
    stored = _operation(row)
    differs = [
        what
        for what, here, there in (
            ("bank", stored.bank_id, asked.bank_id),
            ("type", stored.type, asked.type),
            ("content", stored.fingerprint, asked.fingerprint),
        )
        if here != there
    ]
    if differs:
        raise Conflict(
            f"Operation id '{asked.operation_id}' was used before with another {differs[0]}. "
            "Use a fresh id for a new operation, and repeat an old one unchanged."
        )
    return stored


def add_operation(connection: apsw.Connection, operation: Operation) -> Operation:
    stored = find_same(connection, operation)
    return stored or insert_operation(connection, operation, datetime.now(UTC))


def insert_operation(
    connection: apsw.Connection, operation: Operation, now: datetime, document_ids: Sequence[str] = ()
) -> Operation:
    """Record a new operation. Raises BankNotFound."""
    if one_row(connection, "banks.exists", (operation.bank_id,)) is None:
        raise BankNotFound(operation.bank_id)
    connection.execute(
        sql("operations.insert"),
        (
            operation.bank_id,
            operation.operation_id,
            operation.type,
            operation.status,
            operation.fingerprint,
            operation.items_count,
            operation.attempts,
            to_micros(operation.next_attempt_at),
            micros_of(operation.created_at or now),
            micros_of(operation.updated_at or now),
            to_micros(operation.completed_at),
            to_json(list(dict.fromkeys(document_ids))),
            operation.error,
            mapping_json(operation.result),
            mapping_json(operation.payload),
        ),
    )
    stored = get_operation(connection, operation.bank_id, operation.operation_id)
    assert stored is not None
    return stored


def get_operation(connection: apsw.Connection, bank_id: str, operation_id: str) -> Operation | None:
    row = one_row(connection, "operations.get", (bank_id, operation_id))
    return None if row is None else _operation(row)


def list_operations(
    connection: apsw.Connection, bank_id: str, wanted: tuple[str | None, str | None], limit: int, offset: int
) -> Page[Operation]:
    """`wanted` is the status and the type, each None for any."""
    values: dict[str, str | int | None] = {"bank_id": bank_id, "status": wanted[0], "type": wanted[1]}
    total = scalar(connection, "operations.count", values)
    values |= {"limit": limit, "offset": offset}
    rows = connection.execute(sql("operations.list"), values)
    return Page(tuple(_operation(row) for row in rows), total, limit, offset)


def claim_operation(
    connection: apsw.Connection, types: Sequence[str], now: datetime, lease_seconds: float
) -> Operation | None:
    moment = micros_of(now)
    row = connection.execute(sql("operations.next"), {"types": to_json(list(types)), "now": moment}).fetchone()
    if row is None:
        return None
    bank_id, operation_id = row
    until = micros_of(now + timedelta(seconds=lease_seconds))
    connection.execute(
        sql("operations.claim"), {"bank_id": bank_id, "operation_id": operation_id, "now": moment, "until": until}
    )
    return get_operation(connection, bank_id, operation_id)


def release_operations(connection: apsw.Connection) -> None:
    """Make what is being processed pending again. The tries that were begun stay counted."""
    connection.execute(sql("operations.release"))


def finish_operation(connection: apsw.Connection, operation: Operation, outcome: Outcome, now: datetime) -> None:
    """Changes nothing when it is finished already, or was claimed again: then another worker answers for it."""
    connection.execute(
        sql("operations.finish"),
        _of_ours(operation, now)
        | {
            "status": outcome.status,
            "result": mapping_json(outcome.result),
            "error": outcome.error,
            "retry_at": to_micros(outcome.retry_at),
        },
    )


def note_progress(
    connection: apsw.Connection, operation: Operation, progress: Mapping[str, Any], now: datetime
) -> None:
    connection.execute(sql("operations.note_progress"), _of_ours(operation, now) | {"progress": mapping_json(progress)})


def note_result(
    connection: apsw.Connection, operation: Operation, result: Mapping[str, Any] | None, now: datetime
) -> None:
    """Tell what there is so far of an operation that is being done."""
    connection.execute(sql("operations.note_result"), _of_ours(operation, now) | {"result": mapping_json(result)})


def _of_ours(operation: Operation, now: datetime) -> dict[str, str | int | None]:
    """What a statement is given that changes an operation only while this worker does it."""
    return {
        "bank_id": operation.bank_id,
        "operation_id": operation.operation_id,
        "lease": operation.lease,
        "now": micros_of(now),
    }


def renew_operation(connection: apsw.Connection, operation: Operation, now: datetime, lease_seconds: float) -> bool:
    connection.execute(
        sql("operations.renew"),
        {
            "bank_id": operation.bank_id,
            "operation_id": operation.operation_id,
            "lease": operation.lease,
            "until": micros_of(now + timedelta(seconds=lease_seconds)),
        },
    )
    return connection.changes() > 0


def requeue_operation(connection: apsw.Connection, bank_id: str, operation_id: str, now: datetime) -> bool:
    values = {"bank_id": bank_id, "operation_id": operation_id, "now": micros_of(now)}
    connection.execute(sql("operations.requeue"), values)
    return connection.changes() > 0


def cancel_operation(connection: apsw.Connection, bank_id: str, operation_id: str, now: datetime) -> bool:
    values = {"bank_id": bank_id, "operation_id": operation_id, "now": micros_of(now)}
    connection.execute(sql("operations.cancel"), values)
    return connection.changes() > 0


def delete_operation(connection: apsw.Connection, bank_id: str, operation_id: str) -> bool:
    connection.execute(sql("operations.release_blob"), (bank_id, operation_id))
    connection.execute(sql("operations.delete"), (bank_id, operation_id))
    return connection.changes() > 0


def _operation(row: tuple[Any, ...]) -> Operation:
    return Operation(
        bank_id=row[0],
        operation_id=row[1],
        type=row[2],
        status=row[3],
        fingerprint=row[4],
        payload=from_json(row[5]),
        result=from_json(row[6]),
        error=row[7],
        items_count=row[8],
        attempts=row[9],
        next_attempt_at=from_micros(row[10]),
        created_at=from_micros(row[11]),
        updated_at=from_micros(row[12]),
        completed_at=from_micros(row[13]),
        lease=row[14],
    )
