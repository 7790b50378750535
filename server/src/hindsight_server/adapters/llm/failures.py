"""What a provider's failure means: try later, or give up. No message holds a key or anything of the question."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from hindsight_server.adapters.llm.codes import may_be_shown
from hindsight_server.adapters.llm.endpoint import Endpoint
from hindsight_server.domain.errors import (
    KeyRefused,
    ModelError,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
    QuestionTooLong,
)

# The statuses of "not like this": something in the request is not understood.
_MISUNDERSTOOD = frozenset({400, 415, 422, 501})
# llama.cpp answers 500 to what it was not started for: pictures, tools.
_UNSUPPORTED = re.compile(r"not supported|unsupported|requires --", re.IGNORECASE)
# Groq's codes for a question that was understood: what the model wrote did not follow it this time.
FAILED_ANSWERS = frozenset({"json_validate_failed", "tool_use_failed"})
_LATER = frozenset({408, 409, 425, 429, 529})
_TOO_LONG = re.compile(
    r"context.{0,3}(length|size|window|limit)|maximum context|prompt is too long|too many (input )?tokens|"
    r"reduce the length|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_NO_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})


def failure(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: Any) -> ModelError:
    """The error of an answer that is none.

    Args:
        body: the decoded JSON of the answer, or None. Only a code of known words is shown of it: its prose, and what
            else may stand in the place of a code, may repeat the key or the question.
    """
    codes = error_codes(body)
    code = next((code for code in codes if may_be_shown(code, endpoint.secrets)), None)
    if status == 500 and misunderstood(status, body):
        status = 501
    told = f" ({status}, {code})" if code else f" ({status})"
    if not _NO_QUOTA.isdisjoint(codes):
        return ModelRefused(f"{endpoint.name}: the account has no credit left{told}.")
    if status in _LATER or (status >= 500 and status != 501):
        what = "is asked too often" if status == 429 else "is overloaded or down"
        return ModelUnavailable(f"{endpoint.name} {what}{told}.", retry_after=retry_after(headers))
    if status == 413 or _TOO_LONG.search(error_text(body)):
        return QuestionTooLong(f"{endpoint.name}: the question is longer than it can read{told}.")
    kind = KeyRefused if status in (401, 403) else ModelRefused
    return kind(f"{endpoint.name} {_reason(status)}{told}.")


def late(endpoint: Endpoint) -> ModelTimedOut:
    """The error of an answer that did not come in time."""
    return ModelTimedOut(f"{endpoint.name} did not answer in time.")


def unreachable(endpoint: Endpoint, error: BaseException) -> ModelError:
    """The error of a connection that could not be made or broke; of the library's error only the kind is told.

    An answer that we did not want to read on breaks it too, and has its own.
    """
    if isinstance(error.__cause__, ModelError):
        return error.__cause__
    return ModelUnavailable(f"{endpoint.name} can't be reached ({type(error.__cause__ or error).__name__}).")


def misunderstood(status: int, body: Any) -> bool:
    """Whether something in the request is not understood, so that a simpler one may be."""
    return status in _MISUNDERSTOOD or (status == 500 and bool(_UNSUPPORTED.search(error_text(body))))


def _reason(status: int) -> str:
    if status in (401, 403):
        return "refuses the key, or is not allowed to it"
    if status == 404:
        return "is unknown there, or the address is wrong (it mostly ends in /v1)"
    if 300 <= status < 400:
        return "has moved to another address; name that one"
    return "does not know something in the request" if status == 501 else "refuses the request"


def error_codes(body: Any) -> tuple[str, ...]:
    """What stands in the places of an error's code, its kind and the parameter it names; to be read by code only."""
    error = _error(body)
    return tuple(found for part in ("code", "type", "param") if isinstance(found := error.get(part), str))


def error_text(body: Any) -> str:
    """What an error answer says in prose; to be read by code only."""
    error = _error(body)
    parts = [error.get(part) for part in ("message", "code", "type", "param")]
    return " ".join(part for part in parts if isinstance(part, str))[:4000]


def _error(body: Any) -> Mapping[str, Any]:
    if isinstance(body, list) and len(body) == 1:  # Gemini's errors come in a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a provider asks to wait: of ``retry-after-ms``, or ``retry-after`` as seconds or as a date.

    Example:
        >>> retry_after({"retry-after": "2"})
        2.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit)
        if seconds is not None:
            return seconds
    return None


def _seconds(text: str, unit: float) -> float | None:
    try:
        seconds = float(text) * unit
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
