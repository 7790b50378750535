"""The memory hook: recalls before a run, stores after it."""

from __future__ import annotations

from typing import Any

from haystack.core.serialization import default_from_dict, default_to_dict
from haystack.dataclasses import ChatRole

from haystack_integrations.tools.hindsight.automatic import AutomaticMemory
from haystack_integrations.tools.hindsight.compat import replaced
from haystack_integrations.tools.hindsight.connected import Connected
from haystack_integrations.tools.hindsight.factory import check_options, memory_from
from haystack_integrations.tools.hindsight.messages import DEFAULT_MEMORY_PROMPT, inject, restore
from haystack_integrations.tools.hindsight.saving import dump_key, dump_memory, load_key
from haystack_integrations.tools.hindsight.scope import RunScope, ScopedMemories
from hindsight_adapter_core import load_options

__all__ = ["HindsightMemoryHook"]


_OWN_ARGUMENTS = (
    "bank_id_from",
    "conversation_id_from",
    "tags_from",
    "auto_recall",
    "auto_retain",
    "max_recall_results",
    "memory_prompt_template",
)


class HindsightMemoryHook(Connected):
    """Register one object at both points, and plain ``agent.run()`` remembers.

    Bank, conversation and tags of a run are looked up in ``hook_context`` and then in the agent's state, under the
    names given here; the bank falls back to ``bank_id``. A run that gives a blank bank goes without memory.

    Args:
        bank_id: the bank of runs that name none.
        bank_id_from: name under which a run carries its bank.
        conversation_id_from: name under which a run carries its conversation.
        tags_from: name under which a run carries tags: added to what it stores, and recalled by.
        auto_recall, auto_retain, max_recall_results, memory_prompt_template: as in the wrapper; both are on.
        **options: ``client``, ``hindsight_api_url``, ``api_key`` and the memory options of
            :func:`haystack_integrations.tools.hindsight.create_hindsight_tools`.

    Raises:
        SettingsError: an unknown option, or a value out of its range.

    Example::

        memory = HindsightMemoryHook(hindsight_api_url="http://localhost:8888")
        agent = Agent(chat_generator=..., hooks={"before_run": [memory], "after_run": [memory]})
        agent.run(messages=[...], hook_context={"bank_id": "user-123"})
    """

    allowed_hook_points = ("before_run", "after_run")
    is_hindsight_memory = True

    def __init__(  # noqa: PLR0913 - keyword-only settings of one object
        self,
        *,
        bank_id: str | None = None,
        bank_id_from: str = "bank_id",
        conversation_id_from: str = "conversation_id",
        tags_from: str = "memory_tags",
        auto_recall: bool = True,
        auto_retain: bool = True,
        max_recall_results: int = 10,
        memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
        **options: Any,
    ) -> None:
        check_options(type(self).__name__, options)
        self.bank_id_from = bank_id_from
        self.conversation_id_from = conversation_id_from
        self.tags_from = tags_from
        self._key = dump_key(options.get("api_key"))
        self._operations = memory_from({"bank_id": bank_id, **options})
        self._scoped = ScopedMemories(self._operations)
        self._automatic = AutomaticMemory(
            scoped=self._scoped,
            auto_recall=auto_recall,
            auto_retain=auto_retain,
            max_recall_results=max_recall_results,
            memory_prompt_template=memory_prompt_template,
        )

    def run(self, state: Any) -> None:
        """Called by the agent at either point; which one it is shows in the state."""
        messages = state.data["messages"]
        if not _is_over(state):
            self._put(state, self._automatic.recall_block(messages, self._scope(state)))
            return
        self._take(state)
        self._automatic.store(state.data["messages"], self._scope(state))

    async def run_async(self, state: Any) -> None:
        """Async twin of :meth:`run`."""
        messages = state.data["messages"]
        if not _is_over(state):
            self._put(state, await self._automatic.recall_block_async(messages, self._scope(state)))
            return
        self._take(state)
        await self._automatic.store_async(state.data["messages"], self._scope(state))

    def _scope(self, state: Any) -> RunScope:
        names = {"bank_id": self.bank_id_from, "tags": self.tags_from, "conversation_id": self.conversation_id_from}
        return RunScope.found_in(names, state.data.get("hook_context") or {}, state.data)

    @staticmethod
    def _put(state: Any, block: str | None) -> None:
        if block is not None:
            messages = state.data["messages"]
            own_prompt = 1 if messages and messages[0].is_from(ChatRole.SYSTEM) else 0
            changed = inject(messages, block, own_prompt=own_prompt)
            state.set("messages", changed, handler_override=replaced)

    @staticmethod
    def _take(state: Any) -> None:
        state.set("messages", restore(state.data["messages"]), handler_override=replaced)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key."""
        options = dump_memory(self.memory)
        if self._key:
            options["api_key"] = self._key
        dumped: dict[str, Any] = default_to_dict(
            self,
            bank_id_from=self.bank_id_from,
            conversation_id_from=self.conversation_id_from,
            tags_from=self.tags_from,
            auto_recall=self._automatic.auto_recall,
            auto_retain=self._automatic.auto_retain,
            max_recall_results=self._automatic.max_recall_results,
            memory_prompt_template=self._automatic.memory_prompt_template,
            **options,
        )
        return dumped

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HindsightMemoryHook:
        """The inverse of :meth:`to_dict`; the key is read from ``HINDSIGHT_API_KEY``."""
        parameters = dict(data["init_parameters"])
        arguments = {name: parameters.pop(name) for name in _OWN_ARGUMENTS if name in parameters}
        arguments["api_key"] = load_key(parameters.pop("api_key", None))
        loaded: HindsightMemoryHook = default_from_dict(
            cls, {**data, "init_parameters": {**vars(load_options(parameters)), **arguments}}
        )
        return loaded


def _is_over(state: Any) -> bool:
    # The agent sets a reason when it stops, and only then; a hook may have stopped it before the first step.
    return state.data.get("exit_reason") is not None
