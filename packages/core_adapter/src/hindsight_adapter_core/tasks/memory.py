"""Task memory: what an agent did, task by task, for one user."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, TypeVar, Unpack

from .._client import PACKAGE
from ..bridge import DRAIN_SECONDS, get_bridge
from ..errors import BridgeError, HindsightError, SettingsError
from ..operations import MemoryOperations, open_memory
from ..settings import MemoryOptions
from .identity import SessionClock, task_id_for
from .journal import Recorded, Task, TaskJournal
from .model import Classification, EventKind, TaskEvent, TaskRecall
from .options import TaskOptions
from .search import SearchScope, TaskSearch, check_classifications
from .snapshot import render_snapshot

__all__ = ["Narrowing", "TaskDetails", "TaskMemory"]

T = TypeVar("T")

#: Shared by all task memories of the process, so that a user's devices share sessions.
_SESSIONS = SessionClock()
#: Tasks kept in mind, with their words, for one user. The ones that ended first are forgotten first; what is stored of
#: them is known again by its operation ids.
_TASKS = 100


class TaskDetails(TypedDict, total=False):
    """What may be said of a task when it starts; everything is optional.

    Attributes:
        version: tells tasks apart that do the same, e.g. ``"v2.3"`` or a date.
        content: the words that announced it; default action, target and version.
        task_id: an id of the caller's, instead of the one made of user, action, target and version.
        classification: of the task's events that say nothing else.
        at: when; default now.
    """

    version: str
    content: str | None
    task_id: str | None
    classification: Classification | None
    at: datetime | None


class Narrowing(TypedDict, total=False):
    """How a search may be narrowed; everything is optional.

    Attributes:
        classifications: only memories of these classes, e.g. ``["P2", "P3"]``; default all.
        task_id, session_id: only of this task or session.
        window: instead of the options' window; a query that names a time is not narrowed.
        at: the "now" of relative times; default now, in the user's zone.
    """

    classifications: Sequence[Classification] | None
    task_id: str | None
    session_id: str | None
    window: timedelta | None
    at: datetime | None


class TaskMemory:
    """Collects the events of a user's tasks and finds them again. Framework-free; every method has an async twin.

    Example::

        tasks = TaskMemory.open("agent", user_id="ann", options=TaskOptions(timezone="Asia/Shanghai"))
        task = tasks.start("deploy", "flask", version="v2.3")
        tasks.tool_failure(task, "port 8000 is taken by nginx (PID 1234)", tool="lsof")
        tasks.message(task, "Use 8001 instead.", role="assistant")
        tasks.message(task, "It works now, thanks!")          # closes the task
        print(tasks.snapshot("How did the port conflict end?"))

    Args:
        operations: the memory to store in and search, e.g. of :func:`open_memory`.
        user_id: whose tasks. Users may share a bank: what they store is tagged ``user:<id>``, and only
            that is searched.
        options: see :class:`TaskOptions`.
        sessions: which sessions run; default one for the process.
    """

    def __init__(
        self,
        operations: MemoryOperations,
        *,
        user_id: str,
        options: TaskOptions | None = None,
        sessions: SessionClock | None = None,
    ) -> None:
        if not isinstance(user_id, str) or not user_id.strip():
            raise SettingsError(f"user_id must be a non-empty string, not {user_id!r}")
        self.user_id = user_id
        self.options = options or TaskOptions()
        self.operations = operations
        self._search = TaskSearch(operations, user_id, self.options)
        self._journal = TaskJournal(operations, user_id, self.options, sessions or _SESSIONS, self._search)
        self._tasks: dict[str, Task] = {}

    @classmethod
    def open(
        cls,
        bank_id: str,
        *,
        user_id: str,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        options: TaskOptions | None = None,
    ) -> TaskMemory:
        """A task memory without a framework.

        Args:
            bank_id: the bank.
            user_id: whose tasks.
            hindsight_api_url: server address; default ``HINDSIGHT_API_URL``.
            api_key: bearer key; default ``HINDSIGHT_API_KEY``.
            client: a ``hindsight_client.Hindsight`` of the caller's instead.
            options: see :class:`TaskOptions`.
        """
        memory_options = MemoryOptions(bank_id=bank_id, hindsight_api_url=hindsight_api_url)
        operations = open_memory(PACKAGE, memory_options, client=client, api_key=api_key)
        return cls(operations, user_id=user_id, options=options)

    # -- events ------------------------------------------------------------------------------------------------

    def start(self, action: str, target: str = "", **details: Unpack[TaskDetails]) -> Task:
        """Begin a task, or go on with it: the same user, action, target and version are the same task.

        Args:
            action: the verb, e.g. ``"deploy"``.
            target: of what, e.g. ``"flask"``.
            **details: see :class:`TaskDetails`.
        """
        return self._run(self._start(action, target, details))

    async def astart(self, action: str, target: str = "", **details: Unpack[TaskDetails]) -> Task:
        """Async twin of :meth:`start`."""
        return await self._arun(self._start(action, target, details))

    def tool_success(
        self, task: Task, content: str, *, tool: str | None = None, at: datetime | None = None
    ) -> Recorded:
        """A tool did its work; ``content`` is what it gave back."""
        return self._run(self._record(task, self._event("tool_success", "tool", content, at, tool)))

    async def atool_success(
        self, task: Task, content: str, *, tool: str | None = None, at: datetime | None = None
    ) -> Recorded:
        """Async twin of :meth:`tool_success`."""
        return await self._arun(self._record(task, self._event("tool_success", "tool", content, at, tool)))

    def tool_failure(
        self, task: Task, content: str, *, tool: str | None = None, at: datetime | None = None
    ) -> Recorded:
        """A tool failed; stored too, and marked as a failure."""
        return self._run(self._record(task, self._event("tool_failure", "tool", content, at, tool)))

    async def atool_failure(
        self, task: Task, content: str, *, tool: str | None = None, at: datetime | None = None
    ) -> Recorded:
        """Async twin of :meth:`tool_failure`."""
        return await self._arun(self._record(task, self._event("tool_failure", "tool", content, at, tool)))

    def message(
        self,
        task: Task,
        content: str,
        *,
        role: str = "user",
        classification: Classification | None = None,
        at: datetime | None = None,
    ) -> Recorded:
        """Something was said. Noise is not stored. A user's end phrase ("done", "搞定") closes the task."""
        return self._run(self._record(task, self._event("message", role, content, at), classification))

    async def amessage(
        self,
        task: Task,
        content: str,
        *,
        role: str = "user",
        classification: Classification | None = None,
        at: datetime | None = None,
    ) -> Recorded:
        """Async twin of :meth:`message`."""
        return await self._arun(self._record(task, self._event("message", role, content, at), classification))

    def end(self, task: Task, content: str = "", *, succeeded: bool | None = None, at: datetime | None = None) -> None:
        """Close a task: its summary is made and stored.

        Args:
            task: which.
            content: last words of the user, stored when they say anything.
            succeeded: how it ended; default as its last tool did.
            at: when; default now.
        """
        self._run(self._end(task, content, succeeded, at))

    async def aend(
        self, task: Task, content: str = "", *, succeeded: bool | None = None, at: datetime | None = None
    ) -> None:
        """Async twin of :meth:`end`."""
        await self._arun(self._end(task, content, succeeded, at))

    def close_idle(self, *, at: datetime | None = None) -> int:
        """Close tasks that have been silent for longer than the time limit; returns how many. Call it now and then;
        a task's own next event and :meth:`start` do it too."""
        return self._run(self._journal.close_idle(list(self._tasks.values()), self._at(at)))

    async def aclose_idle(self, *, at: datetime | None = None) -> int:
        """Async twin of :meth:`close_idle`."""
        return await self._arun(self._journal.close_idle(list(self._tasks.values()), self._at(at)))

    @property
    def open_tasks(self) -> tuple[Task, ...]:
        """Tasks of this process that have not ended."""
        return tuple(task for task in self._tasks.values() if not task.closed)

    # -- searching ---------------------------------------------------------------------------------------------

    def recall(self, query: str, *, limit: int = 5, **narrowing: Unpack[Narrowing]) -> TaskRecall:
        """The tasks that a query is about, the best first.

        A task or session id in the query is looked up exactly, and comes first. Questions about what became of
        something also bring the tasks linked with the best ones.

        Args:
            query: a question or key words.
            limit: how many tasks.
            **narrowing: see :class:`Narrowing`.

        Raises:
            OperationError: the search failed.
            SettingsError: an unknown class.
        """
        return self._run(_recall(self, query, limit, narrowing))

    async def arecall(self, query: str, *, limit: int = 5, **narrowing: Unpack[Narrowing]) -> TaskRecall:
        """Async twin of :meth:`recall`."""
        return await self._arun(_recall(self, query, limit, narrowing))

    def snapshot(self, query: str, *, limit: int = 3, show_dates: bool = False, **narrowing: Unpack[Narrowing]) -> str:
        """The block to put into a prompt (:func:`render_snapshot`); empty when nothing is found or the search fails.

        Args:
            query: what the user just said.
            limit: how many tasks to show.
            show_dates: put the day behind the label.
            **narrowing: see :class:`Narrowing`.
        """
        return self._run(_snapshot(self, query, limit, show_dates, narrowing))

    async def asnapshot(
        self, query: str, *, limit: int = 3, show_dates: bool = False, **narrowing: Unpack[Narrowing]
    ) -> str:
        """Async twin of :meth:`snapshot`."""
        return await self._arun(_snapshot(self, query, limit, show_dates, narrowing))

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait for events that are still queued; returns how many are left."""
        return self.operations.flush(timeout)

    async def aflush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await self.operations.aflush(timeout)

    # -- on the bridge -----------------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return _waited_for(work)

    async def _arun(self, work: Coroutine[Any, Any, T]) -> T:
        return await get_bridge().arun(lambda: work)

    def _at(self, at: datetime | None) -> datetime:
        return self.options.localized(at) if at is not None else self.options.now()

    def _event(
        self, kind: EventKind, role: str, content: str, at: datetime | None, name: str | None = None
    ) -> TaskEvent:
        return TaskEvent(kind=kind, role=role, content=content, name=name, at=self._at(at))

    async def _start(self, action: str, target: str, details: TaskDetails) -> Task:
        version = details.get("version", "")
        if not action.strip():
            raise SettingsError("action must say what is to be done, e.g. 'deploy'")
        moment = self._at(details.get("at"))
        await self._journal.close_idle(list(self._tasks.values()), moment)
        title = " ".join(part for part in (action.strip(), target.strip(), version.strip()) if part)
        name = details.get("task_id") or task_id_for(self.user_id, f"{action} {target}".strip(), version)
        task = self._tasks.get(name)
        if task is None:
            _forget_ended(self._tasks)
            task = self._tasks[name] = Task(name, title, details.get("classification") or self.options.classification)
        await self._record(task, self._event("start", "assistant", details.get("content") or title, moment))
        return task

    async def _record(
        self,
        task: Task,
        event: TaskEvent,
        classification: Classification | None = None,
    ) -> Recorded:
        check_classifications([classification] if classification else None)
        return await self._journal.record(task, event, classification)

    async def _end(self, task: Task, content: str, succeeded: bool | None, at: datetime | None) -> None:
        moment = self._at(at)
        if content.strip():
            await self._record(task, self._event("message", "user", content, moment))
        await self._journal.close(task, moment, succeeded)


def _waited_for(work: Coroutine[Any, Any, T]) -> T:
    try:
        return get_bridge().run(lambda: work)
    except BridgeError:
        work.close()  # never begun
        raise


def _forget_ended(tasks: dict[str, Task]) -> None:
    ended = [name for name, task in tasks.items() if task.closed]
    for name in ended[: max(0, len(tasks) - _TASKS)]:
        del tasks[name]


async def _recall(tasks: TaskMemory, query: str, limit: int, narrowing: Narrowing) -> TaskRecall:
    scope = SearchScope(
        limit=limit,
        classifications=check_classifications(narrowing.get("classifications")),
        task_id=narrowing.get("task_id"),
        session_id=narrowing.get("session_id"),
        now=tasks._at(narrowing.get("at")),
        window=narrowing.get("window") or tasks.options.window,
    )
    return await tasks._search.find(query, scope)


async def _snapshot(tasks: TaskMemory, query: str, limit: int, show_dates: bool, narrowing: Narrowing) -> str:
    try:
        found = await _recall(tasks, query, limit, narrowing)
    except SettingsError:
        raise
    except HindsightError as error:
        # A prompt without memories is better than no answer; the reason is in the log.
        tasks.operations.package.config.logger.error("%s", error)
        return ""
    return render_snapshot(found, show_dates=show_dates)
