"""Archives as files of one folder; a file's name is its key."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from hindsight_server.domain.errors import Conflict, HindsightServerError, NotFound
from hindsight_server.ports.archives import ArchiveKind, StoredArchive

_KEY = re.compile(r"[0-9a-f]{24}\.(?P<expires>[0-9]{1,12})\.[A-Za-z0-9_-]{43}")
_UNFINISHED = ".part"
_TENANT = "default"


class FolderArchives:
    """`Archives` in a folder, which is made when the first one is kept.

    Args:
        folder: the folder; nothing else is in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._withdrawn: Counter[str] = Counter()

    def put(
        self, bank_id: str, kind: ArchiveKind, expires_at: datetime, write: Callable[[BinaryIO], None]
    ) -> StoredArchive:
        bank = _bank_mark(bank_id)
        with self._lock:
            before = self._withdrawn[bank]
        key = f"{bank}.{int(expires_at.timestamp())}.{secrets.token_urlsafe(32)}"
        path = self._path(key, kind)
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with unfinished.open("xb") as file:
                os.chmod(unfinished, 0o600)
                write(file)
                file.flush()
                os.fsync(file.fileno())
            with self._lock:
                if kind is ArchiveKind.EXPORT and self._withdrawn[bank] != before:
                    raise Conflict("Memories were forgotten while the export was being written; it is begun again.")
                unfinished.replace(path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            if isinstance(error, OSError):
                raise HindsightServerError(f"The archive can't be kept: {error.strerror}.") from error
            raise
        return StoredArchive(key, path.stat().st_size)

    def open(self, key: str, kind: ArchiveKind, now: datetime) -> tuple[BinaryIO, int]:
        found = _KEY.fullmatch(key)
        if found is None or int(found["expires"]) <= now.timestamp():
            raise _no_archive()
        try:
            file = self._path(key, kind).open("rb")
        except FileNotFoundError:
            raise _no_archive() from None
        return file, os.fstat(file.fileno()).st_size

    def delete(self, key: str, kind: ArchiveKind) -> None:
        if _KEY.fullmatch(key):
            self._path(key, kind).unlink(missing_ok=True)

    def withdraw(self, bank_id: str) -> int:
        bank = _bank_mark(bank_id)
        with self._lock:
            self._withdrawn[bank] += 1
            # Also what a crash left half written.
            found = list(self._folder.glob(f"{ArchiveKind.EXPORT}-{bank}.*.zip*"))
            for path in found:
                path.unlink(missing_ok=True)
        return len(found)

    def sweep(self, now: datetime) -> int:
        deleted = 0
        for path in self._folder.glob("*"):
            found = _KEY.search(path.name)
            if found is not None and int(found["expires"]) <= now.timestamp():
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
                    deleted += 1
        return deleted

    def _path(self, key: str, kind: ArchiveKind) -> Path:
        return self._folder / f"{kind}-{key}.zip"


def _bank_mark(bank_id: str) -> str:
    return hashlib.sha256(f"{_TENANT}\0{bank_id}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _no_archive() -> NotFound:
    return NotFound("There is no such file: it never was, it has expired, or what it held was changed by a deletion.")
