"""Distilling: a language model reads chunks for facts, and nothing of what it says is taken unchecked.

Turns and chunks come from the built-in extractor, whose facts stay wherever the model gives none that can be kept.
"""

from hindsight_server.engine.extract.distiller import Distiller, Outage
from hindsight_server.engine.extract.types import ChunkFailure, Distilled, Dropped

__all__ = ["ChunkFailure", "Distilled", "Distiller", "Dropped", "Outage"]
