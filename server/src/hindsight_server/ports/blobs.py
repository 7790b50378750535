"""What keeps the bytes of attachments and uploads, outside of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    """One blob of a listing; `byte_size` is what it takes."""

    space: str
    digest: str
    byte_size: int


class BlobStore(Protocol):
    """Bytes by their SHA-256, kept apart by space: a bank has one, whose name (lower-case hexadecimal digits) says
    nothing of the bank's id (`domain.attachments.blob_space`).

    The same bytes are kept once in a space. Who uses them is known elsewhere: whoever deletes has made sure that nobody
    does. Every method raises HindsightServerError when the place of the blobs can't be reached.
    """

    async def clear_unfinished(self) -> int:
        """Delete what a killed process left half written; how many. Only before anything is kept."""
        ...

    async def put(self, space: str, data: bytes) -> str:
        """Keep bytes; their SHA-256 in hexadecimal digits. Whole and durable when it returns, or not there at all."""
        ...

    async def get(self, space: str, digest: str) -> bytes:
        """Raises NotFound, and HindsightServerError for bytes that are damaged."""
        ...

    async def delete(self, space: str, digest: str) -> None:
        """No error when it is not there."""
        ...

    def list(self, space: str | None = None) -> AsyncIterator[StoredBlob]:
        """All blobs, or those of one space, in any order."""
        ...

    async def close(self) -> None: ...
