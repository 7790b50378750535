"""Task memory for the runs of an agent: what every framework's adapter tells it, in the same words."""

from __future__ import annotations

import copy
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..bridge import DRAIN_SECONDS, get_bridge
from ..errors import HindsightError, SettingsError
from ..operations import MemoryOperations
from ..recent import RecentMap
from ..turns import strip_quoted
from .journal import Task
from .memory import TaskMemory
from .options import TaskOptions
from .snapshot import shown_texts
from .wording import cut_words

__all__ = ["TaskRun", "TaskRuns"]

T = TypeVar("T")

#: Words of a question that name the task of a run which names none.
_TITLE_WORDS = 15


@dataclass(frozen=True, kw_only=True)
class TaskRun:
    """One run of an agent, as part of a task.

    Attributes:
        memory: of the run's user.
        task: which task.
        ends_task: the run is all of the task. A run that names its task is a part of it.
        snapshot: what is known of the user's earlier tasks, for the prompt; empty when that is nothing.
    """

    memory: TaskMemory
    task: Task
    ends_task: bool
    snapshot: str = ""


class TaskRuns:
    """Collects what happens in the runs of an agent. Failures are logged; none reaches the agent.

    A run without a task id is a task of its own, named by its question, and ends with the run. Runs with the same id
    are one task, which ends by the user's words, by :meth:`TaskMemory.end` or by silence.

    Args:
        operations: the memory. Users share its bank; each sees their own tasks.
        user_id: of runs that name no user.
        options: see :class:`TaskOptions`.
        snapshot: look up what is known of earlier tasks when a run begins.
        limit: users kept in mind; the least recently active are forgotten first. Their open tasks go on when the same
            task comes back.

    Example::

        runs = TaskRuns(operations)
        run = await runs.abegin("Deploy flask, please.", user_id="ann")
        await runs.atool(run, "lsof", "port 8000 is taken by nginx", failed=True)
        await runs.afinish(run, "Port 8000 is taken; I used 8001.")
    """

    def __init__(
        self,
        operations: MemoryOperations,
        *,
        user_id: str | None = None,
        options: TaskOptions | None = None,
        snapshot: bool = True,
        limit: int = 1000,
    ) -> None:
        self.operations = operations
        self.user_id = user_id
        self.options = options or TaskOptions()
        self.shows_snapshot = snapshot
        self._memories: RecentMap[str, TaskMemory] = RecentMap(limit)

    def memory_of(self, user_id: Any = None) -> TaskMemory:
        """The task memory of a user.

        Raises:
            SettingsError: neither the call nor the object names a user.
        """
        name = str(user_id if user_id is not None else self.user_id or "").strip()
        if not name:
            raise SettingsError("no user: the run must name whose task it is, or give user_id when you make this")
        return self._memories.get_or_make(name, lambda: TaskMemory(self.operations, user_id=name, options=self.options))

    def begin(self, question: str, *, user_id: Any = None, task_id: Any = None) -> TaskRun | None:
        """A run begins with the user's words; ``None`` when it can't be remembered, which is logged.

        Args:
            question: what the user wrote.
            user_id: whose run; default the object's.
            task_id: the task that the run is a part of; default a task of its own.
        """
        return get_bridge().run(lambda: self._begin(question, user_id, task_id))

    async def abegin(self, question: str, *, user_id: Any = None, task_id: Any = None) -> TaskRun | None:
        """Async twin of :meth:`begin`."""
        return await get_bridge().arun(lambda: self._begin(question, user_id, task_id))

    def tool(self, run: TaskRun | None, name: str, output: str, *, failed: bool) -> None:
        """A tool of the run has answered; what it says of itself is stored as success or failure."""
        get_bridge().run(lambda: self._tool(run, name, output, failed))

    async def atool(self, run: TaskRun | None, name: str, output: str, *, failed: bool) -> None:
        """Async twin of :meth:`tool`."""
        await get_bridge().arun(lambda: self._tool(run, name, output, failed))

    def finish(self, run: TaskRun | None, answer: str, *, succeeded: bool | None = None) -> None:
        """The run is over. Its task is closed when the run was all of it.

        Args:
            run: what :meth:`begin` gave.
            answer: the assistant's final words; may be empty.
            succeeded: how it ended; default as its last tool did.
        """
        get_bridge().run(lambda: self._finish(run, answer, succeeded))

    async def afinish(self, run: TaskRun | None, answer: str, *, succeeded: bool | None = None) -> None:
        """Async twin of :meth:`finish`."""
        await get_bridge().arun(lambda: self._finish(run, answer, succeeded))

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait for events that are still queued; returns how many are left."""
        return self.operations.flush(timeout)

    async def aflush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await self.operations.aflush(timeout)

    async def _begin(self, question: str, user_id: Any, task_id: Any) -> TaskRun | None:
        return await self._or_none(self._begun(question, user_id, task_id)) if question.strip() else None

    async def _begun(self, question: str, user_id: Any, task_id: Any) -> TaskRun:
        memory = self.memory_of(user_id)
        name = str(task_id).strip() if task_id is not None else None
        snapshot = await memory.asnapshot(question) if self.shows_snapshot else ""
        task = next((one for one in memory.open_tasks if one.task_id == name), None)
        if task is None:
            title = cut_words(" ".join(question.split()), _TITLE_WORDS)
            task = await memory.astart(title, content=question, task_id=name)
        # Known words are not stored twice; but the user's words may also end the task.
        await memory.amessage(task, question)
        return TaskRun(memory=memory, task=task, ends_task=name is None, snapshot=snapshot)

    async def _tool(self, run: TaskRun | None, name: str, output: str, failed: bool) -> None:
        if run is not None:
            record = run.memory.atool_failure if failed else run.memory.atool_success
            await self._or_none(record(run.task, output, tool=name))

    async def _finish(self, run: TaskRun | None, answer: str, succeeded: bool | None) -> None:
        if run is None:
            return
        if not run.task.closed or run.ends_task:
            said = strip_quoted(answer, shown_texts(run.snapshot))
            await self._or_none(run.memory.amessage(run.task, said, role="assistant"))
        if run.ends_task:
            await self._or_none(run.memory.aend(run.task, succeeded=succeeded))

    async def _or_none(self, work: Awaitable[T]) -> T | None:
        try:
            return await work
        except HindsightError as error:
            if self.operations.raise_on_error:
                raise
            self.operations.package.config.logger.error("%s; the agent goes on, this is not remembered", error)
            return None

    def __deepcopy__(self, memo: dict[int, Any]) -> TaskRuns:
        return TaskRuns(copy.deepcopy(self.operations, memo), **self._arguments())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.operations, self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "user_id": self.user_id,
            "options": self.options,
            "snapshot": self.shows_snapshot,
            "limit": self._memories.limit,
        }


def _rebuilt(operations: MemoryOperations, arguments: dict[str, Any]) -> TaskRuns:
    return TaskRuns(operations, **arguments)
