"""Which HTTP status each error of the server becomes; the only place that says so."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from hindsight_server.domain import errors
from hindsight_server.http.gateway import internal_error

logger = logging.getLogger(__name__)

# Looked up along the error's class tree, nearest first.
STATUSES: dict[type[errors.HindsightServerError], int] = {
    errors.InvalidInput: 422,
    errors.BadRequest: 400,
    errors.Blocked: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Overloaded: 503,
    errors.EmbeddingUnavailable: 503,
    errors.DataFolderError: 503,
    errors.ReflectFailed: 500,
    errors.ReflectTimedOut: 504,
    errors.ModelError: 502,
    errors.ModelUnavailable: 503,
    errors.HindsightServerError: 500,
}
_FIELD_PART = re.compile(r"[^.\[\]]+")


def install(app: FastAPI) -> None:
    """Make `app` answer the server's errors as this module says."""
    app.add_exception_handler(errors.HindsightServerError, _domain_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)


def status_of(error: errors.HindsightServerError) -> int:
    """The HTTP status of an error of the domain."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


async def _domain_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.HindsightServerError)
    status, headers = status_of(error), {}
    if isinstance(error, errors.Overloaded):
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after)))
        logger.warning("answered %d: %s", status, error)
    elif isinstance(error, errors.ModelUnavailable):
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after or 1.0)))
        logger.warning("answered %d: %s", status, error)
    elif status >= 500:
        logger.error("answered %d: %s", status, error, exc_info=error)
    if isinstance(error, errors.Blocked):
        violations = [asdict(violation) for violation in error.violations]
        return error_response(status, {"message": str(error), "violations": violations})
    if isinstance(error, errors.InvalidInput) and error.field and status == 422:
        return error_response(status, [_row("value_error", _place(request, error.field), str(error))], headers)
    return error_response(status, str(error), headers)


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_response(422, [_row(row["type"], row["loc"], row["msg"]) for row in error.errors()])


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, error.detail, dict(error.headers or {}))


async def _unexpected_error(request: Request, _: Exception) -> Response:
    return error_response(500, internal_error(request.scope))  # the gateway logs it


def error_response(status: int, detail: Any, headers: dict[str, str] | None = None) -> Response:
    """An error's answer: ``{"detail": ...}``."""
    return Response(orjson.dumps({"detail": detail}), status, headers, "application/json")


def location(field: str) -> tuple[str | int, ...]:
    """A field path as FastAPI writes it.

    Example:
        >>> location("items[2].content")
        ('items', 2, 'content')
    """
    return tuple(int(part) if part.isdigit() else part for part in _FIELD_PART.findall(field))


def _place(request: Request, field: str) -> tuple[str | int, ...]:
    """Where the request holds a field."""
    if field in request.path_params:
        return ("path", field)
    return ("query" if request.method in ("GET", "DELETE") else "body", *location(field))


def _row(kind: str, loc: Sequence[str | int], message: str) -> dict[str, Any]:
    """One line of a 422; what was sent is not repeated, since it may be large or private."""
    return {"type": kind, "loc": list(loc), "msg": message}
