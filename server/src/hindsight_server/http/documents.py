"""Documents and chunks over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, cast

from fastapi import Query, Request, Response
from pydantic import BaseModel

from hindsight_server.engine.offload import offloaded
from hindsight_server.http.files import show_on_chunks, show_on_document
from hindsight_server.http.memories import Match
from hindsight_server.http.parsing import BankId, Body, Count, PageNumber, last_before, optional_time
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer, answer_last
from hindsight_server.http.services import Services, services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import documents as shapes
from hindsight_server.ports.records import Chunk, Document, DocumentFilter

ChunkCount = Annotated[int, Query(ge=1, le=1000)]


class DocumentsQuery(BaseModel):
    """The filters of a listing. `end_date` is not included in the span."""

    q: str | None = None
    tags: list[str] | None = None
    tags_match: Match = "any_strict"
    time_field: Literal["created_at", "updated_at"] | None = None
    start_date: str | None = None
    end_date: str | None = None
    limit: PageNumber = 100
    offset: PageNumber = 0


async def list_documents(request: Request, bank_id: BankId, query: Annotated[DocumentsQuery, Query()]) -> Response:
    page = await services(request).documents.list(bank_id, document_filter(query), query.limit, query.offset)
    listed: shapes.ListDocumentsResponse = {
        "items": await offloaded(len(page.items), partial(_list_items, bank_id, page.items, query.q)),
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "total_is_estimate": False,
    }
    count, held = len(page.items), [page, listed]
    del page, listed
    return await answer_last(count, held)


def _list_items(bank_id: str, documents: Sequence[Document], query: str | None) -> list[shapes.DocumentListItem]:
    return [_list_item(bank_id, document, query) for document in documents]


def document_filter(query: DocumentsQuery) -> DocumentFilter:
    """What a listing asks for. Raises InvalidInput."""
    start, end = optional_time(query.start_date, "start_date"), last_before(query.end_date, "end_date")
    return DocumentFilter(
        query=query.q or None,
        tags=tag_filter(query.tags, query.tags_match),
        time_field=query.time_field or ("created_at" if start or end else None),
        start=start,
        end=end,
    )


async def get_document(request: Request, bank_id: BankId, document_id: str) -> Response:
    served = services(request)
    shown = _document(bank_id, await served.documents.get(bank_id, document_id))
    await show_on_document(served, bank_id, document_id, cast("dict[str, Any]", shown))
    return answer(shown)


async def update_document(
    request: Request,
    bank_id: BankId,
    document_id: str,
    body: Annotated[wire.UpdateDocumentRequest, Body(wire.UpdateDocumentRequest)],
) -> Response:
    await services(request).documents.update(
        bank_id, document_id, tags=body.tags, observation_scopes=body.observation_scopes
    )
    done: shapes.UpdateDocumentResponse = {"success": True}
    return answer(done)


async def delete_document(request: Request, bank_id: BankId, document_id: str) -> Response:
    deleted = await services(request).documents.delete(bank_id, document_id)
    done: shapes.DeleteDocumentResponse = {
        "success": True,
        "message": f"Deleted document '{document_id}' with {deleted} memories.",
        "document_id": document_id,
        "memory_units_deleted": deleted,
    }
    return answer(done)


async def reprocess_document(request: Request, bank_id: BankId, document_id: str) -> Response:
    operation = await services(request).documents.reprocess(bank_id, document_id)
    queued: shapes.ReprocessDocumentResponse = {
        "success": True,
        "operation_id": operation.operation_id,
        "items_count": operation.items_count,
    }
    return answer(queued)


async def list_chunks(
    request: Request, bank_id: BankId, document_id: str, limit: ChunkCount = 100, offset: Count = 0
) -> Response:
    page = await services(request).documents.chunks(bank_id, document_id, limit, offset)
    listed: shapes.ListChunksResponse = {
        "items": await _chunks(services(request), bank_id, page.items),
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def get_chunk(request: Request, chunk_id: str) -> Response:
    served = services(request)
    chunk = await served.documents.chunk(chunk_id)
    (shown,) = await _chunks(served, chunk.bank_id, [chunk])
    return answer(shown)


async def _chunks(served: Services, bank_id: str, chunks: Sequence[Chunk]) -> list[shapes.ChunkResponse]:
    shown = {chunk.chunk_id: _chunk(chunk) for chunk in chunks}
    await show_on_chunks(served, bank_id, chunks, cast("dict[str, dict[str, Any]]", shown))
    return list(shown.values())


def _list_item(bank_id: str, document: Document, query: str | None) -> shapes.DocumentListItem:
    return {
        "id": document.document_id,
        "bank_id": bank_id,
        "content_hash": document.content_hash,
        "created_at": document.created_at.isoformat(),
        "updated_at": document.updated_at.isoformat(),
        "text_length": document.text_length,
        "memory_unit_count": document.fact_count,
        "retain_params": _retain_params(document),
        "document_metadata": dict(document.metadata) or None,
        "tags": list(document.tags),
        "matched_fields": _matched_fields(document, query),
    }


def _matched_fields(document: Document, query: str | None) -> list[Literal["id", "original_text"]]:
    """Where a listed document holds the query; the text is not read again when the id does."""
    if not query:
        return []
    return ["id"] if query.casefold() in document.document_id.casefold() else ["original_text"]


def _document(bank_id: str, document: Document) -> shapes.DocumentResponse:
    return {
        "id": document.document_id,
        "bank_id": bank_id,
        "original_text": document.text,
        "content_hash": document.content_hash,
        "created_at": document.created_at.isoformat(),
        "updated_at": document.updated_at.isoformat(),
        "memory_unit_count": document.fact_count,
        "nodes_by_fact_type": None,
        "tags": list(document.tags),
        "document_metadata": dict(document.metadata) or None,
        "retain_params": _retain_params(document),
        "observation_scopes": cast("str | list[list[str]] | None", document.observation_scopes),
        "attachments": None,
    }


def _retain_params(document: Document) -> dict[str, Any] | None:
    kept = {"context": document.context, "receipt_uri": document.receipt_uri}
    return {name: value for name, value in kept.items() if value is not None} or None


def _chunk(chunk: Chunk) -> shapes.ChunkResponse:
    return {
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "bank_id": chunk.bank_id,
        "chunk_index": chunk.index,
        "chunk_text": chunk.text,
        "created_at": iso(chunk.created_at) or "",
        "attachments": None,
    }


HANDLERS = {
    "list_documents": Handler(list_documents, shapes.ListDocumentsResponse),
    "get_document": Handler(get_document, shapes.DocumentResponse),
    "update_document": Handler(update_document, shapes.UpdateDocumentResponse, wire.UpdateDocumentRequest),
    "delete_document": Handler(delete_document, shapes.DeleteDocumentResponse),
    "reprocess_document": Handler(reprocess_document, shapes.ReprocessDocumentResponse),
    "list_document_chunks": Handler(list_chunks, shapes.ListChunksResponse),
    "get_chunk": Handler(get_chunk, shapes.ChunkResponse),
}
