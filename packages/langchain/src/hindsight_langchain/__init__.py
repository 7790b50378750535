"""Hindsight memory for LangChain agents and LangGraph graphs.

``HindsightMiddleware`` makes an agent remember by itself; ``create_hindsight_tools`` gives it tools to remember with;
``create_recall_node`` and ``create_retain_node`` do it in a graph of your own; ``HindsightRetriever`` searches a bank;
``HindsightChatMessageHistory`` keeps a session's messages in one;
``memory_instructions`` writes prompts that carry memories. Importing this package does nothing else; the middleware
needs ``langchain`` and is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .config import HindsightLangChainConfig, configure, get_config, reset_config
from .errors import HindsightError
from .history import HindsightChatMessageHistory
from .instructions import memory_instructions
from .nodes import create_recall_node, create_retain_node
from .retriever import HindsightRetriever
from .run_context import RunContext
from .tools import HindsightTool, create_hindsight_tools

if TYPE_CHECKING:
    from .middleware import HindsightMiddleware
    from .tasks import HindsightTaskMiddleware

__all__ = [
    "HindsightChatMessageHistory",
    "HindsightError",
    "HindsightLangChainConfig",
    "HindsightMiddleware",
    "HindsightRetriever",
    "HindsightTaskMiddleware",
    "HindsightTool",
    "RunContext",
    "__version__",
    "configure",
    "create_hindsight_tools",
    "create_recall_node",
    "create_retain_node",
    "get_config",
    "memory_instructions",
    "reset_config",
]


_NEED_AGENTS = {"HindsightMiddleware": ".middleware", "HindsightTaskMiddleware": ".tasks"}


def __getattr__(name: str) -> Any:
    if name not in _NEED_AGENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_NEED_AGENTS[name], __name__), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langchain", "langgraph"):
            raise
        raise ImportError(
            f"{name!r} requires langchain 1.1 or later. Install with: pip install 'langchain>=1.1,<2'"
        ) from error
