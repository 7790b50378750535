"""A memory store over a Hindsight server, and its filters."""

from .memory_store import HindsightMemoryStore

__all__ = ["HindsightMemoryStore"]
