"""Retain: from the items of a request to stored facts."""

from hindsight_server.engine.retain.retainer import Retainer
from hindsight_server.engine.retain.types import ItemInput, RetainLimits, RetainOutcome

__all__ = ["ItemInput", "RetainLimits", "RetainOutcome", "Retainer"]
