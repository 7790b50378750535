"""Long-term memory for Haystack agents, under the names of the quickstarts.

The classes themselves live in ``haystack_integrations.tools.hindsight`` and ``haystack_integrations.hooks.hindsight``,
where Haystack loads them from saved pipelines without any allow-list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .config import HindsightHaystackConfig, configure, explain, get_config, reset_config
from .errors import HindsightError
from .migration import migrate

if TYPE_CHECKING:
    from haystack_integrations.hooks.hindsight import HindsightMemoryHook, HindsightTaskHook
    from haystack_integrations.tools.hindsight import (
        DEFAULT_MEMORY_PROMPT,
        HindsightMemoryWrapper,
        create_hindsight_tools,
    )

__all__ = [
    "DEFAULT_MEMORY_PROMPT",
    "HindsightError",
    "HindsightHaystackConfig",
    "HindsightMemoryHook",
    "HindsightMemoryWrapper",
    "HindsightTaskHook",
    "__version__",
    "configure",
    "create_hindsight_tools",
    "explain",
    "get_config",
    "migrate",
    "reset_config",
]

_ELSEWHERE = {
    "DEFAULT_MEMORY_PROMPT": "haystack_integrations.tools.hindsight",
    "HindsightMemoryHook": "haystack_integrations.hooks.hindsight",
    "HindsightTaskHook": "haystack_integrations.hooks.hindsight",
    "HindsightMemoryWrapper": "haystack_integrations.tools.hindsight",
    "create_hindsight_tools": "haystack_integrations.tools.hindsight",
}


def __getattr__(name: str) -> Any:
    # Late, because those modules need this package's client and settings.
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_ELSEWHERE[name]), name)
    globals()[name] = value
    return value
