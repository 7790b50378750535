"""One retain as one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import apsw

from hindsight_server.adapters.sqlite.attachments import rewrite_text, waited_text, write_attachments
from hindsight_server.adapters.sqlite.banks import ensure_bank
from hindsight_server.adapters.sqlite.document_writer import DocumentWriter
from hindsight_server.adapters.sqlite.documents import pending_facts
from hindsight_server.adapters.sqlite.facts_write import delete_facts
from hindsight_server.adapters.sqlite.operations import (
    Outcome,
    find_same,
    finish_operation,
    get_operation,
    insert_operation,
    note_result,
)
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.replacing import stale, tagged_as_waiting
from hindsight_server.adapters.sqlite.security import write_defence
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, from_micros
from hindsight_server.domain.errors import Conflict, NotFound
from hindsight_server.ports.records import DocumentWrite, Operation, RetainResult, RetainWrite


def write_retain(connection: apsw.Connection, write: RetainWrite) -> RetainResult:
    """Store a retain. See `Store.retain` for what is raised."""
    if write.finishes is not None:
        return _finish(connection, write, write.finishes)
    if write.operation is not None:
        stored = find_same(connection, write.operation)
        if stored is not None:
            return RetainResult(replayed=True, operation=stored)
    if write.job is not None:
        _job_state(connection, write, write.job)
    if write.bank_created_at is not None:
        _check_bank(connection, write.bank_id, write.bank_created_at)
    ensure_bank(connection, write.bank_id, write.now)
    session = BankSession(connection, write.bank_id, write.now)
    documents = DocumentWriter(session)
    if documents.write_all(write.documents, write.operation):
        session.save(documents=True)
    write_attachments(connection, write.bank_id, write.documents)
    write_defence(connection, write)
    operation = write.operation
    if operation is not None:
        ids = [document.document_id for document in write.documents]
        operation = insert_operation(connection, operation, write.now, ids)
    return RetainResult(fact_ids=_fact_ids(write.documents, documents), operation=operation)


def _check_bank(connection: apsw.Connection, bank_id: str, created_at: datetime) -> None:
    """A bank that was deleted meanwhile is not brought back by what was on its way into it."""
    row = one_row(connection, "banks.read", (bank_id,))
    if row is None or from_micros(row[7]) != created_at:
        raise Conflict(f"Bank '{bank_id}' was deleted while this was being retained; nothing was stored.")


def _finish(connection: apsw.Connection, write: RetainWrite, operation_id: str) -> RetainResult:
    """Replace what a job left pending. Documents replaced or deleted since stay as they are."""
    status, lease, listed = _job_state(connection, write, operation_id)
    if status == "completed":
        return RetainResult(replayed=True, operation=get_operation(connection, write.bank_id, operation_id))
    session = BankSession(connection, write.bank_id, write.now)
    delete_facts(session, pending_facts(connection, write, operation_id))
    written = {document.document_id for document in write.documents}
    left = _parts_of(session, written.intersection(from_json(listed)), operation_id)
    documents = DocumentWriter(session)
    stored = []
    for document in write.documents:
        parts = left.get(document.document_id)
        if parts is None:
            documents.write_all([document], None)
        elif parts:
            part, first_turn, text, source = parts.pop(0)
            if text != waited_text(document):
                raise stale(document)
            document = tagged_as_waiting(document, from_json(source))
            documents.rewrite(document, part, first_turn)
            rewrite_text(session, document, part)
        else:
            continue
        stored.append(document)
    documents.flush()
    write_attachments(connection, write.bank_id, stored, begin=False)
    if not write.goes_on:
        connection.execute(sql("documents.operation_done"), (write.bank_id, operation_id))
    session.save(documents=bool(stored))
    result = None if write.operation is None else write.operation.result
    if write.result is not None:
        result = write.result(written.difference(document.document_id for document in stored))
    job = Operation(bank_id=write.bank_id, operation_id=operation_id, type="", status=status, lease=lease)
    if write.goes_on:
        note_result(connection, write.operation or job, result, write.now)
        return RetainResult(fact_ids=_fact_ids(stored, documents))
    finish_operation(connection, job, Outcome("completed", result, None), write.now)
    done = get_operation(connection, write.bank_id, operation_id)
    return RetainResult(fact_ids=_fact_ids(stored, documents), operation=done)


def _job_state(connection: apsw.Connection, write: RetainWrite, operation_id: str) -> tuple[str, str | None, str]:
    """Status, lease and documents of the job that writes; raises NotFound or Conflict when it is not to write."""
    # Not read whole: its payload lists all that is to be done, and this is one of many writes.
    found = one_row(connection, "operations.state", (write.bank_id, operation_id))
    if found is None:
        raise NotFound(f"Operation '{operation_id}' not found in bank '{write.bank_id}'; nothing was stored.")
    status, lease, listed = found
    if status == "cancelled":
        raise Conflict(f"Operation '{operation_id}' was cancelled; nothing was stored.")
    return status, lease, listed


def _parts_of(
    session: BankSession, document_ids: Iterable[str], operation_id: str
) -> dict[str, list[tuple[int, int, str, str]]]:
    """For each document that the job wrote, the parts that still wait for it, in order: number, first turn, text and
    source."""
    return {
        document_id: all_rows(
            session.connection, "documents.part_of_operation", (session.bank_id, document_id, operation_id)
        )
        for document_id in document_ids
    }


def _fact_ids(documents: Iterable[DocumentWrite], writer: DocumentWriter) -> tuple[str, ...]:
    ids = (fact.fact_id for document in documents for fact in document.facts)
    return tuple(fact_id for fact_id in ids if fact_id not in writer.left_out)
