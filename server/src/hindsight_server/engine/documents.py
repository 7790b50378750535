"""Documents and their chunks."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.ids import bank_of_chunk
from hindsight_server.engine.changes import OnChange, nobody
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.retain import Retainer, RetainLimits
from hindsight_server.engine.retain.items import check_scopes, check_tags
from hindsight_server.engine.transfer.withdrawal import OnForget, forgetting, no_exports
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Chunk, Document, DocumentFilter, Operation, Page
from hindsight_server.ports.store import Store


class Documents:
    """Use cases on documents; all raise BankNotFound for an unknown bank and NotFound for an unknown document."""

    def __init__(
        self,
        store: Store,
        retainer: Retainer,
        clock: Clock,
        defender: Defender | NoDefence | None = None,
        on_forget: OnForget = no_exports,
        *,
        on_change: OnChange = nobody,
    ) -> None:
        self._on_forget = on_forget
        self._on_change = on_change
        self._defender = defender or NoDefence()
        self._store = store
        self._retainer = retainer
        self._clock = clock

    async def list(self, bank_id: str, wanted: DocumentFilter, limit: int = 100, offset: int = 0) -> Page[Document]:
        """Most recently updated first, without texts."""
        return await self._store.list_documents(bank_id, wanted, limit, offset)

    async def get(self, bank_id: str, document_id: str) -> Document:
        """With its text."""
        return await self._store.get_document(bank_id, document_id)

    async def chunks(self, bank_id: str, document_id: str, limit: int = 100, offset: int = 0) -> Page[Chunk]:
        """In the order of the text."""
        return await self._store.list_chunks(bank_id, document_id, limit, offset)

    async def chunk(self, chunk_id: str) -> Chunk:
        """A chunk by its id alone, which names its bank."""
        bank_of_chunk(chunk_id)
        return await self._store.get_chunk(chunk_id)

    async def update(
        self,
        bank_id: str,
        document_id: str,
        *,
        tags: Sequence[str] | None = None,
        observation_scopes: object | None = None,
    ) -> int:
        """Replace the tags of a document and its facts, or the document's observation scopes; the facts changed.

        Raises:
            InvalidInput: nothing to change was given, or a tag is blank or too long, or there are too many.
            Blocked: the bank's memory defence keeps them out.
        """
        if tags is None and observation_scopes is None:
            raise InvalidInput("Give 'tags' or 'observation_scopes'; an empty list of tags clears them.", field="tags")
        checked = None if tags is None else check_tags(tags, "tags", RetainLimits())
        scopes = check_scopes(observation_scopes, "observation_scopes")
        checked, scopes = await self._defender.retagged(bank_id, document_id, checked, scopes)
        changed = await self._store.update_document(
            bank_id, document_id, checked, self._clock.now(), observation_scopes=scopes
        )
        await self._on_change(bank_id)
        return changed

    async def delete(self, bank_id: str, document_id: str) -> int:
        """Delete a document with its chunks and facts; the number of facts deleted."""
        await self._store.get_document(bank_id, document_id)  # for nothing, no export is withdrawn
        async with forgetting(self._on_forget, bank_id):
            deleted = await self._store.delete_document(bank_id, document_id, self._clock.now())
        await self._on_change(bank_id)
        return deleted

    async def reprocess(self, bank_id: str, document_id: str) -> Operation:
        """Extract a document again with the bank's settings of now, as a job; until that is done it stays as it was."""
        return await self._retainer.reprocess(bank_id, document_id)
