"""Whether the server works, what it can do, and its counters."""

from __future__ import annotations

import logging

from fastapi import Request, Response

from hindsight_server import __version__
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import Services, services
from hindsight_server.http.wire import responses as shapes

logger = logging.getLogger(__name__)
API_VERSION = "1.1.0"
_FEATURES: shapes.FeaturesInfo = {
    "observations": True,
    "mcp": False,
    "worker": True,
    "bank_config_api": True,
    "bank_llm_health": False,
    "file_upload_api": True,
    "document_export_api": False,
    "document_import_api": False,
    "audit_log": False,
    "llm_trace": False,
    "store_document_text": True,
}


_NO_STORE = {
    "status": "unhealthy",
    "database": "unavailable",
    "detail": "The data folder can't be read; the server's log has the cause.",
}


async def _store_answers(served: Services) -> bool:
    try:
        await served.store.ping()
    except Exception:  # a probe tells that something is wrong, whatever it is
        logger.exception("the store does not answer")
        return False
    return True


async def health(request: Request) -> Response:
    """200 once the store answers, else 503."""
    if not await _store_answers(services(request)):
        return answer(_NO_STORE, 503)
    return answer({"status": "healthy", "database": "connected"})


async def live(request: Request) -> Response:
    """200 while the process answers at all."""
    alive: shapes.LivenessResponse = {
        "status": "alive",
        "version": __version__,
        "uptime_seconds": round(services(request).metrics.uptime_seconds, 3),
    }
    return answer(alive)


async def ready(request: Request) -> Response:
    """200 once the store answers and the embedding model is loaded, else 503 with the reason."""
    served = services(request)
    if not await _store_answers(served):
        return answer(_NO_STORE, 503)
    if served.embedder.ready:
        return answer({"status": "ready", "database": "connected", "embedder": "loaded"})
    if served.embedder.failure is not None:
        detail = "The embedding model did not load; the server's log has the cause. Keyword search works."
        return answer({"status": "degraded", "database": "connected", "embedder": "failed", "detail": detail}, 503)
    return answer({"status": "starting", "database": "connected", "embedder": "loading"}, 503)


async def version(request: Request) -> Response:
    served = services(request)
    features: shapes.FeaturesInfo = {
        **_FEATURES,
        "file_upload_api": served.uploads.limits.enabled,
        "bank_llm_health": served.llm_health,
        "llm_trace": served.request_log.options.enabled,
    }
    said: shapes.VersionResponse = {"api_version": API_VERSION, "features": features}
    return answer(said)


async def metrics(request: Request) -> Response:
    return Response(services(request).metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


HANDLERS = {
    "health_endpoint_health_get": Handler(health),
    "get_liveness": Handler(live, shapes.LivenessResponse),
    "get_readiness": Handler(ready),
    "get_version": Handler(version, shapes.VersionResponse),
    "metrics_endpoint_metrics_get": Handler(metrics),
}
