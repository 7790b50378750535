"""Ids of task memory: the same work has the same ids, on every device and at every retry."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from ..recent import RecentMap

__all__ = ["SessionClock", "content_hash", "session_id_for", "task_document_id", "task_id_for", "user_tag"]

#: A session ends with this much silence, and its first event's time is rounded down to a multiple of it.
IDLE = timedelta(minutes=30)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def content_hash(text: str) -> str:
    """SHA-256 of the stripped, lower-cased text, in hex; case and outer white space do not count."""
    return hashlib.sha256(text.strip().lower().encode()).hexdigest()


def task_id_for(user_id: str, action: str, version: str = "") -> str:
    """``task-<12 hex digits>`` of user, action and version (case and outer white space do not count), never random.

    So a retry of the same task, in another process or a week later, carries on the same task. Give another
    ``version`` for another task.
    """
    return "task-" + _digest("task", user_id.strip(), action.strip().lower(), version.strip().lower())[:12]


def session_id_for(user_id: str, at: datetime, *, idle: timedelta = IDLE) -> str:
    """``session-<12 hex digits>`` of the user and the time bucket in which the session began.

    Args:
        user_id: whose session.
        at: the session's first event, with an offset.
        idle: width of a bucket.
    """
    bucket = int(at.astimezone(UTC).timestamp() // idle.total_seconds())
    return "session-" + _digest("session", user_id.strip(), str(bucket))[:12]


def task_document_id(task_id: str, user_id: str) -> str:
    """The document that a task's events are appended to; users who share a bank share no document."""
    return task_id if task_id.startswith("task-") else f"task-{_digest('document', user_id.strip(), task_id)[:12]}"


def user_tag(user_id: str) -> str:
    """The tag on everything that task memory stores for a user."""
    return f"user:{user_id}"


class SessionClock:
    """Which session a user is in: the same one until ``idle`` has passed without an event.

    Share one between all that serve a user in this process (the default does), and devices share sessions. Across
    processes the id is the same when the sessions begin in the same bucket; :class:`TaskMemory` also asks the bank.
    Copies are the clock itself, so that a copied agent goes on in its user's session; pickles know no session.

    Args:
        idle: silence that ends a session.
        limit: users remembered; the least recently active are forgotten first.
    """

    def __init__(self, idle: timedelta = IDLE, *, limit: int = 10_000) -> None:
        self.idle = idle
        self._active: RecentMap[tuple[str, str], tuple[str, datetime]] = RecentMap(limit)

    def __copy__(self) -> SessionClock:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> SessionClock:
        return self

    def current(self, user_id: str, at: datetime, *, scope: str = "") -> str | None:
        """The user's running session at that time, or ``None`` when there is none known."""
        known = self._active.get((scope, user_id))
        return known[0] if known is not None and abs(at - known[1]) <= self.idle else None

    def touch(self, user_id: str, at: datetime, *, scope: str = "", joined: str | None = None) -> str:
        """Note an event; returns the id of its session.

        Args:
            user_id: whose.
            at: when, with an offset.
            scope: keeps users of the same name apart, e.g. the bank.
            joined: the id to go on with when none is running here.
        """
        session_id = self.current(user_id, at, scope=scope) or joined or session_id_for(user_id, at, idle=self.idle)

        def latest(last: tuple[str, datetime] | None) -> tuple[str, datetime]:
            return session_id, max(at, last[1]) if last is not None and last[0] == session_id else at

        return self._active.change((scope, user_id), latest)[0]
