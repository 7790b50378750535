"""Which agent asks a memory for messages, as far as it matters where recalled memories go."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

__all__ = ["caller_takes_system_message"]

#: Frames between an agent's step and a memory's ``aget``: one, and a few for a memory that wraps ours.
_FRAMES = 16
_AGENT_MODULE = "llama_index.core.agent.workflow"


def caller_takes_system_message() -> bool:
    """True when an agent is asking that takes a leading system message for its own prompt and throws it away.

    ``ReActAgent`` removes the first message when it is a system message, and ``CodeActAgent`` overwrites it, each in
    the belief that it is the agent's ``system_prompt``. That is right when the agent has one; without one it hits
    the memories. The framework hands a memory nothing that tells who asks, so the calling step is found on the
    stack: a coroutine that awaits another stands there like any caller. Only ``FunctionAgent`` is known to leave the
    first message alone; other kinds of agent without a ``system_prompt`` are taken to be like ReAct, for the other
    place works with all of them. In an ``AgentWorkflow`` one such agent decides, since any may be handed the turn.
    """
    module = sys.modules.get(_AGENT_MODULE)
    if module is None:  # no agent can exist yet
        return False
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return False
        agents = _agents_of(frame.f_locals.get("self"), module)
        if agents:
            return any(not one.system_prompt and not isinstance(one, module.FunctionAgent) for one in agents)
        frame = frame.f_back
    return False


def _agents_of(candidate: Any, module: Any) -> list[Any]:
    if isinstance(candidate, module.BaseWorkflowAgent):
        return [candidate]
    if isinstance(candidate, module.AgentWorkflow):
        return list(candidate.agents.values())
    return []
