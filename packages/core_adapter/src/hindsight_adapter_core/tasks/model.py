"""What task memory is about: events, summaries, and what a search gives back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ..outcomes import RecalledMemory

__all__ = [
    "CLASSIFICATIONS",
    "CONFIDENCE_RULES",
    "Classification",
    "EventKind",
    "TaskEvent",
    "TaskMemoryItem",
    "TaskRecall",
    "TaskSummary",
]

EventKind = Literal["start", "message", "tool_success", "tool_failure", "end"]
#: How sensitive something is: P1 the most, P3 the least.
Classification = Literal["P1", "P2", "P3"]
CLASSIFICATIONS: tuple[Classification, ...] = ("P1", "P2", "P3")

#: What confidence is worth by rule; the first that applies, from above, counts.
CONFIDENCE_RULES: dict[str, float] = {
    "low_density": 0.2,  # fewer than three words that say anything
    "tool_success": 0.9,
    "explicit_statement": 0.9,  # "remember ...", "we decided ...", "我的……是……"
    "tool_failure": 0.8,
    "long_answer": 0.7,  # 50 characters or more
    "other": 0.5,
}


@dataclass(frozen=True, kw_only=True)
class TaskEvent:
    """One thing that happened in a task.

    Attributes:
        kind: ``start``, ``message``, ``tool_success``, ``tool_failure`` or ``end``.
        role: ``user``, ``assistant`` or ``tool``.
        content: the words, as they are stored.
        at: when, with an offset.
        name: of the tool or the speaker.
    """

    kind: EventKind
    role: str
    content: str
    at: datetime
    name: str | None = None

    def as_turn(self) -> str:
        """As retained: a JSON array of one element."""
        element = {"role": self.role, "content": self.content, "timestamp": self.at.isoformat()}
        if self.name:
            element["name"] = self.name
        return json.dumps([element], ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class TaskSummary:
    """What a closed task comes to.

    Attributes:
        anchor: at most 15 words, the verb first.
        context_summary: at most 80 words: what happened, with names and numbers.
    """

    anchor: str
    context_summary: str


@dataclass(frozen=True, kw_only=True)
class TaskMemoryItem:
    """One task that a search found.

    Attributes:
        task_id, session_id: whose part it is; ``None`` for a memory that belongs to no task.
        anchor: what the task was, at most 15 words; of a task that is still open, made of what was found of it.
        context_summary: the facts about it, at most 80 words; of an open task, what was found of it.
        relevance_score: 0 to 1; the server's score, lowered for low confidence.
        confidence: the highest of the memories found.
        data_classification: ``P1``, ``P2``, ``P3``, or ``None`` when it carries none.
        linked_to: ids of earlier tasks about the same thing.
        closed: whether the task has ended.
        last_at: ISO 8601, when the newest memory found of it was mentioned.
        via: ``"search"``, ``"id"`` when the query named it, ``"link"`` when it was reached through another task.
        memories: the memories of it that were found, the best first.
    """

    task_id: str | None
    session_id: str | None
    anchor: str
    context_summary: str
    relevance_score: float
    confidence: float = 0.5
    data_classification: str | None = None
    linked_to: tuple[str, ...] = ()
    closed: bool = False
    last_at: str | None = None
    via: Literal["search", "id", "link"] = "search"
    memories: tuple[RecalledMemory, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the single memories."""
        return {
            "task_id": self.task_id,
            "session_id": self.session_id,
            "anchor_summary": self.anchor,
            "context_summary": self.context_summary,
            "relevance_score": self.relevance_score,
            "confidence": self.confidence,
            "data_classification": self.data_classification,
            "linked_to": list(self.linked_to),
            "timestamp": self.last_at,
        }


@dataclass(frozen=True, kw_only=True)
class TaskRecall:
    """Tasks that a search found, the best first. Iterable and sized.

    Attributes:
        query: what was asked.
        items: the tasks.
        settings_note: how the search was narrowed, e.g. ``{"window": "7 days"}``; for logs.
    """

    query: str
    items: tuple[TaskMemoryItem, ...] = ()
    settings_note: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[TaskMemoryItem]:
        return iter(self.items)

    def __getitem__(self, index: int) -> TaskMemoryItem:
        return self.items[index]
