"""What finds sensitive data in a text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from hindsight_server.domain.defence.findings import Finding


class SensitiveDetector(Protocol):
    """Blocking; safe to call from several threads; never raises for any text; its time grows with the text's length."""

    def find(self, text: str, labels: Collection[str] | None = None) -> list[Finding]:
        """Pieces of sensitive data, in order and apart from each other.

        Args:
            text: any text.
            labels: the kinds to look for, of `domain.defence.labels`; None is all.
        """
        ...
