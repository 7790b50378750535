"""The writes that webhooks are told of, each one transaction with what is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite import consolidating, operations, security
from hindsight_server.adapters.sqlite.deliveries import Teller
from hindsight_server.adapters.sqlite.operations import Outcome
from hindsight_server.adapters.sqlite.queries import one_row
from hindsight_server.adapters.sqlite.retain import write_retain
from hindsight_server.adapters.sqlite.values import from_json
from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.model import FactState
from hindsight_server.domain.webhooks.events import COMPLETED, FAILED, WebhookEvent, consolidated, defended, retained
from hindsight_server.domain.webhooks.types import CONSOLIDATION_COMPLETED, DEFENSE_TRIGGERED, RETAIN_COMPLETED
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.ports.records import Operation, RetainResult, RetainWrite
from hindsight_server.ports.webhooks import Receiver

_RETAIN = "retain"  # the type of its jobs


def retain(connection: apsw.Connection, write: RetainWrite, everywhere: Receiver | None) -> RetainResult:
    """Store a retain, and tell of the documents that are done with it and of what memory defence decided."""
    result = write_retain(connection, write)
    if result.replayed:
        return result
    teller = Teller(connection, write.bank_id, write.now, everywhere)
    _tell_decisions(teller, write.security_events)
    done = _done(write)
    if done:
        operation_id = write.finishes or (write.operation.operation_id if write.operation else None)
        teller.tell(RETAIN_COMPLETED, lambda: _documents(teller, done, operation_id, COMPLETED))
    return result


def add_security_events(
    connection: apsw.Connection,
    bank_id: str,
    events: Sequence[SecurityEvent],
    now: datetime,
    everywhere: Receiver | None,
) -> None:
    """Keep decisions of what stored nothing, and tell of them."""
    security.add_events(connection, bank_id, events, now)
    _tell_decisions(Teller(connection, bank_id, now, everywhere), events)


def end_consolidation(
    connection: apsw.Connection,
    operation: Operation,
    result: Mapping[str, Any],
    now: datetime,
    everywhere: Receiver | None,
) -> bool:
    """See `ObservationStore.end_consolidation`."""
    ended = consolidating.end(connection, operation, result, now)
    if ended:
        _tell_consolidated(Teller(connection, operation.bank_id, now, everywhere), operation, result, COMPLETED)
    return ended


def finish_operation(
    connection: apsw.Connection, operation: Operation, outcome: Outcome, now: datetime, everywhere: Receiver | None
) -> None:
    """See `Store.finish_operation`; of a job that failed for good is told, too."""
    operations.finish_operation(connection, operation, outcome, now)
    if outcome.status not in (COMPLETED, FAILED) or not connection.changes():
        return
    teller, result = Teller(connection, operation.bank_id, now, everywhere), outcome.result or {}
    if operation.type == CONSOLIDATION:
        _tell_consolidated(teller, operation, result, outcome.status)
    elif operation.type == _RETAIN and outcome.status == FAILED:
        operation_id = operation.operation_id
        teller.tell(
            RETAIN_COMPLETED,
            lambda: _documents(teller, _undone(teller, operation_id, result), operation_id, FAILED),
        )


def _done(write: RetainWrite) -> list[str]:
    """The documents that nothing is left to do for after the write."""
    if write.finishes is None and write.operation is not None and write.operation.status == "pending":
        return []
    left = {
        document.document_id
        for document in write.documents
        if not all(chunk.complete for chunk in document.chunks)
        or any(fact.state is FactState.PENDING for fact in document.facts)
    }
    return list(dict.fromkeys(one.document_id for one in write.documents if one.document_id not in left))


def _undone(teller: Teller, operation_id: str, result: Mapping[str, Any]) -> list[str]:
    """The documents that a job was to do and did not, or not wholly."""
    row = one_row(teller.connection, "operations.documents", (teller.bank_id, operation_id))
    waiting = [
        document_id
        for document_id in (from_json(row[0]) if row else ())
        if one_row(teller.connection, "documents.part_of_operation", (teller.bank_id, document_id, operation_id))
    ]
    return list(dict.fromkeys([*waiting, *result.get("failed_documents", ())]))


def _documents(
    teller: Teller, document_ids: Sequence[str], operation_id: str | None, status: str
) -> Iterator[WebhookEvent]:
    """An event for each document that is still there."""
    for document_id in document_ids:
        row = one_row(teller.connection, "webhooks.document_facts", (teller.bank_id, document_id))
        if row is not None:
            yield retained(
                teller.bank_id, document_id, teller.now, memories=row[0], operation_id=operation_id, status=status
            )


def _tell_decisions(teller: Teller, events: Sequence[SecurityEvent]) -> None:
    if events:
        teller.tell(DEFENSE_TRIGGERED, lambda: (defended(teller.bank_id, event) for event in events))


def _tell_consolidated(teller: Teller, operation: Operation, result: Mapping[str, Any], status: str) -> None:
    teller.tell(
        CONSOLIDATION_COMPLETED,
        lambda: [consolidated(teller.bank_id, operation.operation_id, teller.now, result, status=status)],
    )
