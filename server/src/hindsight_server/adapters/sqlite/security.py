"""The decisions of memory defence, and the receipts of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.access import FolderAccess
from hindsight_server.adapters.sqlite.banks import ensure_bank
from hindsight_server.adapters.sqlite.queries import all_rows, scalar
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json, to_micros
from hindsight_server.domain.defence.events import Found, SecurityEvent
from hindsight_server.domain.model import UpdateMode
from hindsight_server.ports.records import RetainWrite
from hindsight_server.ports.security import MOST_EVENTS, EventFilter, EventPage


class SecurityRows(FolderAccess):
    """The part of the store that is `SecurityStore`, but for the write that webhooks are told of."""

    async def list_security_events(self, bank_id: str, wanted: EventFilter, limit: int, offset: int) -> EventPage:
        return await self._read_bank(list_events, bank_id, wanted, limit, offset)

    async def document_tags(self, bank_id: str, document_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return await self._read(document_tags, bank_id, document_ids)


def add_events(connection: apsw.Connection, bank_id: str, events: Sequence[SecurityEvent], now: datetime) -> None:
    """Keep events; the oldest beyond `MOST_EVENTS` go."""
    if not events:
        return
    ensure_bank(connection, bank_id, now)
    first = scalar(connection, "security.next_number", (bank_id,))
    rows = [_row(bank_id, first + index, event) for index, event in enumerate(events)]
    connection.executemany(sql("security.insert"), rows)
    connection.execute(sql("security.forget_old"), (bank_id, first + len(rows) - 1 - MOST_EVENTS))


def list_events(connection: apsw.Connection, bank_id: str, wanted: EventFilter, limit: int, offset: int) -> EventPage:
    values: dict[str, str | int | None] = {
        "bank_id": bank_id,
        "detector": wanted.detector,
        "action": wanted.action,
        "severity": wanted.severity,
        "document_id": wanted.document_id,
        "start": to_micros(wanted.start),
        "end": to_micros(wanted.end),
    }
    total = scalar(connection, "security.count", values)
    rows = connection.execute(sql("security.list"), values | {"limit": limit, "offset": offset})
    return EventPage(tuple(_event(row) for row in rows), total)


def document_tags(connection: apsw.Connection, bank_id: str, document_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    wanted = {"bank_id": bank_id, "document_ids": to_json(list(document_ids))}
    return {found: tuple(from_json(tags)) for found, tags in all_rows(connection, "security.document_tags", wanted)}


def receipts(connection: apsw.Connection, bank_id: str, document_ids: Iterable[str]) -> dict[str, str]:
    """The receipts of those documents that have one."""
    wanted = {"bank_id": bank_id, "document_ids": to_json(list(document_ids))}
    return dict(all_rows(connection, "security.receipts", wanted))


def write_defence(connection: apsw.Connection, write: RetainWrite) -> None:
    """Keep the events and receipts of a retain; a document that begins anew loses the receipt of before."""
    add_events(connection, write.bank_id, write.security_events, write.now)
    for document in write.documents:
        key = (write.bank_id, document.document_id)
        if document.receipt_uri is not None:
            connection.execute(sql("security.write_receipt"), (*key, document.receipt_uri))
        elif document.mode is UpdateMode.REPLACE:
            connection.execute(sql("security.drop_receipt"), key)


def restore_receipt(
    connection: apsw.Connection, bank_id: str, document_id: str, sources: Iterable[Mapping[str, Any]]
) -> None:
    """Keep the receipt of an imported document: that of its latest part with one."""
    kept = [source["receipt_uri"] for source in sources if source.get("receipt_uri")]
    if kept:
        connection.execute(sql("security.write_receipt"), (bank_id, document_id, str(kept[-1])))


def _row(bank_id: str, number: int, event: SecurityEvent) -> tuple[Any, ...]:
    return (
        *(bank_id, number, event.event_id, to_micros(event.created_at), event.detector, event.action, event.severity),
        *(event.source, event.message),
        to_json([[found.label, found.field, found.count, list(found.positions)] for found in event.found]),
        *(event.item_index, event.document_id, event.memory_id, event.operation_id, event.receipt_uri),
    )


def _event(row: tuple[Any, ...]) -> SecurityEvent:
    event_id, created_at, detector, action, severity, source, message, found, *rest = row
    item_index, document_id, memory_id, operation_id, receipt_uri = rest
    return SecurityEvent(
        event_id=event_id,
        created_at=moment(created_at),
        detector=detector,
        action=action,
        severity=severity,
        source=source,
        message=message,
        found=tuple(Found(label, field, count, tuple(places)) for label, field, count, places in from_json(found)),
        item_index=item_index,
        document_id=document_id,
        memory_id=memory_id,
        operation_id=operation_id,
        receipt_uri=receipt_uri,
    )
