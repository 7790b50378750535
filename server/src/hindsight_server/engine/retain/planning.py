"""How the items of a request are to be extracted, by the settings of their bank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.domain.model import UpdateMode
from hindsight_server.engine import config as settings
from hindsight_server.engine.retain.items import CheckedItem
from hindsight_server.engine.retain.prepare import Part, settle_modes
from hindsight_server.engine.retain.source import from_source
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.ports.records import Bank
from hindsight_server.ports.store import Store

Reader = Callable[[str], str]
"""The prompt with which chunks are read in a mode; empty where no model reads them."""


def plan(bank: Bank | None, items: Sequence[CheckedItem], reader: Reader) -> list[Part]:
    """The parts of a request. Raises InvalidInput for a strategy that the bank does not have."""
    config = settings.resolve(bank.config if bank else {})
    by_strategy: dict[str | None, ExtractionOptions] = {}
    for index, one in enumerate(items):
        strategy = one.item.strategy
        if strategy not in by_strategy:
            field = f"items[{index}].strategy"
            by_strategy[strategy] = settings.extraction_options(config, strategy, field, reader)
    options = [by_strategy[one.item.strategy] for one in items]
    return [Part(*planned) for planned in zip(items, options, settle_modes(items), strict=True)]


async def bank_of(store: Store, bank_id: str) -> Bank | None:
    """The bank, or None when there is none yet."""
    try:
        return await store.get_bank(bank_id)
    except BankNotFound:
        return None


async def stored_parts(store: Store, bank_id: str, document_id: str, reader: Reader) -> list[Part]:
    """A document's parts as they were retained, to replace it with; tags given to it later win over theirs.

    Raises NotFound.
    """
    document = await store.get_document(bank_id, document_id)
    stored = await store.document_parts(bank_id, document_id)
    items = [from_source(part.text, document_id, part.source) for part in stored]
    if {tag for one in items for tag in one.item.tags} != set(document.tags):
        items = [replace(one, item=replace(one.item, tags=document.tags)) for one in items]
    parts = plan(await bank_of(store, bank_id), items, reader)
    return [replace(parts[0], expected_hash=document.content_hash), *parts[1:]]


async def with_stored_hashes(store: Store, bank_id: str, parts: Sequence[Part]) -> list[Part]:
    """The parts, each with the hashes of what its document holds now, where it replaces one."""
    replaced = [
        part.checked.item.document_id
        for part in parts
        if part.mode is UpdateMode.REPLACE and part.checked.item.document_given
    ]
    states = await store.document_states(bank_id, replaced) if replaced else {}
    return [
        part
        if (state := states.get(part.checked.item.document_id)) is None
        else replace(part, stored_hashes=state.chunk_hashes)
        for part in parts
    ]
