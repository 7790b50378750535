"""How receivers of webhooks are called: one request to an address that was looked at first."""

from hindsight_server.adapters.webhooks.caller import HttpCaller
from hindsight_server.adapters.webhooks.resolving import SystemResolver

__all__ = ["HttpCaller", "SystemResolver"]
