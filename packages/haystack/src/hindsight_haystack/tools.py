"""The tools under their short module path; they live in ``haystack_integrations.tools.hindsight``."""

from haystack_integrations.tools.hindsight import (
    DEFAULT_MEMORY_PROMPT,
    HindsightMemoryWrapper,
    HindsightTool,
    create_hindsight_tools,
)

__all__ = ["DEFAULT_MEMORY_PROMPT", "HindsightMemoryWrapper", "HindsightTool", "create_hindsight_tools"]
