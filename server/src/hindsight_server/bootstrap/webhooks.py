"""The part of `bootstrap` that is about webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_server.engine.webhooks import Everywhere, WebhookOptions, Webhooks

if TYPE_CHECKING:
    from hindsight_server.http.metrics import Metrics
    from hindsight_server.ports.clock import Clock
    from hindsight_server.ports.store import Store
    from hindsight_server.ports.webhooks import Caller
    from hindsight_server.webhook_settings import WebhookSettings


def make_webhooks(settings: WebhookSettings, store: Store, clock: Clock, metrics: Metrics) -> Webhooks:
    """The use cases; what calls receivers is made, and loaded, for the first webhook."""
    allowed = settings.allowed()

    def make_caller() -> Caller:
        from hindsight_server.adapters.webhooks import HttpCaller

        return HttpCaller(allowed)

    everywhere = None
    if settings.url is not None:
        everywhere = Everywhere(url=settings.url, secret=settings.secret, event_types=settings.types())
    options = WebhookOptions(
        allowed=allowed,
        everywhere=everywhere,
        keep_answers=settings.expose_response_body,
        on_attempt=metrics.told,
    )
    return Webhooks(store, clock, make_caller, options)
