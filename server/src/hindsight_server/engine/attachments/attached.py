"""Attachments, as they are shown and handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindsight_server.domain.attachments import Attachment, ids_in
from hindsight_server.domain.errors import NotFound
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.ports.records import Chunk
from hindsight_server.ports.store import Store

Found = Mapping[str, tuple[Attachment, ...]]


class Attached:
    """Use cases on attachments that are stored."""

    def __init__(self, store: Store, keeper: BlobKeeper) -> None:
        self._store = store
        self._keeper = keeper

    async def start(self) -> None:
        """Begin to delete what is not needed any more."""
        await self._keeper.start()

    async def stop(self) -> None:
        await self._keeper.stop()

    async def open(self, bank_id: str, attachment_id: str) -> tuple[Attachment, bytes]:
        """An attachment and its bytes.

        Raises:
            NotFound: for an unknown bank too, in the same words, so that nothing is told of what a bank holds.
        """
        try:
            attachment = await self._store.get_attachment(bank_id, attachment_id)
            return attachment, await self._keeper.read(bank_id, attachment.digest)
        except NotFound:
            raise NotFound(f"Attachment '{attachment_id}' not found in bank '{bank_id}'.") from None

    async def of_facts(self, bank_id: str, fact_ids: Sequence[str]) -> Found:
        """By fact, those that it was drawn from."""
        return await self._store.fact_attachments(bank_id, fact_ids) if fact_ids else {}

    async def of_document(self, bank_id: str, document_id: str) -> tuple[Attachment, ...]:
        """In the order of the text."""
        return (await self._store.document_attachments(bank_id, [document_id])).get(document_id, ())

    async def of_chunks(self, bank_id: str, chunks: Sequence[Chunk]) -> Found:
        """By chunk, those whose places are in its text."""
        named = {chunk.chunk_id: ids for chunk in chunks if "⟦" in chunk.text and (ids := ids_in(chunk.text))}
        if not named:
            return {}
        documents = {chunk.chunk_id: chunk.document_id for chunk in chunks if chunk.chunk_id in named}
        held = await self._store.document_attachments(bank_id, list(documents.values()))
        found = {}
        for chunk_id, ids in named.items():
            known = {one.attachment_id: one for one in held.get(documents[chunk_id], ())}
            found[chunk_id] = tuple(known[one] for one in ids if one in known)
        return found
