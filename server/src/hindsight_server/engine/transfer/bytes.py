"""The bytes of attachments in archives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from typing import BinaryIO

from hindsight_server.domain.attachments import from_untrusted
from hindsight_server.domain.errors import NotFound
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.engine.transfer.archive import Archive, ArchiveWriter, read_blob
from hindsight_server.ports.transfer import TransferDocument, TransferRecord

_log = logging.getLogger(__name__)


class AttachmentBytes:
    """Takes the bytes of attachments along.

    Args:
        keeper: keeps bytes; None takes none along.
    """

    def __init__(self, keeper: BlobKeeper | None = None) -> None:
        self._keeper = keeper

    def noting(
        self, add: Callable[[TransferRecord], None], digests: dict[str, None]
    ) -> Callable[[TransferRecord], None]:
        """`add`, which also notes the digests of what documents hold."""

        def take(record: TransferRecord) -> None:
            add(record)
            if isinstance(record, TransferDocument):
                digests.update(dict.fromkeys(digests_in([record])))

        return take

    def write(
        self, writer: ArchiveWriter, bank_id: str, digests: Iterable[str], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Add the bytes of a bank's attachments to an archive, from a thread beside the event loop.

        What is not there any more is left out: its document then tells of an attachment that can't be fetched.
        """
        if self._keeper is None:
            return
        for digest in digests:
            reading = self._keeper.read(bank_id, digest)
            try:
                data = asyncio.run_coroutine_threadsafe(reading, loop).result()
            except NotFound:
                _log.warning("bytes %s of bank %r are not there and are left out of an archive", digest[:16], bank_id)
                continue
            writer.add_blob(digest, data)

    @asynccontextmanager
    async def keeping(self, archive: Archive, target: str, open_archive: Callable[[], BinaryIO]) -> AsyncIterator[None]:
        """Around the write of what an archive brings: the bytes of its attachments are there before it."""
        wanted = [digest for digest in digests_in(archive.documents) if digest in archive.blobs]

        async def read(digest: str) -> bytes:
            return await asyncio.to_thread(_read, open_archive, digest)

        keeping = nullcontext() if self._keeper is None or not wanted else self._keeper.holding(target, wanted, read)
        async with keeping:
            yield


def digests_in(documents: Iterable[TransferDocument]) -> list[str]:
    """The digests of what documents hold."""
    found = [
        attachment.digest
        for document in documents
        for part in document.parts
        for attachment in from_untrusted(part.source.get("attachments", ()))
    ]
    return list(dict.fromkeys(found))


def _read(open_archive: Callable[[], BinaryIO], digest: str) -> bytes:
    with open_archive() as file:
        return read_blob(file, digest)
