"""All kinds of sensitive data in one pass over a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator

from hindsight_server.adapters.detect import personal, secrets
from hindsight_server.adapters.detect.numbers import numbers
from hindsight_server.domain.defence.findings import PLACEHOLDER, PLACEHOLDERS, Finding, merged, narrowed
from hindsight_server.domain.defence.labels import SENSITIVE_LABELS

_PATTERNS = tuple(pattern for pattern in (*secrets.PATTERNS, *personal.PATTERNS) if pattern.words)
_OF_DIGITS = tuple(pattern for pattern in personal.PATTERNS if not pattern.words)
# What every number that is looked for holds somewhere; most texts hold only years and counts.
_DIGITS = re.compile(r"\d{3}[^0-9]?[\dA-Z]|\d[ .\-/():]\d|[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}|:[0-9A-Fa-f]{0,4}:")
_Places = Callable[[str], Iterator[tuple[int, int]]]
_WITH_DIGITS: tuple[tuple[str, _Places], ...] = (
    ("ip_address", personal.addresses),
    ("iban", personal.ibans),
)


class SensitiveData:
    """`SensitiveDetector` of the formats in this package.

    Example:
        >>> [found.label for found in SensitiveData().find("Ann: ann@example.org, card 4111 1111 1111 1111")]
        ['email', 'credit_card']
    """

    def find(self, text: str, labels: Collection[str] | None = None) -> list[Finding]:
        text = narrowed(text)
        lowered = text.lower()
        found = (
            Finding(label, start, end, SENSITIVE_LABELS[label], echoes)
            for label, start, end, echoes in _all(text, lowered)
        )
        wanted = merged(finding for finding in found if labels is None or finding.label in labels)
        if PLACEHOLDER not in text:
            return wanted
        taken = [match.span() for match in PLACEHOLDERS.finditer(text)]
        return [finding for finding in wanted if not _inside(finding, taken)]


def _all(text: str, lowered: str) -> Iterator[tuple[str, int, int, bool]]:
    ends_of_passwords = set()  # the sign behind a password in a URL makes no e-mail address
    for pattern in _PATTERNS:
        for start, end in pattern.places(text, lowered):
            yield pattern.label, start, end, pattern.echoes
            ends_of_passwords.add(end)
    for start, end in secrets.passwords(text, lowered):
        yield "password", start, end, True
    for start, end in secrets.private_keys(text):
        yield "private_key", start, end, False
    for start, end in personal.emails(text) if "@" in text else ():
        if text.index("@", start) not in ends_of_passwords:
            yield "email", start, end, False
    if _DIGITS.search(text):
        for label, start, end in _of_digits(text, lowered):
            yield label, start, end, False


def _of_digits(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    for pattern in _OF_DIGITS:
        for start, end in pattern.places(text, lowered):
            yield pattern.label, start, end
    for start, end in personal.phones(text, lowered):
        yield "phone", start, end
    for label, places in _WITH_DIGITS:
        for start, end in places(text):
            yield label, start, end
    yield from numbers(text)


def _inside(finding: Finding, taken: list[tuple[int, int]]) -> bool:
    """Whether a finding lies in one of the places, which are in order."""
    index = bisect_right(taken, finding.start, key=lambda place: place[0])
    return index > 0 and finding.end <= taken[index - 1][1]
