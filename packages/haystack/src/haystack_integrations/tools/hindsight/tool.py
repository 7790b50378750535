"""One memory tool, as Haystack's ``Tool``."""

from __future__ import annotations

from typing import Any

from haystack.core.serialization import generate_qualified_class_name
from haystack.tools.tool import Tool

from hindsight_adapter_core import (
    TOOL_SPECS,
    MemoryOperations,
    MemoryToolSpec,
    SettingsError,
    dump_options,
    load_options,
    open_memory,
)
from hindsight_haystack._client import PACKAGE

from .compat import NATIVE_ASYNC_TOOLS

__all__ = ["HindsightTool", "MemoryCalls"]


class MemoryCalls:
    """The functions behind the tools: each answers with the sentence that the model reads.

    Methods of an object, and not closures, so that tools can be copied and pickled.
    """

    def __init__(self, memory: MemoryOperations) -> None:
        self.memory = memory

    def retain(self, content: str) -> str:
        """Store ``content``."""
        return self.memory.answer("retain", content)

    async def aretain(self, content: str) -> str:
        """Async twin of :meth:`retain`."""
        return await self.memory.aanswer("retain", content)

    def recall(self, query: str) -> str:
        """Search for ``query``."""
        return self.memory.answer("recall", query)

    async def arecall(self, query: str) -> str:
        """Async twin of :meth:`recall`."""
        return await self.memory.aanswer("recall", query)

    def reflect(self, query: str) -> str:
        """Reason about ``query``."""
        return self.memory.answer("reflect", query)

    async def areflect(self, query: str) -> str:
        """Async twin of :meth:`reflect`."""
        return await self.memory.aanswer("reflect", query)


class HindsightTool(Tool):
    """A memory tool that saves and loads, copies and pickles, and never writes its key.

    Made by :func:`create_hindsight_tools`; loaded ones read the key from ``HINDSIGHT_API_KEY``.

    Args:
        spec: which of the three tools, with the words that the model sees.
        memory: the memory it works on.
    """

    def __init__(self, spec: MemoryToolSpec, memory: MemoryOperations) -> None:
        self.spec = spec
        self.memory = memory
        calls = MemoryCalls(memory)
        functions: dict[str, Any] = {"function": getattr(calls, spec.operation)}
        if NATIVE_ASYNC_TOOLS:
            functions["async_function"] = getattr(calls, f"a{spec.operation}")
        super().__init__(name=spec.name, description=spec.description, parameters=spec.parameters, **functions)

    def to_dict(self) -> dict[str, Any]:
        """As plain data: names, words, options, the server's address; no key."""
        data: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "backend_kwargs": dump_options(self.memory.options, hindsight_api_url=self.memory.handle.url),
        }
        if self.memory.raise_on_error:
            data["raise_on_error"] = True
        return {"type": generate_qualified_class_name(type(self)), "data": data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HindsightTool:
        """The inverse of :meth:`to_dict`, with a client of its own.

        Raises:
            SettingsError: the tool's name is not one of the three.
        """
        inner = data["data"]
        spec = next((spec for spec in TOOL_SPECS if spec.name == inner["name"]), None)
        if spec is None:
            raise SettingsError(f"no memory tool is named {inner['name']!r}")
        memory = open_memory(
            PACKAGE, load_options(inner["backend_kwargs"]), raise_on_error=inner.get("raise_on_error", False)
        )
        tool = cls(spec, memory)
        tool.description, tool.parameters = inner["description"], inner["parameters"]
        return tool

    def close(self) -> None:
        """Release the HTTP session; it opens again at the next call."""
        self.memory.close()

    async def close_async(self) -> None:
        """Async twin of :meth:`close`."""
        await self.memory.aclose()
