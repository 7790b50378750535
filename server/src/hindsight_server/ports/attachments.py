"""What knows which attachments belong to which documents and facts. It is part of `Store`.

They come with what is retained (`DocumentWrite.attachments`, `ExtractedFact.attachments`) and go with it: an attachment
that no document holds any more is forgotten in the same transaction, and its bytes are then to be deleted, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hindsight_server.domain.attachments import Attachment


@dataclass(frozen=True, slots=True)
class ReleasedBlob:
    """Bytes of a bank that something gave up. They are deleted unless something else of the bank uses them."""

    bank_id: str
    digest: str


class AttachmentStore(Protocol):
    async def get_attachment(self, bank_id: str, attachment_id: str) -> Attachment:
        """As it was declared last. Raises NotFound, also for an unknown bank."""
        ...

    async def document_attachments(
        self, bank_id: str, document_ids: Sequence[str]
    ) -> Mapping[str, tuple[Attachment, ...]]:
        """Those of each document that has any, in the order of the text."""
        ...

    async def fact_attachments(self, bank_id: str, fact_ids: Sequence[str]) -> Mapping[str, tuple[Attachment, ...]]:
        """Those that each fact was drawn from, where there are any; of an observation, those of its sources."""
        ...

    async def released_blobs(self, limit: int) -> list[ReleasedBlob]:
        """Bytes that something gave up, of all banks."""
        ...

    async def blob_in_use(self, bank_id: str, digest: str) -> bool:
        """Whether an attachment has these bytes, or the upload of a file that is not completed: an operation of type
        ``file_convert_retain`` with them as ``blob`` in its payload.
        """
        ...

    async def drop_released(self, bank_id: str, digest: str) -> None:
        """Forget that these bytes were given up."""
        ...
