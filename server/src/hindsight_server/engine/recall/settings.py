"""What of recall can be set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Memory and ranking of recall.

    Args:
        view_bytes: memory for the banks used last, all together; the one in use is kept even above it.
        posting_bytes: of it, for the posting lists of one bank.
        vector_bytes: of it, for the token vectors of one bank.
        weights: a file of ranking weights instead of the bundled one.
    """

    view_bytes: int = 512 * _MIB
    posting_bytes: int = 32 * _MIB
    vector_bytes: int = 16 * _MIB
    weights: Path | None = None
