"""What keeps archive files for a while: exports that wait to be fetched, uploads that wait to be imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Protocol


class ArchiveKind(StrEnum):
    EXPORT = "export"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """An archive that was kept: the key by which alone it is found, and its size."""

    key: str
    byte_size: int


class Archives(Protocol):
    """All methods block; they are called in worker threads. Keys can't be guessed and say nothing of their bank."""

    def put(
        self, bank_id: str, kind: ArchiveKind, expires_at: datetime, write: Callable[[BinaryIO], None]
    ) -> StoredArchive:
        """Keep what `write` writes. Raises Conflict when the bank's exports were withdrawn meanwhile."""
        ...

    def open(self, key: str, kind: ArchiveKind, now: datetime) -> tuple[BinaryIO, int]:
        """The archive and its size. Raises NotFound for an unknown, expired or withdrawn one."""
        ...

    def delete(self, key: str, kind: ArchiveKind) -> None:
        """Delete an archive, if it is there."""
        ...

    def withdraw(self, bank_id: str) -> int:
        """Delete all exports of a bank, also those being written; the number deleted."""
        ...

    def sweep(self, now: datetime) -> int:
        """Delete what has expired; the number deleted."""
        ...
