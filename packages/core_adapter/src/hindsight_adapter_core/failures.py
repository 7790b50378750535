"""Failures of memory operations as bounded, secret-free sentences."""

from __future__ import annotations

import json
import logging
import traceback
from typing import Any

from .errors import ConcealedError, HindsightError, OperationError, OperationTimeoutError
from .retry import outcome_open
from .serialization import safe_url, scrub
from .settings import HINDSIGHT_API_KEY_ENV, HINDSIGHT_API_URL_ENV
from .tools import Operation

__all__ = [
    "FAILURE_DETAIL_LIMIT",
    "FAILURE_PREFIXES",
    "describe_failure",
    "log_traceback",
    "refused_for_good",
    "without_key",
]

FAILURE_PREFIXES: dict[Operation, str] = {
    "retain": "Failed to store memory: ",
    "recall": "Failed to search memory: ",
    "reflect": "Failed to reflect on memory: ",
}
#: Answers in the range of refusals that a later try may well not meet again.
_PASSING = frozenset({401, 403, 408, 423, 425, 429})
_MOVED = frozenset({301, 302, 303, 307, 308})
#: Characters of exception type and text that a failure sentence shows.
FAILURE_DETAIL_LIMIT = 200


def describe_failure(
    operation: Operation, error: Exception, *, seconds: float | None = None, secret: str | None = None
) -> OperationError:
    """The documented sentence for ``error`` as an exception to raise or to show.

    Exception type and text are cut at 200 characters in all. A timeout has no text of its own and is described.

    Args:
        operation: what failed.
        error: why.
        seconds: the deadline, told when it passed.
        secret: a key to blot out.
    """
    text = " ".join(scrub(_error_text(error), secret).split())
    if operation == "retain" and getattr(error, "status", None) == 404:
        # A bank that is not there is made by a write, so it is the address that is not there.
        text = f"{text}; is {HINDSIGHT_API_URL_ENV} the address of a memory server?"
    unknown = operation == "retain" and outcome_open(error)
    if isinstance(error, TimeoutError) and not text:
        text = "timed out" + (f" after {seconds:g} s" if seconds else "") + ", outcome unknown"
    elif unknown:
        text = f"outcome unknown: {text}"
    detail = f"{type(error).__name__}: {text}"[:FAILURE_DETAIL_LIMIT]
    kind = OperationTimeoutError if isinstance(error, TimeoutError) else OperationError
    return kind(FAILURE_PREFIXES[operation] + detail, operation=operation, outcome_unknown=unknown)


def refused_for_good(error: HindsightError) -> bool:
    """True when the same call would fail again: the server refused what it was asked, or the settings forbid it."""
    status = getattr(error.__cause__, "status", None)
    if isinstance(status, int):
        return status < 500 and status not in _PASSING
    # Anything but a failed operation is a matter of settings: no key, no bank.
    return not isinstance(error, OperationError)


def log_traceback(logger: logging.Logger, what: str, error: Exception, *, secret: str | None = None) -> None:
    """Log at debug level how something failed, with its traceback as text.

    Not by ``exc_info``: the client's errors quote the server's answer, and a server may quote the key it was sent.
    """
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s failed\n%s", what, scrub("".join(traceback.format_exception(error)), secret))


def without_key(error: Exception, secret: str | None) -> Exception:
    """``error`` to be chained as a cause: itself, or what it says without the key when a print of it shows that."""
    shown = "".join(traceback.format_exception(error)) + "".join(f"{one!r}{vars(one)}" for one in _chained(error))
    if scrub(shown, secret) == shown:
        return error
    status, body = getattr(error, "status", None), getattr(error, "body", None)
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
    return ConcealedError(
        scrub(f"{type(error).__name__}: {_error_text(error)}", secret),
        status=status if isinstance(status, int) else None,
        body=scrub(text, secret),
    )


def _chained(error: BaseException) -> list[BaseException]:
    met: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in met:
            met.append(one)
            waiting += [one.__cause__, one.__context__]
    return met


def _error_text(error: Exception) -> str:
    # By name: the transport must not be imported to describe what it could not have raised.
    kinds = {kind.__name__ for kind in type(error).__mro__}
    address = f"{getattr(error, 'host', '')}:{getattr(error, 'port', '')}"
    if "ClientSSLError" in kinds:
        reason = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
        return f"no TLS with {address} ({reason}). Does {HINDSIGHT_API_URL_ENV} say https:// where http:// is served?"
    if "ClientConnectorError" in kinds:
        return (
            f"cannot reach {address}. Is the memory server running (`hindsight serve`), "
            f"and is {HINDSIGHT_API_URL_ENV} its address?"
        )
    status, reason = getattr(error, "status", None), getattr(error, "reason", None)
    body = getattr(error, "body", None)
    if not isinstance(status, int) or not hasattr(error, "body"):
        return str(error)
    # The generated client's errors print four lines of headers; the reason is in the body.
    detail: Any = body
    try:
        parsed = json.loads(body) if isinstance(body, str | bytes) else body
        detail = parsed.get("detail", parsed) if isinstance(parsed, dict) else parsed
    except ValueError:
        pass
    if status in _MOVED:
        where = safe_url(str((getattr(error, "headers", None) or {}).get("Location") or "another address"))
        asked = f"is {HINDSIGHT_API_URL_ENV} its address?"
        return f"HTTP {status}: the server redirects to {where}, which is not followed; {asked}"
    text = f"HTTP {status} {reason or ''}: {detail if detail is not None else ''}".rstrip(": ")
    return f"{text} Set {HINDSIGHT_API_KEY_ENV}, or give api_key." if status == 401 else text
