"""Distilling: a language model reads chunks for facts, and nothing of what it says is taken unchecked.

Turns and chunks come from the built-in extractor, whose facts stay wherever the model gives none that can be kept. What
does it (`distiller`) is imported where there is a model only.
"""

from hindsight_server.engine.extract.types import ChunkFailure, Distilled, Dropped, Outage

__all__ = ["ChunkFailure", "Distilled", "Dropped", "Outage"]
