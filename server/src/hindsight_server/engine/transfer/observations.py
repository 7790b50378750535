"""Observations of an archive: those whose words nobody has to check anew, since all that they rest on came along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_server.domain.model import FactType
from hindsight_server.engine.transfer.archive import Archive
from hindsight_server.ports.transfer import TransferFact, TransferObservation


def brought_observations(
    archive: Archive, facts: Sequence[TransferFact], observations: Sequence[TransferObservation]
) -> tuple[tuple[TransferFact, ...], tuple[TransferObservation, ...]]:
    """The facts and observations to be stored.

    An observation comes along when every fact that it rests on does as it was; what memory defence has looked at may be
    another fact. The others stay behind, and the facts that they rested on wait to be consolidated.

    Args:
        facts: that are taken in.
        observations: those that memory defence lets in.
    """
    held = {fact.fact_id: fact for fact in archive.facts}
    same = {fact.fact_id for fact in facts if held.get(fact.fact_id) is fact}
    kept = tuple(one for one in observations if same.issuperset(source.fact_id for source in one.sources))
    kept_ids = {one.fact.fact_id for one in kept}
    lost = [one for one in archive.observations if one.fact.fact_id not in kept_ids]
    anew = {source.fact_id for one in lost for source in one.sources}
    brought = tuple(
        replace(fact, consolidation=None) if fact.fact_id in anew or fact.fact_id not in same else fact
        for fact in facts
    )
    return brought, kept


def chosen_memory(
    record: TransferFact | TransferObservation, *, observations: bool
) -> TransferFact | TransferObservation | None:
    """What leaves of a memory; without observations, the facts that they rest on are to be consolidated again."""
    if observations:
        return record
    if isinstance(record, TransferObservation) or record.fact_type is FactType.OBSERVATION:
        return None
    return record if record.consolidation is None else replace(record, consolidation=None)
