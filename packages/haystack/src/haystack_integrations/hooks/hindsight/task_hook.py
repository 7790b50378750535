"""The task hook: an agent remembers its tasks, what its tools did and how they ended."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from haystack.core.serialization import default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ChatRole, ToolCallResult

from haystack_integrations.tools.hindsight.compat import replaced
from haystack_integrations.tools.hindsight.connected import Connected
from haystack_integrations.tools.hindsight.factory import check_options, memory_from
from haystack_integrations.tools.hindsight.messages import inject, last_user_text, message_text, restore
from haystack_integrations.tools.hindsight.saving import dump_key, dump_memory, load_key
from hindsight_adapter_core import SettingsError, load_options
from hindsight_adapter_core.tasks import TaskMemory, TaskOptions, TaskRun, TaskRuns

__all__ = ["HindsightTaskHook"]

_OWN_ARGUMENTS = ("user_id", "user_id_from", "task_id_from", "snapshot", "task_options")
#: Options that are functions or moments, which no dump can hold.
_NOT_SAVED = ("summarize", "clock", "window", "time_limit")


class HindsightTaskHook(Connected):
    """Register one object at three points, and every ``agent.run()`` is remembered as a task.

    When a run begins, the user's words start a task, and what is known of earlier tasks is appended to the system
    prompt of that run as a snapshot. Each tool that answers is stored as success or failure, the assistant's answer
    behind them, and the task is closed with its summary.

    User and task of a run are looked up in ``hook_context`` and then in the agent's state, under the names given
    here. A run that names a task is a part of it; the task goes on until the user ends it ("done, thanks"),
    :meth:`memory_of` is told to, or two hours have passed in silence. Nothing that fails here reaches the agent.

    Args:
        bank_id: the bank of all tasks; default ``HINDSIGHT_BANK_ID``. Users share it and see their own tasks only.
        user_id: of runs that name none.
        user_id_from, task_id_from: names under which a run carries its user and its task.
        snapshot: show the model what is known of earlier tasks.
        task_options: see :class:`hindsight_adapter_core.tasks.TaskOptions`.
        **options: ``client``, ``hindsight_api_url``, ``api_key`` and the memory options of
            :func:`haystack_integrations.tools.hindsight.create_hindsight_tools`.

    Raises:
        SettingsError: an unknown option, or a value out of its range.

    Example::

        tasks = HindsightTaskHook(bank_id="tasks")
        agent = Agent(
            chat_generator=..., tools=[deploy],
            hooks={"before_run": [tasks], "after_tool": [tasks], "after_run": [tasks]},
        )
        agent.run(messages=[ChatMessage.from_user("Deploy flask v2.3")], hook_context={"user_id": "ann"})
    """

    allowed_hook_points = ("before_run", "after_tool", "after_run")

    def __init__(
        self,
        *,
        bank_id: str | None = None,
        user_id: str | None = None,
        user_id_from: str = "user_id",
        task_id_from: str = "task_id",
        snapshot: bool = True,
        task_options: TaskOptions | None = None,
        **options: Any,
    ) -> None:
        check_options(type(self).__name__, options)
        self.user_id_from = user_id_from
        self.task_id_from = task_id_from
        self._key = dump_key(options.get("api_key"))
        self._operations = memory_from({"bank_id": bank_id, **options})
        self._runs = TaskRuns(self._operations, user_id=user_id, options=task_options, snapshot=snapshot)
        self._going: weakref.WeakKeyDictionary[Any, TaskRun | None] = weakref.WeakKeyDictionary()

    def memory_of(self, user_id: str | None = None) -> TaskMemory:
        """The task memory of a user: to search it, or to end a task."""
        return self._runs.memory_of(user_id)

    def run(self, state: Any) -> None:
        """Called by the agent at each point; which one it is shows in the state."""
        messages = state.data["messages"]
        if state not in self._going:
            self._begun(state, self._runs.begin(last_user_text(messages) or "", **self._names(state)))
        elif state.data.get("exit_reason") is None:
            for name, output, failed in _tool_results(messages):
                self._runs.tool(self._going[state], name, output, failed=failed)
        else:
            self._runs.finish(self._over(state), _answer(state.data["messages"]))

    async def run_async(self, state: Any) -> None:
        """Async twin of :meth:`run`."""
        messages = state.data["messages"]
        if state not in self._going:
            self._begun(state, await self._runs.abegin(last_user_text(messages) or "", **self._names(state)))
        elif state.data.get("exit_reason") is None:
            for name, output, failed in _tool_results(messages):
                await self._runs.atool(self._going[state], name, output, failed=failed)
        else:
            await self._runs.afinish(self._over(state), _answer(state.data["messages"]))

    def _names(self, state: Any) -> dict[str, Any]:
        sources = (state.data.get("hook_context") or {}, state.data)
        names = {"user_id": self.user_id_from, "task_id": self.task_id_from}
        return {
            name: next((source[key] for source in sources if source.get(key) is not None), None)
            for name, key in names.items()
        }

    def _begun(self, state: Any, run: TaskRun | None) -> None:
        self._going[state] = run
        messages = state.data["messages"]
        if run is not None and run.snapshot:
            own_prompt = 1 if messages and messages[0].is_from(ChatRole.SYSTEM) else 0
            changed = inject(messages, run.snapshot, own_prompt=own_prompt)
            state.set("messages", changed, handler_override=replaced)

    def _over(self, state: Any) -> TaskRun | None:
        run = self._going.pop(state)
        state.set("messages", restore(state.data["messages"]), handler_override=replaced)
        return run

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key.

        Raises:
            SettingsError: ``task_options`` holds a function or a duration, which no dump can hold.
        """
        options = dump_memory(self._runs.operations)
        if self._key:
            options["api_key"] = self._key
        dumped: dict[str, Any] = default_to_dict(
            self,
            user_id=self._runs.user_id,
            user_id_from=self.user_id_from,
            task_id_from=self.task_id_from,
            snapshot=self._runs.shows_snapshot,
            task_options=_dumped(self._runs.options),
            **options,
        )
        return dumped

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HindsightTaskHook:
        """The inverse of :meth:`to_dict`; the key is read from ``HINDSIGHT_API_KEY``."""
        parameters = dict(data["init_parameters"])
        arguments = {name: parameters.pop(name) for name in _OWN_ARGUMENTS if name in parameters}
        arguments["task_options"] = TaskOptions(**arguments.get("task_options") or {})
        arguments["api_key"] = load_key(parameters.pop("api_key", None))
        loaded: HindsightTaskHook = default_from_dict(
            cls, {**data, "init_parameters": {**vars(load_options(parameters)), **arguments}}
        )
        return loaded

    def __deepcopy__(self, memo: dict[int, Any]) -> HindsightTaskHook:
        # Runs that are going on stay with the original.
        twin = copy.copy(self)
        twin._runs = copy.deepcopy(self._runs, memo)
        twin._operations = twin._runs.operations
        twin._going = weakref.WeakKeyDictionary()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_going": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _going=weakref.WeakKeyDictionary())


def _dumped(options: TaskOptions) -> dict[str, Any]:
    default = TaskOptions()
    changed = {
        one.name: getattr(options, one.name)
        for one in fields(options)
        if getattr(options, one.name) != getattr(default, one.name)
    }
    if unfit := [name for name in _NOT_SAVED if name in changed]:
        raise SettingsError(f"task_options: {', '.join(unfit)} cannot be saved; set it after loading instead")
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def _tool_results(messages: Sequence[ChatMessage]) -> list[tuple[str, str, bool]]:
    """Name, words and failure of each tool that answered since the model last spoke."""
    results: list[ToolCallResult] = []
    for message in reversed(messages):
        if not message.is_from(ChatRole.TOOL):
            break
        results = [*message.tool_call_results, *results]
    return [(one.origin.tool_name, _words(one.result), one.error) for one in results]


def _words(result: Any) -> str:
    if isinstance(result, str):
        return result
    return "\n".join(text for part in result if isinstance(text := getattr(part, "text", None), str))


def _answer(messages: Sequence[ChatMessage]) -> str:
    last = next((one for one in reversed(messages) if one.is_from(ChatRole.ASSISTANT)), None)
    return message_text(last) if last is not None else ""
