"""``HindsightTaskMiddleware``: an agent that remembers its tasks, what its tools did and how they ended."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired, Unpack

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from hindsight_adapter_core import Flushed, SettingsError, open_memory
from hindsight_adapter_core.recent import RecentMap
from hindsight_adapter_core.tasks import TaskMemory, TaskOptions, TaskRun, TaskRuns

from ._client import PACKAGE
from .messages import messages_in, text_of, with_memories_appended
from .middleware import MiddlewareOptions, checked_options
from .run_context import RunContext

__all__ = ["HindsightTaskMiddleware", "TaskState"]

_KEPT = "hindsight_task"


class TaskState(AgentState[Any]):
    """The agent's state with one private entry: a key under which the middleware keeps what it knows of the run."""

    hindsight_task: NotRequired[Annotated[str, PrivateStateAttr]]


class HindsightTaskMiddleware(Flushed, AgentMiddleware[TaskState]):
    """Task memory for agents made with ``langchain.agents.create_agent``, sync and async.

    When a run begins, the user's words start a task, and the model is shown what is known of earlier tasks: a
    snapshot at the end of the system message of each request, never in the state. Each tool that answers is stored as
    success or failure, the assistant's answer behind them, and the task is closed with its summary. A tool that raises
    closes it as failed.

    A run with a ``task_id`` in ``config["configurable"]`` or its context is a part of that task, which goes on until
    the user ends it ("done, thanks"), :meth:`memory_of` is told to, or two hours have passed in silence.

    Nothing that fails here reaches the agent. Works beside :class:`HindsightMiddleware`, best with a bank of its own.

    Args:
        bank_id: the bank of all tasks; default ``HINDSIGHT_BANK_ID``. Users share it and see their own tasks only.
        user_id: of runs that name none.
        client: a client of yours; it wins over address and key, and stays yours to close.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        options: see :class:`hindsight_adapter_core.tasks.TaskOptions`.
        snapshot: show the model what is known of earlier tasks.
        user_id_from_config: where a run names its user: a key of ``config["configurable"]`` or of the run's context.
        task_id_from_config: where a run names its task.
        **memory_options: address, budget, deadlines and so on: see
            :class:`~hindsight_langchain.middleware.MiddlewareOptions`.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> from langchain.agents import create_agent
        >>> tasks = HindsightTaskMiddleware(bank_id="tasks", hindsight_api_url="http://localhost:8888")
        >>> agent = create_agent("openai:gpt-5.5", [deploy], middleware=[tasks])             # doctest: +SKIP
        >>> agent.invoke({"messages": [("user", "Deploy flask v2.3")]},                      # doctest: +SKIP
        ...              {"configurable": {"user_id": "ann"}})
    """

    state_schema = TaskState

    def __init__(  # noqa: PLR0913 - keyword-only settings of one object
        self,
        *,
        bank_id: str | None = None,
        user_id: str | None = None,
        client: Any = None,
        api_key: str | None = None,
        options: TaskOptions | None = None,
        snapshot: bool = True,
        user_id_from_config: str = "user_id",
        task_id_from_config: str = "task_id",
        **memory_options: Unpack[MiddlewareOptions],
    ) -> None:
        super().__init__()
        options_of_memory = checked_options(type(self).__name__, bank_id, memory_options)
        self._operations = open_memory(PACKAGE, options_of_memory, client=client, api_key=api_key)
        self._runs = TaskRuns(self._operations, user_id=user_id, options=options, snapshot=snapshot)
        self._user_key, self._task_key = user_id_from_config, task_id_from_config
        self._going: RecentMap[str, TaskRun] = RecentMap()

    def memory_of(self, user_id: str | None = None) -> TaskMemory:
        """The task memory of a user: to search it, or to end a task."""
        return self._runs.memory_of(user_id)

    # -- a run begins and ends ---------------------------------------------------------------------------------

    def before_agent(self, state: TaskState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Start the task, or go on with it."""
        names = self._names()
        return self._begun(None if names is None else self._runs.begin(_question(state), **names))

    async def abefore_agent(self, state: TaskState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async twin of :meth:`before_agent`."""
        names = self._names()
        return self._begun(None if names is None else await self._runs.abegin(_question(state), **names))

    def after_agent(self, state: TaskState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store the answer, and close a task that was this run."""
        self._runs.finish(self._over(state), _answer(state))
        return None

    async def aafter_agent(self, state: TaskState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async twin of :meth:`after_agent`."""
        await self._runs.afinish(self._over(state), _answer(state))
        return None

    def _names(self) -> dict[str, str | None] | None:
        run = RunContext.current()
        try:
            return {"user_id": run.value(self._user_key), "task_id": run.value(self._task_key)}
        except SettingsError as error:
            PACKAGE.config.logger.error("%s; the agent goes on, this is not remembered", error)
            return None

    def _begun(self, run: TaskRun | None) -> dict[str, Any]:
        # Also without a run: the key of an earlier one that broke off may be in the checkpoint.
        key = uuid.uuid4().hex
        if run is not None:
            self._going.put(key, run)
        return {_KEPT: key}

    def _run_of(self, state: Any) -> TaskRun | None:
        return self._going.get(state.get(_KEPT) or "")

    def _over(self, state: Any) -> TaskRun | None:
        run = self._run_of(state)
        self._going.forget(state.get(_KEPT) or "")
        return run

    # -- the snapshot ------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the snapshot of earlier tasks."""
        return handler(self._with_snapshot(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Async twin of :meth:`wrap_model_call`."""
        return await handler(self._with_snapshot(request))

    def _with_snapshot(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        run = self._run_of(request.state)
        if run is None or not run.snapshot:
            return request
        return request.override(system_message=with_memories_appended(request.system_message, run.snapshot))

    # -- tools -------------------------------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Call the tool, and store what became of it."""
        run, name = self._run_of(request.state), request.tool_call["name"]
        try:
            result = handler(request)
        except GraphBubbleUp:
            raise  # the run is interrupted, and goes on later
        except Exception as error:
            # Nothing may come after it: a run that raises has no end of its own. If it goes on, so does the task.
            self._runs.tool(run, name, _words(error), failed=True)
            self._runs.finish(run, "", succeeded=False)
            raise
        for message in _results(result):
            self._runs.tool(run, name, text_of(message), failed=message.status == "error")
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Async twin of :meth:`wrap_tool_call`."""
        run, name = self._run_of(request.state), request.tool_call["name"]
        try:
            result = await handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            await self._runs.atool(run, name, _words(error), failed=True)
            await self._runs.afinish(run, "", succeeded=False)
            raise
        for message in _results(result):
            await self._runs.atool(run, name, text_of(message), failed=message.status == "error")
        return result


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _results(result: ToolMessage | Command[Any]) -> list[ToolMessage]:
    if isinstance(result, ToolMessage):
        return [result]
    update = result.update if isinstance(result.update, dict) else {}
    return [one for one in messages_in(update) if isinstance(one, ToolMessage)]


def _question(state: Any) -> str:
    return _last(messages_in(state), HumanMessage)


def _answer(state: Any) -> str:
    return _last(messages_in(state), AIMessage)


def _last(messages: Sequence[BaseMessage], kind: type[BaseMessage]) -> str:
    return next((text_of(one) for one in reversed(messages) if isinstance(one, kind)), "")
