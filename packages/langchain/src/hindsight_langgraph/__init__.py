"""The names of hindsight-langgraph over :mod:`hindsight_langchain`, for code written against them.

New code should use :mod:`hindsight_langchain`. One thing differs from hindsight-langgraph on purpose: a memory call
that fails does not end the run, unless ``raise_on_error=True``.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from hindsight_langchain import __version__

from .config import HindsightLangGraphConfig, configure, get_config, reset_config
from .errors import HindsightError
from .instructions import memory_instructions
from .tools import create_hindsight_tools

if TYPE_CHECKING:
    from .nodes import create_recall_node, create_retain_node

__all__ = [
    "HindsightError",
    "HindsightLangGraphConfig",
    "__version__",
    "configure",
    "create_hindsight_tools",
    "create_recall_node",
    "create_retain_node",
    "get_config",
    "memory_instructions",
    "reset_config",
]


def __getattr__(name: str) -> Any:
    if name == "HindsightStore":
        raise ImportError(
            "there is no HindsightStore here: keys and values over a memory that searches by meaning would promise "
            "what it can't keep. See 'Moving from hindsight-langgraph' in docs/frameworks/langchain.md"
        )
    if name not in ("create_recall_node", "create_retain_node"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("langgraph") is None:
        raise ImportError(f"'{name}' requires langgraph. Install with: pip install hindsight-langgraph[langgraph]")
    from . import nodes

    return getattr(nodes, name)
