"""One agent run with an enriched system prompt, on every Haystack that has an Agent.

* An Agent with hooks (Haystack 3) renders its system prompt as a template when a run begins, and takes no other one.
  A hook of this run alone appends the memory block afterwards. The hook sits on a shallow copy of the agent, so that
  runs side by side never see each other's block.
* An Agent whose ``run`` takes ``system_prompt`` gets it, as does anything that merely behaves like an agent.
* An Agent with neither (Haystack 2.12) is run as a shallow copy with the prompt in place.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from dataclasses import dataclass
from typing import Any

from .compat import replaced
from .messages import inject, restore

__all__ = ["PreparedRun", "prepare_run"]


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """An agent and what it is to be run with, besides the caller's own arguments."""

    agent: Any
    arguments: dict[str, Any]
    prompt: str | None = None
    base: str | None = None

    def run(self, messages: list[Any], **arguments: Any) -> dict[str, Any]:
        """Run the agent; the result is without the injected block."""
        return self._finish(self.agent.run(messages=messages, **self.arguments, **arguments))

    async def run_async(self, messages: list[Any], **arguments: Any) -> dict[str, Any]:
        """Async twin of :meth:`run`; in a thread where the agent has no ``run_async`` (Haystack 2.12)."""
        if not hasattr(self.agent, "run_async"):
            return await asyncio.to_thread(self.run, messages, **arguments)
        return self._finish(await self.agent.run_async(messages=messages, **self.arguments, **arguments))

    def _finish(self, result: dict[str, Any]) -> dict[str, Any]:
        messages = result.get("messages") if isinstance(result, dict) else None
        if isinstance(messages, list):
            result["messages"] = restore(messages, prompt=self.prompt, base=self.base)
        return result


class _InjectOnce:
    """A ``before_run`` hook that lives for one run."""

    def __init__(self, block: str | None, base: str | None, own_prompt: int) -> None:
        self._block = block
        self._base = base
        self._own_prompt = own_prompt

    def run(self, state: Any) -> None:
        changed = inject(state.get("messages"), self._block, own_prompt=self._own_prompt, base=self._base)
        state.set("messages", changed, handler_override=replaced)

    async def run_async(self, state: Any) -> None:
        self.run(state)


def _with_hook(agent: Any, hook: _InjectOnce) -> Any:
    twin = copy.copy(agent)
    twin.hooks = {**agent.hooks, "before_run": [*agent.hooks.get("before_run", ()), hook]}
    return twin


def prepare_run(agent: Any, *, system_prompt: str | None, block: str | None) -> PreparedRun:
    """How to run ``agent`` with ``system_prompt`` (``None``: its own) and the memory block behind it."""
    # Late: the agent's modules are heavy, and whoever runs an agent has them already.
    from haystack.components.agents import Agent

    if system_prompt is None and block is None:
        return PreparedRun(agent=agent, arguments={})
    own = system_prompt if system_prompt is not None else getattr(agent, "system_prompt", None)
    if isinstance(agent, Agent) and hasattr(agent, "hooks"):
        # Its system prompt renders to exactly one message, in front of all others.
        hook = _InjectOnce(block, system_prompt, own_prompt=0 if agent.system_prompt is None else 1)
        return PreparedRun(agent=_with_hook(agent, hook), arguments={})
    prompt = "\n\n".join(part for part in (own, block) if part)
    if isinstance(agent, Agent) and "system_prompt" not in inspect.signature(agent.run).parameters:
        twin = copy.copy(agent)
        twin.system_prompt = prompt
        return PreparedRun(agent=twin, arguments={}, prompt=prompt, base=own)
    return PreparedRun(agent=agent, arguments={"system_prompt": prompt}, prompt=prompt, base=own)


def remembers_by_hook(agent: Any) -> bool:
    """True when the agent has a memory hook of its own, so that nothing is recalled or stored twice."""
    hooks = getattr(agent, "hooks", None)
    if not isinstance(hooks, dict):
        return False
    return any(getattr(hook, "is_hindsight_memory", False) for point in hooks.values() for hook in point)
