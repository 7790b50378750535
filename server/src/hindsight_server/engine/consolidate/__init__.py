"""Consolidation: what many facts say together, kept as observations that rest on them."""

from hindsight_server.engine.consolidate.consolidator import Consolidator
from hindsight_server.engine.consolidate.observations import Observations
from hindsight_server.engine.consolidate.types import ConsolidatorOptions

__all__ = ["Consolidator", "ConsolidatorOptions", "Observations"]
