"""Which observations of a scope some facts may bear on. No other scope is ever looked into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.domain.observation_scopes import Scope
from hindsight_server.engine.consolidate.types import Candidate
from hindsight_server.ports.observations import WaitingFact
from hindsight_server.ports.records import Float32Array
from hindsight_server.ports.store import Store

_MOST_SOURCES = 20  # newest facts of an observation that are read


async def candidates_for(
    store: Store, bank_id: str, scope: Scope, facts: Sequence[WaitingFact], most: int
) -> tuple[tuple[Candidate, ...], int]:
    """The observations nearest to the facts, nearest first, and how many the scope holds."""
    held = await store.observations_in(bank_id, scope)
    chosen = list(held)
    if len(chosen) > most:
        nearest = await _nearest(store, bank_id, [one.fact.seq for one in facts], list(held.values()))
        by_seq = {seq: observation_id for observation_id, seq in held.items()}
        # Those that no vector tells of come last, the newest first.
        rest = [seq for seq in reversed(list(held.values())) if seq not in set(nearest)]
        chosen = [by_seq[seq] for seq in [*nearest, *rest][:most]]
    observations = await store.observations(bank_id, chosen)
    wanted = {source.fact_id for one in observations for source in one.sources[-_MOST_SOURCES:]}
    read: dict[str, Fact] = {fact.fact_id: fact for fact in await store.facts_by_id(bank_id, sorted(wanted))}
    candidates = [
        Candidate(
            observation=one,
            facts=tuple(read[source.fact_id] for source in one.sources[-_MOST_SOURCES:] if source.fact_id in read),
        )
        for one in observations
    ]
    return tuple(candidates), len(held)


async def _nearest(store: Store, bank_id: str, facts: Sequence[int], observations: Sequence[int]) -> list[int]:
    """The observations with a vector, by their greatest cosine to any of the facts."""
    of_facts = await store.vectors(bank_id, facts)
    best: dict[int, float] = {}
    for space, (seqs, matrix) in (await store.vectors(bank_id, observations)).items():
        if space not in of_facts or not len(seqs):
            continue
        cosines = _unit(matrix) @ _unit(of_facts[space][1]).T
        for seq, score in zip(seqs.tolist(), cosines.max(axis=1).tolist(), strict=True):
            best[seq] = max(score, best.get(seq, -1.0))
    return sorted(best, key=lambda seq: (-best[seq], seq))


def _unit(matrix: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)
