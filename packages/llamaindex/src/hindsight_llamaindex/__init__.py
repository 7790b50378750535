"""Hindsight memory for LlamaIndex agents.

``HindsightMemory`` remembers by itself when passed to ``agent.run(..., memory=memory)``; ``HindsightToolSpec`` and
``create_hindsight_tools`` give the agent tools to remember with. Importing this package does nothing else.
"""

from ._version import __version__
from .config import HindsightLlamaIndexConfig, configure, get_config, reset_config
from .errors import HindsightError
from .memory import HindsightMemory
from .tools import HindsightToolSpec, create_hindsight_tools

__all__ = [
    "HindsightError",
    "HindsightLlamaIndexConfig",
    "HindsightMemory",
    "HindsightToolSpec",
    "__version__",
    "configure",
    "create_hindsight_tools",
    "get_config",
    "reset_config",
]
