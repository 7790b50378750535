"""What a retain would make of a text, storing nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hindsight_server.domain.errors import Blocked
from hindsight_server.engine import config as settings
from hindsight_server.engine.attachments.attaching import Attaching, check_attachments
from hindsight_server.engine.attachments.extracting import AttachmentExtractor, attributed
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.extract import Distilled
from hindsight_server.engine.language import CallAbout, Spent
from hindsight_server.engine.retain.items import check_items
from hindsight_server.engine.retain.planning import bank_of
from hindsight_server.engine.retain.types import ItemInput, RetainLimits
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.extractor import Extractor
from hindsight_server.ports.store import Store

if TYPE_CHECKING:
    from hindsight_server.engine.extract.distiller import Distiller


class Previewer:
    """Extracts without storing.

    Args:
        defender: what an item goes through first, as in a retain; its decisions are not kept.
        distiller: has a language model read the item, as in a retain.
        attaching: reads its attachments; None refuses them.
    """

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        clock: Clock,
        *,
        defender: Defender | NoDefence | None = None,
        distiller: Distiller | None = None,
        attaching: Attaching | None = None,
    ) -> None:
        self._store = store
        self._extractor = AttachmentExtractor(extractor)
        self._clock = clock
        self._defender = defender or NoDefence()
        self._distiller = distiller
        self._attaching = attaching

    async def extract(self, bank_id: str, item: ItemInput, overrides: Mapping[str, Any]) -> Distilled:
        """The turns, chunks and facts of an item. A bank that does not exist has the default settings, and is not made.

        Args:
            item: as it would be retained.
            overrides: settings for this call, which win over the bank's and its strategies'; None values are left out.

        Raises:
            InvalidInput: the item or a setting can't be used.
            Blocked: memory defence would keep the item out.
        """
        limits = RetainLimits() if self._attaching is None else RetainLimits(attachments=self._attaching.limits)
        checked = check_items([item], (), lambda _: "preview", self._clock.now(), limits)
        updates = settings.checked_updates(overrides, has_model=self._distiller is not None)
        given = {name: value for name, value in updates.items() if value is not None}
        check_attachments(checked, self._attaching)
        bank = await bank_of(self._store, bank_id)
        screened = await self._defender.screen(bank, checked)
        if screened.violations:
            raise Blocked(screened.violations)
        (allowed,) = screened.items
        vision = Spent()
        if self._attaching is not None:
            allowed = await self._attaching.read_one(bank_id, allowed, vision)
        config = settings.resolve(bank.config if bank else {}) | given
        strategies = config["retain_strategies"] or {}
        config["retain_strategies"] = {name: {**strategy, **given} for name, strategy in strategies.items()}
        options = settings.extraction_options(config, allowed.item.strategy, "strategy", self._reader)
        found = await asyncio.to_thread(self._extractor.extract, allowed.item, options)
        distilled = Distilled(extraction=found)
        if self._distiller is not None and options.reader:
            about = CallAbout(bank_id=bank_id, purpose="retain")
            distilled = await self._distiller.distil(allowed.item, options, found, about)
        extraction = attributed(distilled.extraction, allowed.item)
        facts = sorted(extraction.facts, key=lambda fact: fact.chunk_index)
        used = distilled.usage + vision.usage
        extraction = replace(
            distilled.extraction, facts=tuple(facts), input_tokens=used.input_tokens, output_tokens=used.output_tokens
        )
        return replace(distilled, extraction=extraction, usage=used)

    def _reader(self, mode: str) -> str:
        return self._distiller.reader(mode) if self._distiller else ""
