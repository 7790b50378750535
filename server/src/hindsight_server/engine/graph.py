"""The memories of a bank as a graph, worked out when it is asked for: nothing of it is stored."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.model import Fact, FactState, FactType
from hindsight_server.ports.records import FactFilter, Float32Array, Int64Array
from hindsight_server.ports.store import Store

MOST_FACTS = 2000
"""Facts that one graph shows at most."""

LINKS = 5
"""Links of one kind that a fact begins, to the nearest others, so that a graph stays readable."""

LEAST_LIKENESS = 0.7
"""Cosine similarity from which on two facts are linked by meaning."""

WINDOW_SECONDS = 24 * 3600.0
"""Two facts whose times lie further apart have no temporal link."""

_LEAST_WEIGHT = 0.3
_PAGE = 500
_SHOWN = (FactState.VALID, FactState.PENDING)


@dataclass(frozen=True, slots=True)
class Link:
    """Two facts that belong together.

    Args:
        kind: ``entity``, ``temporal``, ``semantic`` or ``caused_by``.
        weight: 0-1.
        entity: the name that an entity link is about, else empty.
    """

    source: str
    target: str
    kind: str
    weight: float
    entity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Facts, latest first, and the links among them; `total` counts all that match, not just those shown."""

    facts: tuple[Fact, ...]
    links: tuple[Link, ...]
    total: int
    limit: int


class Graphs:
    """Builds graphs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, bank_id: str, wanted: FactFilter, limit: int, chunk_id: str | None = None) -> Graph:
        """The latest facts that match, at most `limit` (2,000 if that is less), with the links among them.

        Args:
            chunk_id: only facts of that chunk.

        Raises:
            BankNotFound: no such bank.
            InvalidInput: an unknown fact type.
        """
        if wanted.fact_type is not None and wanted.fact_type not in set(FactType):
            raise InvalidInput(f"type must be one of: {', '.join(FactType)}.", field="type")
        limit = min(limit, MOST_FACTS)
        if chunk_id is None:
            facts, total = await self._latest(bank_id, wanted, limit)
        else:
            facts, total = await self._of_chunk(bank_id, wanted, limit, chunk_id)
        vectors = await self._store.vectors(bank_id, [fact.seq for fact in facts])
        causes = await self._store.causes(bank_id, [fact.fact_id for fact in facts])
        links = await asyncio.to_thread(_links, facts, vectors, causes)
        return Graph(facts=tuple(facts), links=links, total=total, limit=limit)

    async def _latest(self, bank_id: str, wanted: FactFilter, limit: int) -> tuple[list[Fact], int]:
        found: list[Fact] = []
        total = 0
        for state in (FactState.PENDING, FactState.VALID):
            page = await self._store.list_facts(bank_id, replace(wanted, state=state.value), limit, 0)
            found += page.items
            total += page.total
        found.sort(key=lambda fact: (_moment(fact.mentioned_at), _moment(fact.created_at), fact.seq), reverse=True)
        return found[:limit], total

    async def _of_chunk(self, bank_id: str, wanted: FactFilter, limit: int, chunk_id: str) -> tuple[list[Fact], int]:
        chunks = await self._store.chunks(bank_id, [chunk_id])
        if not chunks or wanted.document_id not in (None, chunks[0].document_id):
            await self._store.get_bank(bank_id)
            return [], 0
        wanted = replace(wanted, document_id=chunks[0].document_id)
        found: list[Fact] = []
        offset = total = 0
        while offset == 0 or offset < total:
            page = await self._store.list_facts(bank_id, wanted, _PAGE, offset)
            found += [fact for fact in page.items if fact.chunk_id == chunk_id and fact.state in _SHOWN]
            offset, total = offset + _PAGE, page.total
        return found[:limit], len(found)


def _links(
    facts: Sequence[Fact], vectors: Mapping[str, tuple[Int64Array, Float32Array]], causes: Sequence[tuple[str, str]]
) -> tuple[Link, ...]:
    ordered = sorted(facts, key=lambda fact: (_time(fact) is not None, _time(fact) or 0.0, fact.seq))
    return (
        *_entity_links(ordered),
        *_temporal_links(ordered),
        *_semantic_links(facts, vectors),
        *_causal_links(facts, causes),
    )


def _entity_links(ordered: Sequence[Fact]) -> Iterator[Link]:
    """Each fact with the next that names the same: one link a pair, heavier the more names they share."""
    shared: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    last: dict[str, str] = {}
    for fact in ordered:
        for name in fact.entities:
            if name in last:
                shared[last[name], fact.fact_id].append(name)
            last[name] = fact.fact_id
    for (source, target), names in shared.items():
        yield Link(source, target, "entity", math.tanh(0.5 * len(names)), ", ".join(names))


def _temporal_links(ordered: Sequence[Fact]) -> Iterator[Link]:
    """Facts of about the same time; the weight falls from 1 to 0.3 over a day."""
    timed = [(moment, fact) for fact in ordered if (moment := _time(fact)) is not None]
    for at, (moment, fact) in enumerate(timed):
        for later, other in timed[at + 1 : at + 1 + LINKS]:
            if later - moment > WINDOW_SECONDS:
                break
            weight = max(_LEAST_WEIGHT, 1.0 - (later - moment) / WINDOW_SECONDS)
            yield Link(fact.fact_id, other.fact_id, "temporal", weight)


def _semantic_links(facts: Sequence[Fact], vectors: Mapping[str, tuple[Int64Array, Float32Array]]) -> Iterator[Link]:
    """Each fact with those whose vectors are most like its own."""
    ids = {fact.seq: fact.fact_id for fact in facts}
    for seqs, matrix in vectors.values():
        unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        likeness = np.triu(unit @ unit.T, k=1)
        for row, line in enumerate(likeness):
            near = np.argsort(-line, kind="stable")[:LINKS]
            for column in near[line[near] >= LEAST_LIKENESS].tolist():
                weight = min(float(line[column]), 1.0)
                yield Link(ids[int(seqs[row])], ids[int(seqs[column])], "semantic", weight)


def _causal_links(facts: Sequence[Fact], causes: Sequence[tuple[str, str]]) -> Iterator[Link]:
    """What a text states to be the cause of what: from the effect to its cause."""
    shown = {fact.fact_id for fact in facts}
    for effect, cause in causes:
        if effect in shown and cause in shown:
            yield Link(effect, cause, "caused_by", 1.0)


def _moment(time: datetime | None) -> float:
    return -math.inf if time is None else time.timestamp()


def _time(fact: Fact) -> float | None:
    moment: datetime | None = fact.occurred_start or fact.mentioned_at
    return moment.timestamp() if moment is not None else None
