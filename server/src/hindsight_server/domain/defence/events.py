"""What memory defence decided, in words that hold nothing of what it found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Violation:
    """Why an item of a request was not stored.

    Args:
        index: the item's, from 0.
        detector: the rule's, of `policy.Detector`.
        severity: one of `findings.SEVERITIES`.
        message: what is wrong; never what was found.
    """

    index: int
    detector: str
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class Found:
    """How often a kind of thing was found in a field.

    Args:
        label: the kind; the detector's name where it has no kinds.
        field: ``content``, ``context``, ``metadata``, ``tags``, ``entities``, ``document_id``, ...
        count: how often.
        positions: where, in characters; only of plain texts, and of the first few.
    """

    label: str
    field: str
    count: int
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """One decision about one item.

    Args:
        detector, action: the rule's.
        source: ``retain``, ``import``, ``memory`` (an edit of one), ``document`` (of its tags or scopes) or ``entity``
            (a name that a user gave one).
        item_index: of `retain`, the item's place in the request.
        document_id: where it went, or would have gone; None when the id is itself what was found.
        memory_id: of an edit.
        operation_id: of the request, when it had one.
        receipt_uri: what the caller gave with the item.
        message: what was decided; never what was found.
    """

    event_id: str
    created_at: datetime
    detector: str
    action: str
    severity: str
    source: str
    message: str
    found: tuple[Found, ...] = ()
    item_index: int | None = None
    document_id: str | None = None
    memory_id: str | None = None
    operation_id: str | None = None
    receipt_uri: str | None = None
