"""What happens in a task, written down as it happens.

Every event is appended to the task's document at once, so that a process which ends before the task does loses nothing:
open tasks can be searched, and go on when the same task id comes back. Closing a task appends its summary.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeVar

from ..calls import RetainCall
from ..errors import DeliveryFullError, HindsightError, OperationError
from ..operations import MemoryOperations
from ..requests import Requests
from ..turns import operation_id_for
from .identity import SessionClock, content_hash, task_document_id, user_tag
from .model import CONFIDENCE_RULES, Classification, EventKind, TaskEvent, TaskSummary
from .options import TaskOptions
from .search import CLOSED_TAG, TaskSearch
from .summary import summarize_task
from .wording import ends_task, is_low_density, is_noise, is_statement

__all__ = ["Recorded", "Task", "TaskJournal", "confidence_of"]

T = TypeVar("T")

#: What became of an event: stored by the server; queued, when the server is away, does not answer in time, or is not
#: waited for; known already; noise; refused by the server.
Recorded = Literal["stored", "queued", "duplicate", "noise", "refused"]
_LONG_ANSWER = 50  # characters
_STATE: dict[EventKind, bool | None] = {"tool_success": True, "tool_failure": False}


def confidence_of(kind: EventKind, role: str, content: str) -> float:
    """How far an event is to be relied on, by :data:`CONFIDENCE_RULES`."""
    if not kind.startswith("tool") and is_low_density(content):
        return CONFIDENCE_RULES["low_density"]
    if kind in ("tool_success", "tool_failure"):
        return CONFIDENCE_RULES[kind]
    if role == "user" and is_statement(content):
        return CONFIDENCE_RULES["explicit_statement"]
    if role == "assistant" and len(content.strip()) >= _LONG_ANSWER:
        return CONFIDENCE_RULES["long_answer"]
    return CONFIDENCE_RULES["other"]


class Task:
    """One running task: what is known of it in this process.

    Attributes:
        task_id: stable over retries.
        title: action, target and version, for the anchor and as the label of what is stored.
        session_id: of the newest event; ``None`` before the first.
        classification: of events that say nothing else.
        closed: whether the task has ended; a later event opens it again.
        summary: once it is closed.
    """

    def __init__(self, task_id: str, title: str, classification: Classification) -> None:
        self.task_id = task_id
        self.title = title
        self.classification: Classification = classification
        self.session_id: str | None = None
        self.closed = False
        self.summary: TaskSummary | None = None
        self.linked_to: tuple[str, ...] = ()
        self.events: list[TaskEvent] = []
        self.hashes: set[str] = set()
        self.strictest: Classification = classification
        self.lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"Task({self.task_id!r}, title={self.title!r}, closed={self.closed})"


class TaskJournal:
    """Writes events and summaries. The coroutines run on the bridge's loop only."""

    def __init__(
        self, operations: MemoryOperations, user_id: str, options: TaskOptions, clock: SessionClock, search: TaskSearch
    ) -> None:
        self._operations = operations
        self._requests = Requests(operations.package, operations.handle, operations.settings, operations.session_id)
        self._user_id = user_id
        self._options = options
        self._clock = clock
        self._search = search

    async def record(self, task: Task, event: TaskEvent, classification: Classification | None = None) -> Recorded:
        """Store an event, and close the task when it ends it (or when its time was up before)."""
        async with task.lock:
            last = task.events[-1].at if task.events else event.at
            if not task.closed and event.at - last > self._options.time_limit:
                await self._close(task, last, None)
            recorded = await self._store_event(task, event, classification or task.classification)
            ends = event.kind == "end" or (
                event.role == "user" and ends_task(event.content, phrases=self._options.end_phrases)
            )
            if ends and (task.events or recorded != "noise"):
                await self._close(task, event.at, True if event.kind != "end" or event.role == "user" else None)
            return recorded

    async def close(self, task: Task, at: datetime, succeeded: bool | None) -> None:
        """Close without a word."""
        async with task.lock:
            if not task.closed and task.events:
                await self._close(task, at, succeeded)

    async def close_idle(self, tasks: Sequence[Task], at: datetime) -> int:
        """Close what has been silent for longer than the time limit; returns how many."""
        idle = [task for task in tasks if task.events and not task.closed]
        idle = [task for task in idle if at - task.events[-1].at > self._options.time_limit]
        for task in idle:
            await self.close(task, task.events[-1].at, None)
        return len(idle)

    async def _store_event(self, task: Task, event: TaskEvent, classification: Classification) -> Recorded:
        if is_noise(event.content):
            return "noise"
        digest = content_hash(event.content)
        if digest in task.hashes:
            return "duplicate"
        task.session_id = await self._session(event.at, event.content)
        task.hashes.add(digest)
        task.events.append(event)
        task.closed = False
        task.strictest = min(task.strictest, classification)
        metadata = {
            "event": event.kind,
            "role": event.role,
            "content_hash": digest,
            "confidence": f"{confidence_of(event.kind, event.role, event.content):g}",
        }
        try:
            return await self._deliver(self._call(task, event, classification, metadata, digest))
        except DeliveryFullError:
            # Not taken: the same words may be offered again, and are no repetition then.
            task.hashes.discard(digest)
            task.events.remove(event)
            raise

    async def _close(self, task: Task, at: datetime, succeeded: bool | None) -> None:
        if succeeded is None:
            states = [_STATE[event.kind] for event in task.events if event.kind in _STATE]
            succeeded = states[-1] if states else None
        summary = self._own_summary(task) or summarize_task(task.title, task.events, succeeded=succeeded)
        task.summary, task.closed = summary, True
        if self._options.link_tasks and self._may_search():
            task.linked_to = await self._or_none(self._search.linked_to(task.task_id, summary, at)) or ()
        separator = "\n" if summary.context_summary else ""
        event = TaskEvent(
            kind="end",
            role="assistant",
            name="task",
            content=f"{summary.anchor}{separator}{summary.context_summary}",
            at=at,
        )
        digest = content_hash(event.content)
        metadata = {
            "event": "summary",
            "role": "assistant",
            "content_hash": digest,
            "confidence": f"{max(confidence_of(one.kind, one.role, one.content) for one in task.events):g}",
            "anchor_summary": summary.anchor,
            "context_summary": summary.context_summary,
            "linked_to": ",".join(task.linked_to),
        }
        if task.session_id is None:
            task.session_id = await self._session(at, task.title)
        call = self._call(task, event, task.strictest, metadata, f"summary:{digest}")
        links = tuple(f"linked:{other}" for other in task.linked_to)
        await self._deliver(replace(call, tags=(*call.tags, CLOSED_TAG, *links)))

    def _own_summary(self, task: Task) -> TaskSummary | None:
        """What the caller's function makes of the task; ``None`` without one, and when it fails."""
        if self._options.summarize is None:
            return None
        try:
            made: object = self._options.summarize(task.title, tuple(task.events))
        except Exception as error:
            # The caller's own code, often a model's: its failure must neither reach the agent nor leave the task open.
            made = error
        if isinstance(made, TaskSummary):
            return made
        self._operations.package.config.logger.warning(
            "summarize gave %s and no TaskSummary (%s); the built-in rules are used", type(made).__name__, made
        )
        return None

    def _call(
        self, task: Task, event: TaskEvent, classification: Classification, metadata: dict[str, str], key: str
    ) -> RetainCall:
        bank = self._operations.settings.bank()
        document = task_document_id(task.task_id, self._user_id)
        session = task.session_id or ""
        call = self._requests.retain_call(
            event.as_turn(),
            {
                "document_id": document,
                "context": task.title or None,
                "timestamp": event.at.isoformat(),
                "tags": [
                    user_tag(self._user_id),
                    f"task:{task.task_id}",
                    f"session:{session}",
                    f"class:{classification}",
                ],
                "metadata": {
                    **metadata,
                    "session_id": session,
                    "task_id": task.task_id,
                    "timestamp": event.at.isoformat(),
                    "data_classification": classification,
                },
                "append": True,
                # Made of the words alone, so that a retry of the task, on whatever device, stores them once.
                "operation_id": operation_id_for(bank, document, key, ""),
            },
        )
        return replace(call, once=True)

    async def _deliver(self, call: RetainCall) -> Recorded:
        if self._in_background or self._operations.handle.standing == "away":
            await self._operations.delivery.aput(call)
            return "queued"
        try:
            outcome = await self._operations.delivery.offer(call, self._operations.settings.deadlines.retain)
        except DeliveryFullError:
            raise
        except OperationError:
            if self._operations.raise_on_error:
                raise
            return "refused"
        if outcome is None:
            return "queued"
        return "stored" if outcome.items else "duplicate"

    async def _session(self, at: datetime, hint: str) -> str:
        bank = self._operations.settings.bank()
        joined = None
        known = self._clock.current(self._user_id, at, scope=bank)
        if self._options.join_sessions and known is None and self._may_search():
            joined = await self._or_none(self._search.running_session(at, self._clock.idle, hint))
        return self._clock.touch(self._user_id, at, scope=bank, joined=joined)

    @property
    def _in_background(self) -> bool:
        return self._options.background or self._operations.options.retain_async

    def _may_search(self) -> bool:
        """False when a search would only hold up what is to be written: its server does not answer, or may not."""
        standing = self._operations.handle.standing
        return standing == "answers" or (standing == "unknown" and not self._in_background)

    async def _or_none(self, search: Awaitable[T]) -> T | None:
        """What a search finds; a search that fails must not be in the way of what is to be written."""
        try:
            return await search
        except HindsightError as error:
            self._operations.package.config.logger.warning("%s; the task is stored without it", error)
            return None
