"""How a refresh came to its result, as plain values of the API's shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hindsight_server.engine.mental_models.types import Refreshing
from hindsight_server.engine.reflect.types import ToolCall
from hindsight_server.ports.llm import Usage


def trace_of(run: Refreshing, at: datetime, *, with_output: bool) -> dict[str, Any]:
    """The trace of a refresh; what tools gave is left out of one that is stored."""
    return {
        "recorded_at": at.isoformat(),
        "effective_mode": run.effective,
        "mode_fallback_reason": run.fallback,
        "outcome": run.outcome,
        "tool_calls": [_tool_call(call, with_output=with_output) for call in run.tool_calls],
        "llm_calls": [
            {"scope": call.scope, "duration_ms": round(call.duration_seconds * 1000)} for call in run.model_calls
        ],
        "delta_operations": delta_of(run),
        "retraction": None,
        "usage": usage_of(run.usage),
        "duration_ms": round(run.duration_seconds * 1000),
        "warnings": list(run.warnings),
    }


def delta_of(run: Refreshing) -> dict[str, Any] | None:
    """The edits of a delta, None for a full refresh."""
    if run.applied is None or run.skipped is None:
        return None
    return {"applied": [dict(one) for one in run.applied], "skipped": [dict(one) for one in run.skipped]}


def used_of(run: Refreshing) -> Mapping[str, int]:
    """The number of named memories by type."""
    return Counter(fact.fact_type.value for fact in run.used)


def usage_of(usage: Usage) -> dict[str, int]:
    """Tokens of the language model."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _tool_call(call: ToolCall, *, with_output: bool) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "reason": None,
        "input": dict(call.input),
        "output": dict(call.output) if with_output else None,
        "updated_at": None,
        "result_count": next((len(value) for value in call.output.values() if isinstance(value, list)), None),
        "duration_ms": round(call.duration_seconds * 1000),
        "iteration": call.iteration,
    }
