"""What a retain would make of a text, storing nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.domain.model import Extraction
from hindsight_server.engine import config as settings
from hindsight_server.engine.retain.items import check_items
from hindsight_server.engine.retain.types import ItemInput, RetainLimits
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.extractor import Extractor
from hindsight_server.ports.store import Store


class Previewer:
    """Extracts without storing."""

    def __init__(self, store: Store, extractor: Extractor, clock: Clock) -> None:
        self._store = store
        self._extractor = extractor
        self._clock = clock

    async def extract(self, bank_id: str, item: ItemInput, overrides: Mapping[str, Any]) -> Extraction:
        """The turns, chunks and facts of an item. A bank that does not exist has the default settings, and is not made.

        Args:
            item: as it would be retained.
            overrides: settings for this call, which win over the bank's and its strategies'; None values are left out.

        Raises:
            InvalidInput: the item or a setting can't be used.
        """
        (checked,) = check_items([item], (), lambda _: "preview", self._clock.now(), RetainLimits())
        given = {name: value for name, value in settings.checked_updates(overrides).items() if value is not None}
        try:
            bank = await self._store.get_bank(bank_id)
        except BankNotFound:
            bank = None
        config = settings.resolve(bank.config if bank else {}) | given
        strategies = config["retain_strategies"] or {}
        config["retain_strategies"] = {name: {**strategy, **given} for name, strategy in strategies.items()}
        options = settings.extraction_options(config, checked.item.strategy, "strategy")
        extraction = await asyncio.to_thread(self._extractor.extract, checked.item, options)
        return replace(extraction, facts=tuple(sorted(extraction.facts, key=lambda fact: fact.chunk_index)))
