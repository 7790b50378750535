"""What a retain does with attachments, as one thing to hand to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from hindsight_server.domain.attachments import regions
from hindsight_server.domain.errors import BankNotFound, InvalidInput, NotFound
from hindsight_server.engine.attachments.blocks import AttachmentLimits
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.engine.attachments.reader import NO_VISION, AttachmentReader, is_picture
from hindsight_server.engine.language import CallAbout, Spent
from hindsight_server.ports.records import Bank
from hindsight_server.ports.store import Store

if TYPE_CHECKING:
    from hindsight_server.engine.retain.items import CheckedItem
    from hindsight_server.engine.retain.prepare import Part


def check_attachments(items: Sequence[CheckedItem], attaching: Attaching | None) -> None:
    """Raises InvalidInput for an attachment that can't be read."""
    if not any(one.uploads for one in items):
        return
    if attaching is None:
        raise InvalidInput(f"The content holds images or files, but {NO_VISION}.", field="items[0].content")
    attaching.check(items)


class Attaching:
    """Checks, keeps and reads the attachments of items.

    Attributes:
        store, reader, keeper: what knows of them, reads and keeps them.
        limits: what an item may bring.
    """

    def __init__(
        self, store: Store, reader: AttachmentReader, keeper: BlobKeeper, limits: AttachmentLimits | None = None
    ) -> None:
        self.store = store
        self.reader = reader
        self.keeper = keeper
        self.limits = limits or AttachmentLimits()

    def check(self, items: Sequence[CheckedItem]) -> None:
        """Raises InvalidInput for an attachment that can't be read."""
        self.reader.check(items)

    def keeping(self, bank_id: str, items: Sequence[CheckedItem]) -> AbstractAsyncContextManager[None]:
        """Around the write of items: the bytes of their attachments are there before it."""
        return self.keeper.keeping(bank_id, [upload for one in items for upload in one.uploads.items()])

    async def read_one(self, bank_id: str, checked: CheckedItem, spent: Spent) -> CheckedItem:
        """An item with what can be read in its attachments, and what that used; see `AttachmentReader.read_item`."""
        about = CallAbout(bank_id=bank_id, purpose="vision", spent=spent)
        return await self.reader.read_item(await self._bank(bank_id), checked, about)

    async def filled(self, bank_id: str, parts: Sequence[Part], operation_id: str | None = None) -> list[Part]:
        """See `AttachmentReader.filled`. Parts without attachments cost nothing."""
        if not any(part.checked.item.attachments for part in parts):
            return list(parts)
        about = CallAbout(bank_id=bank_id, purpose="vision", operation_id=operation_id)

        async def earlier(checked: CheckedItem) -> Mapping[str, str]:
            return await self._read_before(bank_id, checked)

        return await self.reader.filled(await self._bank(bank_id), parts, about, earlier)

    async def _read_before(self, bank_id: str, checked: CheckedItem) -> Mapping[str, str]:
        """What was read from the pictures that the stored document holds too, so that no model reads them again.

        A picture from whose words something was forgotten or redacted is none of the document any more.
        """
        document_id = checked.item.document_id
        held = (await self.store.document_attachments(bank_id, [document_id])).get(document_id, ())
        pictures = {one.attachment_id for one in held if is_picture(one)}
        if pictures.isdisjoint(one.attachment_id for one in checked.item.attachments):
            return {}
        with contextlib.suppress(NotFound):
            text = (await self.store.get_document(bank_id, document_id)).text or ""
            found = {place.attachment_id: place.inner for place in regions(text) if place.inner is not None}
            return {name: text[slice(*inner)] for name, inner in found.items() if name in pictures}
        return {}

    async def _bank(self, bank_id: str) -> Bank | None:
        with contextlib.suppress(BankNotFound):
            return await self.store.get_bank(bank_id)
        return None
