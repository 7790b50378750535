"""How handlers become routes.

The table of `wire/operations.py` names every operation of the API, that of `extensions.py` ours beside them. A handler
serves one by its id. An operation that the API retired answers 410 with what took its place; every other one without a
handler answers 501, so that a client learns that it asked for something real that this version lacks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from hindsight_server.engine.offload import offloaded
from hindsight_server.http.errors import error_response
from hindsight_server.http.extensions import EXTENSIONS
from hindsight_server.http.wire.operations import OPERATIONS

_PROFILE_IS_CONFIG = (
    "The profile of a bank is retired. Read and change it with GET and PATCH /v1/default/banks/{bank_id}/config "
    "(disposition_skepticism, disposition_literalism, disposition_empathy, reflect_mission)."
)
RETIRED = {
    "get_bank_profile": _PROFILE_IS_CONFIG,
    "update_bank_disposition": _PROFILE_IS_CONFIG,
    "add_bank_background": _PROFILE_IS_CONFIG,
    "export_documents_sync_removed": "Exporting within one request is retired. POST to .../document-transfer/export.",
}
_EACH_TURN = ("recall_memories", "retain_memories", "reflect")


@dataclass(frozen=True, slots=True)
class Handler:
    """What serves an operation.

    Args:
        call: the endpoint.
        answer: the shape of its answer, for the served OpenAPI document.
        body: the model of its body, likewise; the endpoint reads it through `parsing.Body`.
    """

    call: Callable[..., Awaitable[Response]]
    answer: Any = None
    body: type[BaseModel] | None = None


class _Segment(Convertor[str]):
    """One path segment, percent-decoded after the split, so that an encoded slash belongs to it."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return value


def add_routes(app: FastAPI, handlers: Mapping[str, Handler]) -> None:
    """Add a route for each operation of the API, in the order of the table, and for ours.

    Routes are tried one after another. Those that agents ask at each turn are tried first: a hundred others before them
    were a twentieth of the work of such a request.
    """
    register_url_convertor("segment", _Segment())
    for method, path, operation_id, status in sorted(
        (*OPERATIONS, *EXTENSIONS), key=lambda operation: operation[2] not in _EACH_TURN
    ):
        handler = handlers.get(operation_id)
        app.add_api_route(
            path.replace("}", ":segment}"),
            handler.call if handler else _not_available,
            methods=[method],
            operation_id=operation_id,
            status_code=status,
            response_model=None,
            include_in_schema=handler is not None,
        )


async def _not_available(request: Request) -> Response:
    route = request.scope["route"]
    operation = route.operation_id if isinstance(route, APIRoute) else request.url.path
    if operation in RETIRED:
        return error_response(410, RETIRED[operation])
    return error_response(501, f"The operation '{operation}' is not available in this version of the server.")


def answer(value: Any, status: int = 200) -> Response:
    """A JSON answer from plain values; no model is built on the way out."""
    return Response(orjson.dumps(value), status, media_type="application/json")


async def answer_last(items: int, held: list[Any]) -> Response:
    """A JSON answer of the last value held, which has so many items.

    All that is held is let go where the answer is made: freeing long lists takes as long as making them. So the caller
    keeps no other reference to it.
    """

    def made() -> Response:
        response = answer(held[-1])
        held.clear()
        return response

    return await offloaded(items, made)
