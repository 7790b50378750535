"""The toolset that recalls before a run and stores after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from haystack.core.serialization import generate_qualified_class_name
from haystack.dataclasses import ChatMessage

from hindsight_adapter_core import Deadlines, DeliveryOptions, load_options

from .automatic import AutomaticMemory
from .compat import Toolset
from .connected import Connected
from .factory import build_tools, memory_from
from .messages import DEFAULT_MEMORY_PROMPT
from .runs import prepare_run, remembers_by_hook
from .saving import dump_key, dump_memory, load_key
from .scope import RunScope, ScopedMemories, check_inputs_from_state

__all__ = ["HindsightMemoryWrapper"]

_OWN_ARGUMENTS = (
    "include_retain",
    "include_recall",
    "include_reflect",
    "auto_recall",
    "auto_retain",
    "max_recall_results",
    "memory_prompt_template",
)


class HindsightMemoryWrapper(Connected, Toolset):
    """The three memory tools, plus memory that works by itself around a run.

    Give it to an agent as ``tools`` and call ``wrapper.run(agent, messages=...)`` instead of ``agent.run(...)``:
    with ``auto_recall`` the memories that fit the last user text are appended to the system prompt of that run, with
    ``auto_retain`` what is new in the conversation is stored afterwards. The tools stay usable in between.

    Arguments are those of :func:`create_hindsight_tools`, and:

    Args:
        auto_recall: recall before each run.
        auto_retain: store after each run.
        max_recall_results: how many memories a prompt gets at most.
        memory_prompt_template: what surrounds them; must hold ``{memories}``.

    Raises:
        SettingsError: a value is out of its range, or the template lacks ``{memories}``.

    Example::

        toolset = HindsightMemoryWrapper(bank_id="user-123", auto_recall=True, auto_retain=True)
        agent = Agent(chat_generator=..., tools=toolset, system_prompt="You are helpful.")
        result = toolset.run(agent, messages=[ChatMessage.from_user("I prefer dark mode")])
    """

    def __init__(  # noqa: PLR0913 - the documented signature
        self,
        *,
        bank_id: str | None,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: Any = None,
        budget: str | None = None,
        max_tokens: int | None = None,
        tags: list[str] | None = None,
        recall_tags: list[str] | None = None,
        recall_tags_match: str | None = None,
        retain_metadata: dict[str, str] | None = None,
        retain_document_id: str | None = None,
        retain_context: str | None = None,
        recall_types: list[str] | None = None,
        recall_include_entities: bool = False,
        reflect_context: str | None = None,
        reflect_max_tokens: int | None = None,
        reflect_response_schema: dict[str, Any] | None = None,
        reflect_tags: list[str] | None = None,
        reflect_tags_match: str | None = None,
        mission: str | None = None,
        include_retain: bool = True,
        include_recall: bool = True,
        include_reflect: bool = True,
        auto_recall: bool = False,
        auto_retain: bool = False,
        max_recall_results: int = 10,
        memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
        raise_on_error: bool = False,
        retain_async: bool = False,
        source_tag: bool = False,
        tag_groups: list[dict[str, Any]] | None = None,
        min_scores: dict[str, float] | None = None,
        deadlines: Deadlines | None = None,
        delivery: DeliveryOptions | None = None,
        inputs_from_state: Mapping[str, str] | None = None,
    ) -> None:
        arguments = dict(locals())
        self._arguments = {name: arguments[name] for name in _OWN_ARGUMENTS}
        self._state_keys = check_inputs_from_state(inputs_from_state)
        self._key = dump_key(api_key)
        self._operations = memory_from(arguments)
        self._scoped = ScopedMemories(self._operations)
        self._automatic = AutomaticMemory(
            scoped=self._scoped,
            auto_recall=auto_recall,
            auto_retain=auto_retain,
            max_recall_results=max_recall_results,
            memory_prompt_template=memory_prompt_template,
        )
        super().__init__(tools=list(build_tools(self._scoped, arguments)))

    def run(
        self,
        agent: Any,
        *,
        messages: list[ChatMessage],
        system_prompt: str | None = None,
        conversation_id: str | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run ``agent`` with memory before and after.

        Memory failures are logged; the run goes on without.

        Args:
            agent: a Haystack ``Agent``.
            messages: passed on.
            system_prompt: base prompt of this run, taken literally; default the agent's own.
            conversation_id: which conversation this is, for storing; also its document id. By default everything
                that this toolset stores is one conversation.
            **kwargs: passed on. Those that are state keys of ``inputs_from_state`` also say which bank and tags this
                run recalls from and stores with.

        Returns:
            What ``agent.run`` returns; the memory block is not among its messages.
        """
        by_hook = remembers_by_hook(agent)
        scope = self._scope(conversation_id, kwargs)
        block = None if by_hook else self._automatic.recall_block(messages, scope)
        prepared = prepare_run(agent, system_prompt=system_prompt, block=block)
        result = prepared.run(messages, **kwargs)
        if not by_hook:
            self._automatic.store(_conversation(messages, result), scope)
        return result

    async def run_async(
        self,
        agent: Any,
        *,
        messages: list[ChatMessage],
        system_prompt: str | None = None,
        conversation_id: str | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Async twin of :meth:`run`; the caller's loop is never blocked."""
        by_hook = remembers_by_hook(agent)
        scope = self._scope(conversation_id, kwargs)
        block = None if by_hook else await self._automatic.recall_block_async(messages, scope)
        prepared = prepare_run(agent, system_prompt=system_prompt, block=block)
        result = await prepared.run_async(messages, **kwargs)
        if not by_hook:
            await self._automatic.store_async(_conversation(messages, result), scope)
        return result

    def _scope(self, conversation_id: str | None, arguments: Mapping[str, Any]) -> RunScope:
        names = {name: key for key, name in self._state_keys.items()}
        return replace(RunScope.found_in(names, arguments), conversation_id=conversation_id)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key."""
        data: dict[str, Any] = {
            "backend_kwargs": dump_memory(self.memory),
            **self._arguments,
        }
        if self.memory.raise_on_error:
            data["raise_on_error"] = True
        if self._state_keys:
            data["inputs_from_state"] = dict(self._state_keys)
        if self._key:
            data["api_key"] = self._key
        return {"type": generate_qualified_class_name(type(self)), "data": data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HindsightMemoryWrapper:
        """The inverse of :meth:`to_dict`; the key is read from ``HINDSIGHT_API_KEY``.

        Raises:
            SettingsError: an unknown option or a value out of range.
        """
        inner = dict(data["data"])
        options = load_options(inner.pop("backend_kwargs"))
        return cls(**vars(options), **{**inner, "api_key": load_key(inner.get("api_key"))})


def _conversation(messages: list[ChatMessage], result: Any) -> list[ChatMessage]:
    if not isinstance(result, dict):
        return list(messages)
    # Haystack 2.12 names no last message.
    last = result.get("last_message") or next(reversed(result.get("messages") or ()), None)
    return [*messages, last] if isinstance(last, ChatMessage) else list(messages)
