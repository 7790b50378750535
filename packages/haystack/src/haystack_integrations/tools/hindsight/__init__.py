"""Memory tools for Haystack agents, and the toolset that remembers by itself."""

from .factory import create_hindsight_tools
from .messages import DEFAULT_MEMORY_PROMPT
from .tool import HindsightTool
from .toolset import HindsightMemoryWrapper

__all__ = ["DEFAULT_MEMORY_PROMPT", "HindsightMemoryWrapper", "HindsightTool", "create_hindsight_tools"]
