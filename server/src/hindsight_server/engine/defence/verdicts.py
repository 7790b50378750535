"""From what was found to violations and events: words that hold nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.defence.events import Found, SecurityEvent, Violation
from hindsight_server.domain.defence.policy import Action, Detector
from hindsight_server.domain.ids import new_id
from hindsight_server.engine.defence.scanning import Scan, Scanner, Seen, by_detector, worst

Kinds = Mapping[tuple[str, str], Seen]

_WHAT = {Detector.SENSITIVE_DATA: "sensitive data", Detector.PROMPT_INJECTION: "an order to a model"}
_ID_KEPT = "An id can't be redacted, since two documents could become one: use another id."


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a decision is about; the fields are those of `SecurityEvent`."""

    source: str
    document_id: str | None = None
    memory_id: str | None = None
    operation_id: str | None = None
    receipt_uri: str | None = None


@dataclass(slots=True)
class Verdict:
    """What was decided about one thing.

    Args:
        index: its place in the request.
    """

    subject: Subject
    now: datetime
    index: int = 0
    violations: list[Violation] = field(default_factory=list)
    events: list[SecurityEvent] = field(default_factory=list)

    def block(self, detector: Detector, severity: str, message: str, found: tuple[Found, ...] = ()) -> None:
        """It is not stored."""
        self.violations.append(Violation(self.index, detector.value, severity, message))
        self._note(detector, Action.BLOCK, severity, message, found)

    def judge(self, scan: Scan, scanner: Scanner, *, whole: bool = False) -> None:
        """Decide about what a scan found: kinds that block keep the whole out, as does an id that would change.

        Args:
            whole: it can only be stored as it is.
        """
        for detector, kinds in by_detector(scan.seen).items():
            ids = {key: seen for key, seen in kinds.items() if key[1] == "document_id"}
            blocked = {key: seen for key, seen in kinds.items() if whole or scanner.blocks(key[0])} | ids
            taken_out = {key: seen for key, seen in kinds.items() if key not in blocked}
            if blocked:
                told = _told(detector, blocked)
                message = f"{told}. {_ID_KEPT if blocked == ids else 'Take it out and send the rest again.'}"
                self.block(detector, _severity(blocked), message, _found(blocked))
            if taken_out:
                message = f"{_told(detector, taken_out)}; it was taken out."
                self._note(detector, Action.REDACT, _severity(taken_out), message, _found(taken_out))

    def _note(self, detector: Detector, action: Action, severity: str, message: str, found: tuple[Found, ...]) -> None:
        hidden: dict[str, Any] = {}
        if any(kind.field == "document_id" for kind in found):
            hidden["document_id"] = None
        subject = {name: getattr(self.subject, name) for name in Subject.__slots__} | hidden
        self.events.append(
            SecurityEvent(
                event_id=new_id(),
                created_at=self.now,
                detector=detector.value,
                action=action.value,
                severity=severity,
                message=message,
                found=found,
                item_index=self.index if self.subject.source == "retain" else None,
                **subject,
            )
        )


def _told(detector: Detector, kinds: Kinds) -> str:
    labels = ", ".join(sorted({label for label, _ in kinds}))
    fields = ", ".join(sorted({name for _, name in kinds}))
    count = sum(seen.count for seen in kinds.values())
    times = "once" if count == 1 else f"{count} times"
    named = f" ({labels})" if detector is Detector.SENSITIVE_DATA else ""
    return f"It holds {_WHAT[detector]}{named} {times}, in {fields}"


def _severity(kinds: Kinds) -> str:
    return worst([seen.severity for seen in kinds.values()])


def _found(kinds: Kinds) -> tuple[Found, ...]:
    return tuple(Found(label, name, seen.count, tuple(seen.positions)) for (label, name), seen in kinds.items())
