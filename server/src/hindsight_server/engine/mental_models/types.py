"""What a mental model is asked for, and what a refresh comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.text import PageText
from hindsight_server.engine.reflect.types import ModelCall, ToolCall
from hindsight_server.ports.llm import Usage
from hindsight_server.ports.mental_models import MemoryScope, MentalModel, PageContent, PageIndex, ScopeMark

LEAST_TOKENS, MOST_TOKENS = 256, 8192
PAGE_TOKENS = 4096
PAGE_TRIGGER: Mapping[str, Any] = {
    "mode": "delta",
    "refresh_after_consolidation": True,
    "fact_types": ["observation"],
    "exclude_mental_models": True,
}
"""The trigger of a knowledge page that is given none."""

WRITTEN = "content_written"
UNCHANGED = "content_unchanged"
NOTHING_NEW = "content_preserved_no_new_facts"
EMPTY = "refresh_failed_empty_candidate"
NOT_APPLIED = "refresh_failed_delta_not_applied"
NO_STRUCTURE = "refresh_failed_structured_output"
FAILED = "refresh_failed_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModelInput:
    """What a mental model is made of; `trigger` holds the fields of `domain.pages.trigger.Trigger` that are given.

    Args:
        mental_model_id: None for one that is made up.
    """

    name: str
    source_query: str
    mental_model_id: str | None = None
    tags: tuple[str, ...] = ()
    max_tokens: int = 2048
    trigger: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModelPatch:
    """What to set; None leaves a value. `trigger` is a patch too: fields that it does not have stay.

    Args:
        moves, parent_id: of a page, the folder to put it in, None for the root; `moves` tells that from no move.
    """

    name: str | None = None
    source_query: str | None = None
    tags: tuple[str, ...] | None = None
    max_tokens: int | None = None
    trigger: Mapping[str, Any] | None = None
    moves: bool = False
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class SeenModel:
    """A mental model with what only its bank knows.

    Args:
        facts: the memories that it names as evidence and that are still there, in order.
        warnings: what is likely not as it was meant.
    """

    model: MentalModel
    is_stale: bool
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Refreshing:
    """A refresh while it is computed, and what came of it.

    Args:
        model: as it was when the refresh began.
        mark: how far the memories went then.
        fallback: why a delta was not done as one.
        content: what is to be written; None for nothing.
        retrieved, used: memories that were shown and that are named, by type.
        candidate: the whole answer of a full refresh, or the words of the edited page.
        left_out: why each sentence is not written that a full refresh left out of the answer.
        changed_at: from when on memories are new, in a delta.
    """

    model: MentalModel
    scope: MemoryScope
    mark: ScopeMark
    requested: str
    effective: str
    fallback: str | None = None
    outcome: str = WRITTEN
    failure: str | None = None
    error: str | None = None
    content: PageContent | None = None
    index: PageIndex | None = None
    retrieved: Mapping[str, int] = field(default_factory=dict)
    used: Sequence[Fact] = ()
    candidate: str = ""
    applied: Sequence[Mapping[str, Any]] | None = None
    skipped: Sequence[Mapping[str, Any]] | None = None
    skipped_by: Mapping[str, int] = field(default_factory=dict)
    tool_calls: Sequence[ToolCall] = ()
    model_calls: Sequence[ModelCall] = ()
    usage: Usage = field(default_factory=Usage)
    warnings: list[str] = field(default_factory=list)
    left_out: Sequence[str] = ()
    changed_at: datetime | None = None
    duration_seconds: float = 0.0

    @property
    def page(self) -> PageText:
        """The page as it would be."""
        return self.model.content.text if self.content is None else self.content.text

    def fail(self, outcome: str, failure: str, error: str) -> None:
        """Nothing is written, for this reason."""
        self.outcome, self.failure, self.error, self.content = outcome, failure, error, None
