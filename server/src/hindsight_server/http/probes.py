"""What the probes answer: status and body. It needs the store only, so that it can be said before all else is there."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from hindsight_server import __version__

if TYPE_CHECKING:
    from hindsight_server.ports.embedder import Embedder
    from hindsight_server.ports.store import Store

Said = tuple[int, dict[str, Any]]

logger = logging.getLogger(__name__)
_NO_STORE = {
    "status": "unhealthy",
    "database": "unavailable",
    "detail": "The data folder can't be read; the server's log has the cause.",
}


async def health(store: Store) -> Said:
    """200 once the store answers, else 503."""
    if not await _answers(store):
        return 503, _NO_STORE
    return 200, {"status": "healthy", "database": "connected"}


async def readiness(store: Store, embedder: Embedder | None) -> Said:
    """200 once the store answers and the embedding model is loaded, else 503 with the reason.

    Args:
        embedder: None while there is none yet.
    """
    if not await _answers(store):
        return 503, _NO_STORE
    if embedder is not None and embedder.ready:
        return 200, {"status": "ready", "database": "connected", "embedder": "loaded"}
    if embedder is not None and embedder.failure is not None:
        detail = "The embedding model did not load; the server's log has the cause. Keyword search works."
        return 503, {"status": "degraded", "database": "connected", "embedder": "failed", "detail": detail}
    return 503, {"status": "starting", "database": "connected", "embedder": "loading"}


def liveness(uptime_seconds: float) -> Said:
    """200 while the process answers at all."""
    return 200, {"status": "alive", "version": __version__, "uptime_seconds": round(uptime_seconds, 3)}


async def _answers(store: Store) -> bool:
    try:
        await store.ping()
    except Exception:  # a probe tells that something is wrong, whatever it is
        logger.exception("the store does not answer")
        return False
    return True
