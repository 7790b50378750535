"""Whether the server works, what it can do, and its counters."""

from __future__ import annotations

from fastapi import Request, Response

from hindsight_server.http import probes
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire.responses import health as shapes

API_VERSION = "1.1.0"
_FEATURES: shapes.FeaturesInfo = {
    "observations": True,
    "mcp": False,
    "worker": True,
    "bank_config_api": True,
    "bank_llm_health": False,
    "file_upload_api": True,
    "document_export_api": True,
    "document_import_api": True,
    "audit_log": False,
    "llm_trace": False,
    "store_document_text": True,
}


async def health(request: Request) -> Response:
    return _said(await probes.health(services(request).store))


async def live(request: Request) -> Response:
    return _said(probes.liveness(services(request).metrics.uptime_seconds))


async def ready(request: Request) -> Response:
    served = services(request)
    return _said(await probes.readiness(served.store, served.embedder))


def _said(said: probes.Said) -> Response:
    status, body = said
    return answer(body, status)


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
