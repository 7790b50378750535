"""Memory as an agent hook: a plain ``agent.run()`` remembers. Needs Haystack 3."""

from .memory_hook import HindsightMemoryHook

__all__ = ["HindsightMemoryHook"]
