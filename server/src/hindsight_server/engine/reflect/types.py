"""What a reflect is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.types import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectQuery:
    """A question to answer from a bank's memories.

    Args:
        context: words that are added to the question (an older way to pass them).
        budget: how hard to search, and how much evidence to name at most.
        max_tokens: tokens of the answer at most.
        tags: which tags the memories must have; None is no filter.
        fact_types: fact types to use; None or empty is all.
        query_timestamp: the "now" of the question; None is the clock's now.
        response_schema: a JSON schema for a structured answer; that needs a language model.
    """

    query: str
    context: str | None = None
    budget: Budget = Budget.LOW
    max_tokens: int = 4096
    tags: TagFilter | None = None
    fact_types: tuple[str, ...] | None = None
    query_timestamp: datetime | None = None
    response_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One search that the answer rests on. `output` is JSON-able."""

    tool: str
    input: Mapping[str, Any]
    output: Mapping[str, Any]
    duration_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectOutcome:
    """The answer to a `ReflectQuery`.

    Args:
        text: Markdown; ``[n]`` cites the n-th fact of `based_on`.
        based_on: the facts that the answer cites, in the order of their numbers.
        structured_output: always None without a language model.
        structured_output_error: why there is none, when a schema was given.
        input_tokens, output_tokens: tokens of a language model, 0 without one.
    """

    text: str
    based_on: tuple[Fact, ...]
    tool_calls: tuple[ToolCall, ...]
    structured_output: Mapping[str, Any] | None = None
    structured_output_error: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
