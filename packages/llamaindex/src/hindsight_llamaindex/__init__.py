"""Hindsight memory for LlamaIndex agents.

``HindsightMemory`` remembers by itself when passed to ``agent.run(..., memory=memory)``; ``HindsightToolSpec`` and
``create_hindsight_tools`` give the agent tools to remember with. ``HindsightMemoryBlock`` is a block for LlamaIndex's
own ``Memory``, ``HindsightRetriever`` a retriever, ``HindsightTasks`` a memory of an agent's tasks. Importing this
package does nothing else.
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .config import HindsightLlamaIndexConfig, configure, get_config, reset_config
from .errors import HindsightError
from .memory import HindsightMemory
from .retriever import HindsightRetriever
from .tasks import HindsightTasks
from .tools import HindsightToolSpec, create_hindsight_tools

if TYPE_CHECKING:
    from .block import HindsightMemoryBlock

__all__ = [
    "HindsightError",
    "HindsightLlamaIndexConfig",
    "HindsightMemory",
    "HindsightMemoryBlock",
    "HindsightRetriever",
    "HindsightTasks",
    "HindsightToolSpec",
    "__version__",
    "configure",
    "create_hindsight_tools",
    "get_config",
    "reset_config",
]


def __getattr__(name: str) -> Any:
    if name != "HindsightMemoryBlock":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .block import HindsightMemoryBlock
    except ImportError as error:
        raise ImportError(
            "HindsightMemoryBlock needs the memory blocks of llama-index-core 0.12.37 or newer"
        ) from error
    return HindsightMemoryBlock
