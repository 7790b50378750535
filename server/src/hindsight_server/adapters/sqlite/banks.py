"""Banks: made, changed, listed, counted and deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.images import drop_image
from hindsight_server.adapters.sqlite.queries import all_rows, one_row, scalar
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, from_micros, moment, to_json
from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.records import Bank, BankChange, BankStats, Page

# Children before their parents.
_TABLES = (
    "webhook_deliveries",
    "webhooks",
    "observation_history",
    "observation_sources",
    "observations",
    "consolidation_passes",
    "consolidations",
    "consolidation_marks",
    "directives",
    "llm_request_texts",
    "llm_requests",
    "knowledge_nodes",
    "mental_model_withdrawals",
    "mental_model_history",
    "mental_model_sources",
    "mental_models",
    "security_events",
    "document_receipts",
    "causes",
    "token_vectors",
    "further_vectors",
    "vectors",
    "unencoded",
    "postings",
    "fact_entities",
    "entity_links",
    "entity_rules",
    "entity_keys",
    "entities",
    "facts",
    "chunks",
    "parts",
    "documents",
    "removed",
    "operations",
)


def ensure_bank(connection: apsw.Connection, bank_id: str, now: datetime) -> None:
    connection.execute(sql("banks.create"), {"bank_id": bank_id, "name": bank_id, "now": micros_of(now)})


def save_bank(connection: apsw.Connection, bank_id: str, change: BankChange, now: datetime) -> Bank:
    ensure_bank(connection, bank_id, now)
    bank = get_bank(connection, bank_id)
    connection.execute(
        sql("banks.save"),
        {
            "bank_id": bank_id,
            "name": bank.name if change.name is None else change.name,
            "mission": bank.mission if change.mission is None else change.mission,
            "skepticism": bank.skepticism if change.skepticism is None else change.skepticism,
            "literalism": bank.literalism if change.literalism is None else change.literalism,
            "empathy": bank.empathy if change.empathy is None else change.empathy,
            "config": to_json(_merged_config(bank, change)),
            "now": micros_of(now),
        },
    )
    return get_bank(connection, bank_id)


def get_bank(connection: apsw.Connection, bank_id: str) -> Bank:
    row = one_row(connection, "banks.read", (bank_id,))
    if row is None:
        raise BankNotFound(bank_id)
    return _bank(row)


def require_bank(connection: apsw.Connection, bank_id: str) -> None:
    """Raises BankNotFound when there is no such bank."""
    if one_row(connection, "banks.exists", (bank_id,)) is None:
        raise BankNotFound(bank_id)


def holds_at_most(connection: apsw.Connection, bank_id: str, facts: int) -> bool:
    """Whether there is such a bank, with no more facts than that."""
    return one_row(connection, "banks.holds_at_most", (bank_id, facts)) is not None


def list_banks(connection: apsw.Connection, query: str | None, limit: int, offset: int) -> Page[Bank]:
    values: dict[str, str | int | None] = {"query": None if query is None else query.casefold()}
    total = scalar(connection, "banks.count", values)
    rows = connection.execute(sql("banks.list"), values | {"limit": limit, "offset": offset})
    return Page(tuple(_bank(row) for row in rows), total, limit, offset)


def delete_bank(connection: apsw.Connection, bank_id: str) -> int:
    require_bank(connection, bank_id)
    facts = scalar(connection, "banks.count_facts", (bank_id,))
    connection.execute(sql("banks.raise_floors"), {"bank_id": bank_id})
    for table in _TABLES:
        connection.execute(sql(f"banks.delete_{table}"), (bank_id,))
    connection.execute(sql("banks.delete"), (bank_id,))
    drop_image(connection, bank_id)
    return int(facts)


def bank_stats(connection: apsw.Connection, bank_id: str) -> BankStats:
    bank = get_bank(connection, bank_id)
    return BankStats(
        facts_by_type=dict(all_rows(connection, "banks.facts_by_type", (bank_id,))),
        documents=scalar(connection, "banks.count_documents", (bank_id,)),
        entity_links=scalar(connection, "banks.count_entity_links", (bank_id,)),
        operations_by_status=dict(all_rows(connection, "banks.operations_by_status", (bank_id,))),
        last_write_at=bank.last_write_at,
    )


def _merged_config(bank: Bank, change: BankChange) -> dict[str, Any]:
    held = {} if change.replace_config else dict(bank.config)
    merged = held | dict(change.config or {})
    return {key: value for key, value in merged.items() if value is not None}


def _bank(row: tuple[Any, ...]) -> Bank:
    return Bank(
        bank_id=row[0],
        name=row[1],
        mission=row[2],
        skepticism=row[3],
        literalism=row[4],
        empathy=row[5],
        config=from_json(row[6]),
        created_at=moment(row[7]),
        updated_at=moment(row[8]),
        last_write_at=from_micros(row[9]),
        last_document_at=from_micros(row[10]),
        fact_count=row[11],
    )
