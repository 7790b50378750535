"""The component that writes memories."""

from .memory_writer import HindsightMemoryWriter

__all__ = ["HindsightMemoryWriter"]
