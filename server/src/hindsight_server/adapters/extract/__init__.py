"""Extraction of facts without a model."""

from hindsight_server.adapters.extract.builtin import BuiltinExtractor

__all__ = ["BuiltinExtractor"]
