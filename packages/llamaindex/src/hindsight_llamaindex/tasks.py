"""``HindsightTasks``: agents that remember their tasks, what their tools did and how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hindsight_adapter_core import Flushed, MemoryOptions, SettingsError, id_text, open_memory
from hindsight_adapter_core.tasks import TaskMemory, TaskOptions, TaskRun, TaskRuns

from ._client import PACKAGE

__all__ = ["HindsightTasks"]


class HindsightTasks(Flushed):
    """Task memory around ``agent.run()``, for every agent in a workflow (llama-index-core 0.12.37 and later).

    When a run begins, the user's words start a task, and a snapshot of what is known of earlier tasks is put in front
    of them for the model. Each tool that answers is stored as success or failure, the agent's answer behind them, and
    the task is closed with its summary. A run that raises closes its task as failed.

    A run with a ``task_id`` is a part of that task, which goes on until the user ends it ("done, thanks"),
    :meth:`memory_of` is told to, or two hours have passed in silence. Nothing that fails here reaches the agent.

    Args:
        bank_id: the bank of all tasks; default ``HINDSIGHT_BANK_ID``. Users share it and see their own tasks only.
        user_id: of runs that name none.
        client: a client of yours; it wins over address and key, and stays yours to close.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        options: see :class:`hindsight_adapter_core.tasks.TaskOptions`.
        snapshot: show the model what is known of earlier tasks.
        **memory_options: address, budget, deadlines and so on, as for
            :class:`~hindsight_llamaindex.HindsightToolSpec`.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> tasks = HindsightTasks(bank_id="tasks", hindsight_api_url="http://localhost:8888")
        >>> await tasks.run(agent, "Deploy flask v2.3", user_id="ann")                       # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        bank_id: str | int | None = None,
        user_id: str | None = None,
        client: Any = None,
        api_key: str | None = None,
        options: TaskOptions | None = None,
        snapshot: bool = True,
        **memory_options: Any,
    ) -> None:
        if unknown := sorted(set(memory_options) - {one.name for one in fields(MemoryOptions)}):
            raise SettingsError(f"HindsightTasks knows no {', '.join(unknown)}")
        known = MemoryOptions(bank_id=id_text(bank_id), **memory_options)
        self._operations = open_memory(PACKAGE, known, client=client, api_key=api_key)
        self._runs = TaskRuns(self._operations, user_id=user_id, options=options, snapshot=snapshot)

    def memory_of(self, user_id: str | None = None) -> TaskMemory:
        """The task memory of a user: to search it, or to end a task."""
        return self._runs.memory_of(user_id)

    async def run(
        self,
        agent: Any,
        user_msg: str,
        *,
        user_id: str | None = None,
        task_id: str | None = None,
        on_event: Callable[[Any], None] | None = None,
        **arguments: Any,
    ) -> Any:
        """Run an agent, and remember the run.

        Args:
            agent: a ``FunctionAgent``, ``ReActAgent``, ``AgentWorkflow`` or another with ``run`` and events.
            user_msg: what the user wrote.
            user_id: whose run; default the object's.
            task_id: the task that the run is a part of; default a task of its own.
            on_event: called with each event of the run, e.g. to stream the answer.
            **arguments: of ``agent.run``, e.g. ``memory`` and ``ctx``.

        Returns:
            What ``await agent.run(...)`` gives.

        Raises:
            SettingsError: ``user_msg`` is no text.
        """
        if not isinstance(user_msg, str):
            raise SettingsError(f"user_msg must be text, not {type(user_msg).__name__}")
        run = await self._runs.abegin(user_msg, user_id=user_id, task_id=task_id)
        shown = f"{run.snapshot}\n\n{user_msg}" if run is not None and run.snapshot else user_msg
        try:
            result = await self._followed(run, agent.run(shown, **arguments), on_event)
        except Exception as error:
            await self._runs.atool(run, "agent", f"the run failed: {type(error).__name__}: {error}", failed=True)
            await self._runs.afinish(run, "", succeeded=False)
            raise
        await self._runs.afinish(run, str(result))
        return result

    async def _followed(self, run: TaskRun | None, handler: Any, on_event: Callable[[Any], None] | None) -> Any:
        """The agent's answer; what its tools say on the way is stored."""
        try:
            async for event in handler.stream_events():
                output = getattr(event, "tool_output", None)
                if output is not None:
                    await self._runs.atool(run, event.tool_name, str(output.content), failed=bool(output.is_error))
                if on_event is not None:
                    on_event(event)
            return await handler
        except BaseException:
            # The agent must not work on when the caller is cancelled, or on_event raises.
            await handler.cancel_run()
            raise

    def __repr__(self) -> str:
        return f"HindsightTasks(bank_id={self._operations.settings.bank_id!r})"
