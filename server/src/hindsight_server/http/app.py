"""The application: routes, errors and the gateway, over given services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from hindsight_server.http import (
    banks,
    directives,
    documents,
    entities,
    errors,
    files,
    graph,
    health,
    knowledge,
    language,
    memories,
    mental_models,
    observations,
    openapi,
    operations,
    recall,
    reflect,
    retain,
    security,
    transfer,
    webhooks,
)
from hindsight_server.http.gateway import Gateway
from hindsight_server.http.routes import Handler, add_routes
from hindsight_server.http.services import Services

DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024
_FORM_BYTES = 4 * 1024 * 1024  # what is said of uploaded files, beside them


def all_handlers() -> dict[str, Handler]:
    """Every operation that is served, by its id in the API."""
    handlers: dict[str, Handler] = {}
    for noun in (
        health,
        retain,
        recall,
        reflect,
        directives,
        memories,
        mental_models,
        observations,
        knowledge,
        graph,
        banks,
        documents,
        entities,
        operations,
        security,
        language,
        transfer,
        files,
        webhooks,
    ):
        handlers |= noun.HANDLERS
    return handlers


def create_app(
    services: Services, *, api_key: str | None = None, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES
) -> Gateway:
    """The ASGI application. Its lifespan opens the services and closes them.

    Args:
        services: what the routes work with, not yet running.
        api_key: the key that requests must carry as ``Authorization: Bearer <key>``; None asks for none.
        max_body_bytes: a larger body is refused with 413.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with services.running():
            yield

    app = FastAPI(title="Hindsight-compatible memory server", lifespan=lifespan, redirect_slashes=False)
    app.state.services = services
    errors.install(app)
    handlers = all_handlers()
    add_routes(app, handlers)
    openapi.install(app, handlers)
    gateway = Gateway(
        app,
        services.metrics,
        api_key=api_key,
        max_body_bytes=max_body_bytes,
        admissions={"/memories/recall": services.admission, "/reflect": services.reflect_admission},
    )
    gateway.max_upload_bytes = max(max_body_bytes, services.uploads.limits.total_bytes + _FORM_BYTES)
    return gateway
