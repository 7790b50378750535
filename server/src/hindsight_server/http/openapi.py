"""The OpenAPI document that the server serves: what it really answers, its own extensions included.

It is made when it is first asked for, so that starting does not pay for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from hindsight_server.http.health import API_VERSION
from hindsight_server.http.routes import Handler

_REFERENCE = "#/components/schemas/{model}"


def install(app: FastAPI, handlers: Mapping[str, Handler]) -> None:
    """Make `app` describe itself through this module."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = describe(app, handlers)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def describe(app: FastAPI, handlers: Mapping[str, Handler]) -> dict[str, Any]:
    """The document: FastAPI's own for paths and parameters, with bodies and answers added."""
    document = get_openapi(title=app.title, version=API_VERSION, routes=app.routes)
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for methods in document["paths"].values():
        for operation in methods.values():
            handler = handlers[operation["operationId"]]
            if handler.body is not None:
                schema = _schema(handler.body, "validation", schemas)
                operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
            if handler.answer is not None:
                success = min(operation["responses"])
                schema = _schema(handler.answer, "serialization", schemas)
                operation["responses"][success]["content"] = {"application/json": {"schema": schema}}
    return document


def _schema(kind: Any, mode: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a type; what it refers to is added to `schemas`."""
    schema = TypeAdapter(kind).json_schema(mode=mode, ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    name = schema.get("title")
    if not name or "$ref" in schema:
        return schema
    schemas[name] = schema
    return {"$ref": _REFERENCE.format(model=name)}
