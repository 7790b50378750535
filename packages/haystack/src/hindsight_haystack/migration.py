"""Saved pipelines of the earlier hindsight-haystack 0.1.1, made loadable."""

from __future__ import annotations

__all__ = ["migrate"]

_RENAMED = {
    "hindsight_haystack.tools._HindsightTool": "haystack_integrations.tools.hindsight.tool.HindsightTool",
    "hindsight_haystack.tools.HindsightMemoryWrapper": (
        "haystack_integrations.tools.hindsight.toolset.HindsightMemoryWrapper"
    ),
}


def migrate(text: str) -> str:
    """Rewrite the class names in a saved pipeline or agent (YAML or JSON text).

    hindsight-haystack 0.1.1 wrote names that Haystack 3 refuses to import. The names written since are accepted as
    they are; text without old names comes back unchanged.

    Example:
        >>> migrate("type: hindsight_haystack.tools._HindsightTool")
        'type: haystack_integrations.tools.hindsight.tool.HindsightTool'
    """
    for old, new in _RENAMED.items():
        text = text.replace(old, new)
    return text
