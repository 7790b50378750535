"""Places in a text that hold something unwanted, and taking it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

PLACEHOLDER = "[REDACTED:"
PLACEHOLDERS = re.compile(re.escape(PLACEHOLDER) + r"[a-z0-9_]{1,40}\]")
SEVERITIES = ("low", "medium", "high", "critical")

# Characters of East Asian input methods that stand for ASCII ones; one for one, so that positions stay.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text.

    Args:
        label: its kind, for example ``email``.
        start, end: its place, in characters.
        severity: one of `SEVERITIES`.
        echoes: whether the same characters elsewhere are the same secret though nothing there says so (a password).
    """

    label: str
    start: int
    end: int
    severity: str
    echoes: bool = False


def narrowed(text: str) -> str:
    """The text with full-width letters, digits and signs as ASCII ones; every position stays what it was."""
    return text if text.isascii() else text.translate(_NARROW)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order; those that overlap become one, with the label of the most severe, then the longest."""
    joined: list[Finding] = []
    for finding in sorted(findings, key=lambda found: (found.start, -found.end)):
        if joined and finding.start < joined[-1].end:
            stronger = max(joined[-1], finding, key=_weight)
            end = max(joined[-1].end, finding.end)
            joined[-1] = replace(stronger, start=joined[-1].start, end=end)
        else:
            joined.append(finding)
    return joined


def redacted(text: str, findings: Sequence[Finding]) -> str:
    """The text with each of the (merged) findings replaced by ``[REDACTED:<label>]``.

    Example:
        >>> redacted("write to ann@example.org", [Finding("email", 9, 24, "medium")])
        'write to [REDACTED:email]'
    """
    pieces, position = [], 0
    for finding in findings:
        pieces += [text[position : finding.start], f"{PLACEHOLDER}{finding.label}]"]
        position = finding.end
    return "".join([*pieces, text[position:]])


def blanked(text: str) -> str:
    """The text with spaces in the places of placeholders, which are no words of whoever wrote it.

    Example:
        >>> blanked("ask [REDACTED:email] now") == "ask " + " " * 16 + " now"
        True
    """
    return PLACEHOLDERS.sub(lambda match: " " * len(match.group()), text) if PLACEHOLDER in text else text


def _weight(finding: Finding) -> tuple[int, int]:
    return SEVERITIES.index(finding.severity), finding.end - finding.start
