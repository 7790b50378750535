"""Webhooks: who is told of what happens in a bank, and the telling."""

from hindsight_server.engine.webhooks.webhooks import Everywhere, WebhookChange, WebhookOptions, Webhooks

__all__ = ["Everywhere", "WebhookChange", "WebhookOptions", "Webhooks"]
