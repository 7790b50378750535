"""Memory as an agent hook: a plain ``agent.run()`` remembers. Needs Haystack 3."""

from .memory_hook import HindsightMemoryHook
from .task_hook import HindsightTaskHook

__all__ = ["HindsightMemoryHook", "HindsightTaskHook"]
