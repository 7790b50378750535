"""Documents and chunks, as read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.security import receipts
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_document_tag_sets
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json, to_micros
from hindsight_server.domain.documents import join_parts
from hindsight_server.domain.errors import NotFound
from hindsight_server.ports.records import (
    Chunk,
    Document,
    DocumentFilter,
    DocumentPart,
    DocumentState,
    Page,
    RetainWrite,
)


def document_state(connection: apsw.Connection, bank_id: str, document_id: str) -> DocumentState | None:
    """Chunks whose facts are pending or were cleared are left out, and then there is no content hash either."""
    row = one_row(connection, "documents.read", (bank_id, document_id))
    if row is None:
        return None
    chunks = all_rows(connection, "documents.chunks_of_document", (bank_id, document_id))
    hashes = tuple(content_hash for _, _, _, content_hash, _, _, complete in chunks if complete)
    return DocumentState(
        document_id=document_id,
        content_hash=row[0] if len(hashes) == len(chunks) else "",
        chunk_hashes=hashes,
        turn_count=row[1],
    )


def document_states(connection: apsw.Connection, bank_id: str, document_ids: Sequence[str]) -> dict[str, DocumentState]:
    found = (document_state(connection, bank_id, document_id) for document_id in document_ids)
    return {state.document_id: state for state in found if state is not None}


def get_document(connection: apsw.Connection, bank_id: str, document_id: str) -> Document:
    row = one_row(connection, "documents.get", (bank_id, document_id))
    if row is None:
        raise no_document(bank_id, document_id)
    texts = column(connection, "documents.texts", (bank_id, document_id))
    return replace(
        _document(row, join_parts(texts)), receipt_uri=receipts(connection, bank_id, [document_id]).get(document_id)
    )


def document_parts(connection: apsw.Connection, bank_id: str, document_id: str) -> list[DocumentPart]:
    parts = all_rows(connection, "documents.parts", (bank_id, document_id))
    if not parts:
        raise no_document(bank_id, document_id)
    return [DocumentPart(text=text, source=from_json(source)) for text, source in parts]


def pending_facts(connection: apsw.Connection, write: RetainWrite, operation_id: str) -> list[int]:
    """The pending facts whose places a job's write takes, all at once: they share their words."""
    if not write.goes_on:
        return column(connection, "facts.pending_of_operation", (write.bank_id, operation_id))
    ids = to_json(sorted({document.document_id for document in write.documents}))
    values = {"bank_id": write.bank_id, "operation_id": operation_id, "document_ids": ids}
    return column(connection, "facts.pending_of_documents", values)


def waiting_parts(connection: apsw.Connection, bank_id: str, operation_id: str) -> list[tuple[str, DocumentPart]]:
    rows = all_rows(connection, "documents.waiting_parts", (bank_id, operation_id))
    return [(document_id, DocumentPart(text=text, source=from_json(source))) for document_id, text, source in rows]


def parts_before(
    connection: apsw.Connection, bank_id: str, document_id: str, operation_id: str | None, limit: int
) -> list[DocumentPart]:
    values = {"bank_id": bank_id, "document_id": document_id, "operation_id": operation_id, "limit": limit}
    rows = all_rows(connection, "documents.parts_before", values)
    return [DocumentPart(text=text, source=from_json(source)) for text, source in reversed(rows)]


def list_documents(
    connection: apsw.Connection, bank_id: str, wanted: DocumentFilter, limit: int, offset: int
) -> Page[Document]:
    values: dict[str, str | int | None] = {
        "bank_id": bank_id,
        "query": None if wanted.query is None else wanted.query.casefold(),
        "tag_sets": None if wanted.tags is None else matching_document_tag_sets(connection, bank_id, wanted.tags),
        "time_field": wanted.time_field,
        "start": to_micros(wanted.start),
        "end": to_micros(wanted.end),
    }
    total = scalar(connection, "documents.count", values)
    rows = connection.execute(sql("documents.list"), values | {"limit": limit, "offset": offset})
    found = [_document(row, None) for row in rows]
    kept = receipts(connection, bank_id, [document.document_id for document in found])
    if kept:
        found = [replace(document, receipt_uri=kept.get(document.document_id)) for document in found]
    return Page(tuple(found), total, limit, offset)


def get_chunks(connection: apsw.Connection, bank_id: str, chunk_ids: Sequence[str]) -> list[Chunk]:
    """In the order asked for; those that are gone are left out."""
    wanted = {"bank_id": bank_id, "chunk_ids": to_json(list(dict.fromkeys(chunk_ids)))}
    found = {row[0]: _chunk(bank_id, row) for row in connection.execute(sql("documents.get_chunks"), wanted)}
    return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]


def list_chunks(connection: apsw.Connection, bank_id: str, document_id: str, limit: int, offset: int) -> Page[Chunk]:
    if one_row(connection, "documents.read", (bank_id, document_id)) is None:
        raise no_document(bank_id, document_id)
    total = scalar(connection, "documents.count_chunks", (bank_id, document_id))
    rows = connection.execute(sql("documents.list_chunks"), (bank_id, document_id, limit, offset))
    return Page(tuple(_chunk(bank_id, row) for row in rows), total, limit, offset)


def no_document(bank_id: str, document_id: str) -> NotFound:
    return NotFound(f"Document '{document_id}' not found in bank '{bank_id}'.")


def _document(row: tuple[Any, ...], text: str | None) -> Document:
    return Document(
        document_id=row[0],
        content_hash=row[1],
        context=row[2],
        metadata=from_json(row[3]),
        tags=tuple(from_json(row[4])),
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
        text_length=row[7],
        turn_count=row[8],
        fact_count=row[9],
        observation_scopes=from_json(row[10]),
        text=text,
    )


def _chunk(bank_id: str, row: tuple[Any, ...]) -> Chunk:
    chunk_id, document_id, index, text, created_at = row
    return Chunk(
        chunk_id=chunk_id,
        document_id=document_id,
        bank_id=bank_id,
        index=index,
        text=text,
        created_at=moment(created_at),
    )
