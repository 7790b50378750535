"""What differs between the Haystack versions that this package serves."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from haystack.tools.tool import Tool

__all__ = ["NATIVE_ASYNC_TOOLS", "Toolset", "replaced"]

#: True where a tool has an async function of its own (Haystack 3).
NATIVE_ASYNC_TOOLS = any(field.name == "async_function" for field in fields(Tool))

if TYPE_CHECKING:
    from haystack.tools.toolset import Toolset
else:
    try:
        from haystack.tools.toolset import Toolset
    except ImportError:

        class Toolset(list):
            """Haystack 2.12 has no toolsets, and takes a list of tools in their place."""

            def __init__(self, tools: list[Tool]) -> None:
                super().__init__(tools)


def replaced(_: object, new: object) -> object:
    """State handler that puts the new value in place of the old (older Haystacks keep theirs elsewhere)."""
    return new
