"""What turns an item into turns, chunks and facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hindsight_server.domain.model import Extraction, RetainItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOptions:
    """Settings of a bank that steer extraction.

    Args:
        mode: ``concise``, ``verbose``, ``verbatim`` or ``chunks``.
        chunk_size: characters of a chunk at most.
    """

    mode: str = "concise"
    chunk_size: int = 3000


class Extractor(Protocol):
    """Blocking; safe to call from several threads; never raises for any text."""

    def extract(self, item: RetainItem, options: ExtractionOptions) -> Extraction:
        """Turns, chunks and facts of one item. Indexes count from 0 inside the item."""
        ...
