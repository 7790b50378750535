"""The component that retrieves memories."""

from .memory_retriever import HindsightMemoryRetriever

__all__ = ["HindsightMemoryRetriever"]
