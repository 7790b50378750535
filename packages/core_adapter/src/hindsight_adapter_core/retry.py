"""When a failed call may be tried again, and how long to wait.

A server that answers 429 or 503 has not done the work; its ``Retry-After`` (seconds or a date) is obeyed. A
connection that was never made has sent nothing. Anything else (502, 504, a connection lost midway) leaves the
outcome open, and is repeated only when a second arrival changes nothing. No wait goes beyond the deadline: rather
than wait in vain, the failure is reported at once. Cancelling cancels the wait.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar

# Not the module's own generator: that is the caller's to seed, and copies of a forked process would wait alike.
_JITTER = random.SystemRandom()

__all__ = [
    "KEY_REFUSED",
    "MAX_ATTEMPTS",
    "Standing",
    "outcome_open",
    "retry_after_seconds",
    "standing_after",
    "with_retries",
]

T = TypeVar("T")

#: How a server stands by its last answer: none was asked for yet; it answers; it refuses the key; it is out of reach.
Standing = Literal["unknown", "answers", "refuses", "away"]

#: Tries in all, the first included.
MAX_ATTEMPTS = 4
#: Seconds before the second try when the server names no time; doubled at each further one.
_FIRST_BACKOFF = 0.25

_REFUSED = frozenset({429, 503})
_OPEN = frozenset({502, 504})
#: The server does not take the key.
KEY_REFUSED = frozenset({401, 403})


async def with_retries(send: Callable[[], Awaitable[T]], *, repeatable: bool, deadline_at: float) -> T:
    """Call ``send`` until it succeeds, must not be repeated, or would miss the deadline.

    Args:
        send: makes one attempt.
        repeatable: a second arrival at the server changes nothing.
        deadline_at: loop time by which an answer is wanted.
    """
    loop = asyncio.get_running_loop()
    for attempt in range(1, MAX_ATTEMPTS):
        try:
            return await send()
        except Exception as error:
            # Not swallowed: only what names itself as passing is waited for, anything else is raised again.
            wait = _wait_before_retry(error, attempt, repeatable=repeatable)
            if wait is None or loop.time() + wait >= deadline_at:
                raise
        await asyncio.sleep(wait)
    return await send()


def _wait_before_retry(error: Exception, attempt: int, *, repeatable: bool) -> float | None:
    status = getattr(error, "status", None)
    backoff: float = _FIRST_BACKOFF * 2 ** (attempt - 1)
    # Spread: many clients that were refused together must not come back together.
    jittered = _JITTER.uniform(backoff / 2, backoff)
    if status in _REFUSED:
        asked = retry_after_seconds(error)
        return jittered if asked is None else asked + _JITTER.uniform(0, min(0.1 * asked, 1.0))
    if never_connected(error) or (repeatable and outcome_open(error) and not isinstance(error, TimeoutError)):
        return jittered
    return None


def retry_after_seconds(error: Exception, *, now: datetime | None = None) -> float | None:
    """The wait that the server asks for in ``Retry-After``, as seconds or as an HTTP date; ``None`` if it does not."""
    headers: Any = getattr(error, "headers", None)
    raw = None
    if hasattr(headers, "get"):
        raw = headers.get("Retry-After") or headers.get("retry-after")
    if not isinstance(raw, str | int | float):
        return None
    try:
        seconds = float(raw)
    except ValueError:
        try:
            moment = parsedate_to_datetime(str(raw))
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None


def never_connected(error: BaseException) -> bool:
    """True when no connection came about, so that nothing was sent."""
    aiohttp = sys.modules.get("aiohttp")
    if isinstance(error, ConnectionRefusedError):
        return True
    return aiohttp is not None and isinstance(error, aiohttp.ClientConnectorError)


def outcome_open(error: BaseException) -> bool:
    """True when the server may have done the work although the answer did not arrive."""
    if isinstance(error, TimeoutError) or getattr(error, "status", None) in _OPEN:
        return True
    if never_connected(error):
        return False
    aiohttp = sys.modules.get("aiohttp")
    return isinstance(error, ConnectionError) or (
        aiohttp is not None and isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError)
    )


def standing_after(error: BaseException) -> Standing:
    """What a failed call shows of its server. One that answered anything of its own is there."""
    status = getattr(error, "status", None)
    if isinstance(status, int):
        if status in KEY_REFUSED:
            return "refuses"
        return "away" if status in _OPEN or status == 503 else "answers"
    return "away" if never_connected(error) or outcome_open(error) else "unknown"
