"""One memory tool, as Haystack's ``Tool``."""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections.abc import Mapping
from typing import Any

from haystack.core.serialization import generate_qualified_class_name
from haystack.tools.tool import Tool

from hindsight_adapter_core import (
    TOOL_SPECS,
    MemoryOperations,
    MemoryToolSpec,
    Operation,
    SettingsError,
    describe_failure,
    load_options,
    open_memory,
)
from hindsight_haystack._client import PACKAGE

from .compat import NATIVE_ASYNC_TOOLS
from .connected import Connected
from .saving import dump_key, dump_memory, key_text, load_key
from .scope import RunScope, ScopedMemories, check_inputs_from_state

__all__ = ["HindsightTool", "MemoryCalls"]


class MemoryCalls:
    """The functions behind the tools: each answers with the sentence that the model reads.

    Methods of an object, and not closures, so that tools can be copied and pickled.

    Args:
        memories: the memory.
        scope: what the run says of it.
    """

    def __init__(self, memories: ScopedMemories, scope: RunScope | None = None) -> None:
        self.memories = memories
        self.scope = scope or RunScope()

    def retain(self, content: str) -> str:
        """Store ``content``."""
        return self._answer("retain", content)

    async def aretain(self, content: str) -> str:
        """Async twin of :meth:`retain`."""
        return await self._aanswer("retain", content)

    def recall(self, query: str) -> str:
        """Search for ``query``."""
        return self._answer("recall", query)

    async def arecall(self, query: str) -> str:
        """Async twin of :meth:`recall`."""
        return await self._aanswer("recall", query)

    def reflect(self, query: str) -> str:
        """Reason about ``query``."""
        return self._answer("reflect", query)

    async def areflect(self, query: str) -> str:
        """Async twin of :meth:`reflect`."""
        return await self._aanswer("reflect", query)

    def _answer(self, operation: Operation, text: str) -> str:
        try:
            memory, bank_id = self._resolved()
        except SettingsError as error:
            return self._refusal(operation, error)
        return memory.answer(operation, text, bank_id=bank_id)

    async def _aanswer(self, operation: Operation, text: str) -> str:
        try:
            memory, bank_id = self._resolved()
        except SettingsError as error:
            return self._refusal(operation, error)
        return await memory.aanswer(operation, text, bank_id=bank_id)

    def _resolved(self) -> tuple[MemoryOperations, str | None]:
        return self.memories.tagged(self.scope.tag_names()), self.scope.bank()

    def _refusal(self, operation: Operation, error: SettingsError) -> str:
        failure = describe_failure(operation, error)
        if self.memories.memory.raise_on_error:
            raise failure
        return str(failure)


class HindsightTool(Connected, Tool):
    """A memory tool that saves, loads, copies and pickles, and never writes its key.

    Made by :func:`create_hindsight_tools`; loaded ones read the key from ``HINDSIGHT_API_KEY``, or from the variables
    of the ``Secret`` that they were given.

    Bank and tags that come from the agent's state reach the function under names that are drawn anew for every tool
    and never shown to the model: Haystack lets a model's arguments win over the state's, and a model must not choose
    whose memory it reads.

    Args:
        spec: which of the three tools, with the words that the model sees.
        memories: the memory it works on, or a :class:`MemoryOperations`.
        inputs_from_state: agent state keys for ``"bank_id"`` and ``"tags"``.
        api_key: as given, to be dumped when it is a ``Secret`` with variables of its own.
    """

    def __init__(
        self,
        spec: MemoryToolSpec,
        memories: ScopedMemories | MemoryOperations,
        *,
        inputs_from_state: Mapping[str, str] | None = None,
        api_key: Any = None,
    ) -> None:
        self.spec = spec
        self.memories = memories if isinstance(memories, ScopedMemories) else ScopedMemories(memories)
        self._operations = self.memories.memory
        self._key = dump_key(api_key)
        self._state_keys = check_inputs_from_state(inputs_from_state)
        super().__init__(
            name=spec.name, description=spec.description, parameters=spec.parameters, **self._functions(RunScope())
        )
        # Set afterwards: Haystack checks these names against the function's parameters, where they must not be.
        self._hidden = {name: f"run_{secrets.token_hex(8)}" for name in self._state_keys.values()}
        if self._state_keys:
            self.inputs_from_state = {key: self._hidden[name] for key, name in self._state_keys.items()}

    def invoke(self, **arguments: Any) -> Any:
        """Run the tool with the model's argument, and with what Haystack took from the state."""
        tool, words = self._for_run(arguments)
        return Tool.invoke(tool, **words)

    async def invoke_async(self, **arguments: Any) -> Any:
        """Async twin of :meth:`invoke`; in a thread on Haystack 2, whose tools have no async functions."""
        if not NATIVE_ASYNC_TOOLS:
            return await asyncio.to_thread(self.invoke, **arguments)
        tool, words = self._for_run(arguments)
        return await Tool.invoke_async(tool, **words)

    def _for_run(self, arguments: dict[str, Any]) -> tuple[HindsightTool, dict[str, Any]]:
        if not self._state_keys:
            return self, arguments
        scope = RunScope(**{name: arguments.pop(hidden, None) for name, hidden in self._hidden.items()})
        tool = copy.copy(self)
        for name, function in self._functions(scope).items():
            setattr(tool, name, function)
        return tool, arguments

    def _functions(self, scope: RunScope) -> dict[str, Any]:
        calls = MemoryCalls(self.memories, scope)
        functions: dict[str, Any] = {"function": getattr(calls, self.spec.operation)}
        if NATIVE_ASYNC_TOOLS:
            functions["async_function"] = getattr(calls, f"a{self.spec.operation}")
        return functions

    def to_dict(self) -> dict[str, Any]:
        """As plain data: names, words, options, the server's address; no key."""
        data: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "backend_kwargs": dump_memory(self.memory),
        }
        if self.memory.raise_on_error:
            data["raise_on_error"] = True
        if self._state_keys:
            data["inputs_from_state"] = dict(self._state_keys)
        if self._key:
            data["api_key"] = self._key
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
        key = load_key(inner.get("api_key"))
        memory = open_memory(
            PACKAGE,
            load_options(inner["backend_kwargs"]),
            api_key=key_text(key),
            raise_on_error=inner.get("raise_on_error", False),
        )
        tool = cls(spec, memory, inputs_from_state=inner.get("inputs_from_state"), api_key=key)
        tool.description, tool.parameters = inner["description"], inner["parameters"]
        return tool
