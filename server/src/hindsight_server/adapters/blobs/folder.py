"""Blobs as files of one folder: ``SPACE/DIGEST``."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from hindsight_server.adapters.blobs.keys import check_digest, check_space, checked, is_digest, is_space, no_blob
from hindsight_server.domain.errors import HindsightServerError
from hindsight_server.ports.blobs import StoredBlob

_UNFINISHED = ".part"


class FolderBlobs:
    """`BlobStore` in a folder, which is made when the first blob is kept. Files are readable by their owner only.

    Args:
        folder: the folder; nothing else is in it.

    Example:
        >>> blobs = FolderBlobs(Path("blobs"))
        >>> digest = await blobs.put("0123456789abcdef", b"bytes")
        >>> await blobs.get("0123456789abcdef", digest)
        b'bytes'
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def clear_unfinished(self) -> int:
        return await asyncio.to_thread(self._clear_unfinished)

    async def put(self, space: str, data: bytes) -> str:
        with _told("kept"):
            return await asyncio.to_thread(self._put, self._folder / check_space(space), data)

    async def get(self, space: str, digest: str) -> bytes:
        return await asyncio.to_thread(self._get, self._folder / check_space(space) / check_digest(digest))

    async def delete(self, space: str, digest: str) -> None:
        await asyncio.to_thread(self._delete, self._folder / check_space(space) / check_digest(digest))

    async def list(self, space: str | None = None) -> AsyncIterator[StoredBlob]:
        with _told("listed"):
            found = await asyncio.to_thread(lambda: list(self._found(space)))
        for stored in found:
            yield stored

    async def close(self) -> None:
        """Nothing is held open."""

    def _clear_unfinished(self) -> int:
        left = list(self._folder.glob(f"*/*{_UNFINISHED}"))
        for path in left:
            path.unlink(missing_ok=True)
        return len(left)

    def _put(self, folder: Path, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = folder / digest
        with contextlib.suppress(OSError):
            if path.stat().st_size == len(data) and path.read_bytes() == data:
                return digest
        unfinished = folder / f"{digest}.{secrets.token_hex(8)}{_UNFINISHED}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished.open("xb") as file:
                os.chmod(unfinished, 0o600)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            _sync_folder(folder)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise
        return digest

    def _get(self, path: Path) -> bytes:
        with _told("read"):
            try:
                return checked(path.read_bytes(), path.name)
            except FileNotFoundError:
                raise no_blob() from None

    def _delete(self, path: Path) -> None:
        with _told("deleted"):
            path.unlink(missing_ok=True)

    def _found(self, space: str | None) -> Iterator[StoredBlob]:
        folders = [self._folder / check_space(space)] if space else list(self._folder.glob("*"))
        for folder in folders:
            if not is_space(folder.name):
                continue
            for path in folder.glob("*"):
                with contextlib.suppress(FileNotFoundError):
                    if is_digest(path.name):
                        yield StoredBlob(space=folder.name, digest=path.name, byte_size=path.stat().st_size)


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HindsightServerError(f"The bytes of an attachment can't be {what}: {error.strerror}.") from error


def _sync_folder(folder: Path) -> None:
    """Make the new name durable too; Windows has no way to, and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
