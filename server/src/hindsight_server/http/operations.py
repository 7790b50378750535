"""Operations over HTTP: work that was asked for and what became of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field

from hindsight_server.engine.retain.outcome import shown
from hindsight_server.http.parsing import BankId, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire.responses import operations as shapes
from hindsight_server.ports.records import Operation

_Status = Literal["pending", "processing", "completed", "failed", "cancelled", "not_found"]


class OperationsQuery(BaseModel):
    """The filters of a listing. No operation is a parent of others here, so that there are none to exclude."""

    status: str | None = None
    type: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: PageNumber = 0
    exclude_parents: bool = False


async def list_operations(request: Request, bank_id: BankId, query: Annotated[OperationsQuery, Query()]) -> Response:
    page = await services(request).operations.list(
        bank_id, status=query.status or None, type_=query.type or None, limit=query.limit, offset=query.offset
    )
    listed: shapes.OperationsListResponse = {
        "bank_id": bank_id,
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
        "operations": [_list_item(operation) for operation in page.items],
    }
    return answer(listed)


async def get_operation(
    request: Request, bank_id: BankId, operation_id: str, include_payload: bool = False
) -> Response:
    operation = await services(request).operations.status(bank_id, operation_id)
    return answer(_status(operation, dict(operation.payload) if include_payload and operation.payload else None))


async def cancel_operation(request: Request, bank_id: BankId, operation_id: str) -> Response:
    await services(request).operations.cancel(bank_id, operation_id)
    return answer(_done(f"Operation '{operation_id}' is cancelled.", operation_id))


async def retry_operation(request: Request, bank_id: BankId, operation_id: str) -> Response:
    await services(request).operations.retry(bank_id, operation_id)
    return answer(_done(f"Operation '{operation_id}' is queued again.", operation_id))


async def delete_operation(request: Request, bank_id: BankId, operation_id: str) -> Response:
    await services(request).operations.delete(bank_id, operation_id)
    return answer(_done(f"Operation '{operation_id}' is deleted.", operation_id))


def _done(message: str, operation_id: str) -> shapes.CancelOperationResponse:
    return {"success": True, "message": message, "operation_id": operation_id}


def _list_item(operation: Operation) -> shapes.OperationResponse:
    return {
        "id": operation.operation_id,
        "task_type": operation.type,
        "operation_id": operation.operation_id,
        "operation_type": operation.type,
        "items_count": operation.items_count,
        "mental_model_id": _mental_model_id(operation),
        "details": (operation.result or {}).get("details"),
        "document_id": _document_id(operation),
        "filename": (operation.result or {}).get("filename"),
        "created_at": iso(operation.created_at) or "",
        "updated_at": iso(operation.updated_at),
        "status": operation.status,
        "error_message": operation.error,
        "retry_count": max(0, operation.attempts - 1),
        "next_retry_at": iso(operation.next_attempt_at),
    }


def _document_id(operation: Operation) -> str | None:
    """The document of an operation that is about one."""
    documents: list[str] = shown(operation.result or {}).get("document_ids") or []
    return documents[0] if len(documents) == 1 else None


def _status(operation: Operation, payload: dict[str, Any] | None) -> shapes.OperationStatusResponse:
    result = shown(operation.result or {})
    progress = result.pop("progress", None)
    details = result.pop("details", None)
    return {
        "operation_id": operation.operation_id,
        "status": cast(_Status, operation.status),
        "operation_type": operation.type or None,
        "id": operation.operation_id,
        "task_type": operation.type or None,
        "created_at": iso(operation.created_at),
        "updated_at": iso(operation.updated_at),
        "completed_at": iso(operation.completed_at),
        "error_message": operation.error,
        "retry_count": max(0, operation.attempts - 1),
        "next_retry_at": iso(operation.next_attempt_at),
        "progress": progress,
        "mental_model_id": _mental_model_id(operation),
        "details": details,
        "result_metadata": result or None,
        "task_payload": payload,
    }


def _mental_model_id(operation: Operation) -> str | None:
    """Of a refresh; a listing has no payloads, and tells it once something came of it."""
    found = (operation.result or {}).get("mental_model_id") or (operation.payload or {}).get("mental_model_id")
    return found if isinstance(found, str) else None


HANDLERS = {
    "list_operations": Handler(list_operations, shapes.OperationsListResponse),
    "get_operation_status": Handler(get_operation, shapes.OperationStatusResponse),
    "cancel_operation": Handler(cancel_operation, shapes.CancelOperationResponse),
    "retry_operation": Handler(retry_operation, shapes.RetryOperationResponse),
    "delete_operation": Handler(delete_operation, shapes.DeleteOperationResponse),
}
