"""Task memory: an agent's work remembered task by task. Start at :class:`TaskMemory`."""

from .identity import SessionClock, content_hash, session_id_for, task_id_for
from .journal import Recorded, Task, confidence_of
from .memory import TaskMemory
from .model import (
    CONFIDENCE_RULES,
    Classification,
    EventKind,
    TaskEvent,
    TaskMemoryItem,
    TaskRecall,
    TaskSummary,
)
from .options import TaskOptions
from .runs import TaskRun, TaskRuns
from .search import is_follow_up, named_ids
from .snapshot import HIGH_RELEVANCE, MEDIUM_RELEVANCE, render_snapshot
from .summary import summarize_task
from .wording import ends_task, is_noise, word_count

__all__ = [
    "CONFIDENCE_RULES",
    "HIGH_RELEVANCE",
    "MEDIUM_RELEVANCE",
    "Classification",
    "EventKind",
    "Recorded",
    "SessionClock",
    "Task",
    "TaskEvent",
    "TaskMemory",
    "TaskMemoryItem",
    "TaskOptions",
    "TaskRecall",
    "TaskRun",
    "TaskRuns",
    "TaskSummary",
    "confidence_of",
    "content_hash",
    "ends_task",
    "is_follow_up",
    "is_noise",
    "named_ids",
    "render_snapshot",
    "session_id_for",
    "summarize_task",
    "task_id_for",
    "word_count",
]
