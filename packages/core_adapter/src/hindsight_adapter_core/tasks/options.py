"""Options of task memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import SettingsError
from .model import CLASSIFICATIONS, Classification, TaskEvent, TaskSummary

__all__ = ["TaskOptions"]


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """How a task memory behaves.

    Attributes:
        timezone: the user's zone, an IANA name such as ``"Asia/Shanghai"``, in which "yesterday" is understood; default
            the machine's.
        classification: of what is stored without one; default ``"P2"``.
        window: how far back a search looks, off by default. A query that names a time of its own is not narrowed.
        time_limit: silence after which a task counts as ended; default 2 hours.
        background: do not wait for the server at each event, as with the memory's ``retain_async``; default wait for
            its first answer, at most the retain deadline, and not at all while it is known to be away.
        link_tasks: look for earlier tasks about the same thing when one is closed (one search a task).
        join_sessions: ask the bank for a running session at a user's first event in this process (one search), so that
            processes share sessions.
        end_phrases: more phrases with which users end tasks.
        summarize: makes anchor and context summary instead of the built-in rules, e.g. with an LLM of yours:
            ``(title, events) -> TaskSummary``. It is called on the memory loop and must not block for long. When it
            fails, which is logged, the built-in rules are used.
        clock: what time it is, with an offset; for tests.

    Raises:
        SettingsError: a value is out of range or the zone is unknown.
    """

    timezone: str | None = None
    classification: Classification = "P2"
    window: timedelta | None = None
    time_limit: timedelta = timedelta(hours=2)
    background: bool = False
    link_tasks: bool = True
    join_sessions: bool = True
    end_phrases: Sequence[str] = ()
    summarize: Callable[[str, Sequence[TaskEvent]], TaskSummary] | None = None
    clock: Callable[[], datetime] | None = None

    def __post_init__(self) -> None:
        if self.classification not in CLASSIFICATIONS:
            raise SettingsError(f"classification must be P1, P2 or P3, not {self.classification!r}")
        for name in ("window", "time_limit"):
            value = getattr(self, name)
            if value is not None and value <= timedelta(0):
                raise SettingsError(f"{name} must be a positive timedelta, not {value!r}")
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ZoneInfoNotFoundError, ValueError):
                raise SettingsError(
                    f"timezone must be an IANA name such as 'Europe/Paris', not {self.timezone!r}"
                ) from None

    def now(self) -> datetime:
        """The time in the user's zone."""
        return self.localized(self.clock() if self.clock else datetime.now().astimezone())

    def localized(self, at: datetime) -> datetime:
        """The same moment in the user's zone; a time without an offset is taken as the user's local time."""
        zone = ZoneInfo(self.timezone) if self.timezone else None
        if at.tzinfo is None:
            return at.replace(tzinfo=zone) if zone else at.astimezone()
        return at.astimezone(zone) if zone else at
