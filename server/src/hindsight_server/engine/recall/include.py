"""What comes along with the results when asked for: chunks, entities and source facts, each with its own budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hindsight_server.domain.model import Fact, FactState
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.entity_states import newest_rows
from hindsight_server.engine.recall.fill import cut_to_tokens
from hindsight_server.engine.recall.groups import hides_names, shown_by
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.types import IncludedChunk, IncludedEntity, SourceFactsOption
from hindsight_server.engine.recall.view import BankView, Int32Array
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.entities import Entity
from hindsight_server.ports.store import Store

_CHUNKS_READ = 32  # read at once
_ENTITIES_READ = 200
_INLINE_ROWS = 20_000  # more are searched in a thread


class Includer:
    """Reads what belongs to results.

    Args:
        store: where it is.
        analyzer: counts tokens.
        cache: reads the facts.
    """

    def __init__(self, store: Store, analyzer: TextAnalyzer, cache: ViewCache) -> None:
        self._store = store
        self._cache = cache
        self._analyzer = analyzer

    async def chunks(
        self, bank_id: str, facts: Sequence[Fact], rows: Int32Array, scope: Scope, max_tokens: int
    ) -> tuple[IncludedChunk, ...]:
        """The chunks of the facts within the budget, the last one cut.

        A chunk may hold more than the fact it is shown for, so it is left out when the tag filter hides any fact of its
        document.
        """
        hidden = _documents_with_hidden_tags(scope)
        documents = scope.view.document[rows].tolist()
        wanted = dict.fromkeys(
            fact.chunk_id
            for fact, document in zip(facts, documents, strict=True)
            if fact.chunk_id and document not in hidden
        )
        ids = list(wanted)
        included: list[IncludedChunk] = []
        left = max_tokens
        for at in range(0, len(ids), _CHUNKS_READ):
            for chunk in await self._store.chunks(bank_id, ids[at : at + _CHUNKS_READ]):
                text = cut_to_tokens(chunk.text, left, self._analyzer)
                if text:
                    included.append(IncludedChunk(chunk, text, truncated=text != chunk.text))
                if text != chunk.text:
                    return tuple(included)
                left -= self._analyzer.count_tokens(text)
        return tuple(included)

    async def entities(self, run: Run, rows: Int32Array, max_tokens: int) -> tuple[IncludedEntity, ...]:
        """The entities of the rows, in their order, while their names fit the budget, and what else is known of them.

        Under a tag filter an entity goes by the fullest of its names in the rows, as others may not be told.
        """
        included, left = await self._entities(run.bank_id, run.scope, rows, max_tokens)
        numbers = [entity.number for entity in included]
        finding = partial(newest_rows, run.scope, numbers, rows, left)
        view = run.scope.view
        rows_of = finding() if len(view) < _INLINE_ROWS else await asyncio.to_thread(finding)
        seqs = {row: int(view.seq[row]) for found in rows_of.values() for row in found}
        facts = await self._cache.facts(run.bank_id, run.warm, view, list(seqs.values()))
        return tuple(
            IncludedEntity(entity, tuple(facts[seqs[row]] for row in rows_of[entity.number] if seqs[row] in facts))
            for entity in included
        )

    async def _entities(
        self, bank_id: str, scope: Scope, rows: Int32Array, max_tokens: int
    ) -> tuple[list[Entity], int]:
        """The entities whose names fit, and the tokens that are left."""
        wanted = _entities_of(scope.view, rows)[:_ENTITIES_READ]
        included: list[Entity] = []
        left = max_tokens
        found = await self._store.entities(bank_id, wanted) if wanted else []
        if hides_names(scope):
            found = shown_by(found, await self._store.names_as_written(bank_id, wanted), scope.view)
        for entity in found:
            size = self._analyzer.count_tokens(entity.name)
            if size > left:
                break
            left -= size
            included.append(entity)
        return included, left

    async def with_visible_names(
        self, bank_id: str, scope: Scope, facts: Sequence[Fact], rows: Int32Array
    ) -> Sequence[Fact]:
        """The facts of the rows; under a tag filter with the names of entities that stand in each fact itself."""
        if not hides_names(scope):
            return facts
        names = await self._store.names_as_written(bank_id, _entities_of(scope.view, rows))
        held = [scope.view.entities_of(row).tolist() for row in rows.tolist()]
        return [
            replace(fact, entities=tuple(dict.fromkeys(names[number] for number in numbers if number in names)))
            for fact, numbers in zip(facts, held, strict=True)
        ]

    async def source_facts(
        self, bank_id: str, facts: Sequence[Fact], tags: TagFilter | None, option: SourceFactsOption
    ) -> tuple[tuple[Fact, ...], bool]:
        """The facts that observations among the results were drawn from, and whether the budget left some out."""
        wanted = dict.fromkeys(fact_id for observation in facts for fact_id in observation.source_fact_ids)
        read = {fact.fact_id: fact for fact in await self._store.facts_by_id(bank_id, list(wanted))} if wanted else {}
        included: dict[str, Fact] = {}
        truncated = False
        total = 0
        for observation in facts:
            own = 0
            for fact_id in observation.source_fact_ids:
                if fact_id in included:
                    continue
                source = read.get(fact_id)
                if source is None or source.state is FactState.INVALIDATED:
                    continue
                if tags is not None and not tags.matches(source.tags):
                    continue
                size = source.tokens or self._analyzer.count_tokens(source.text)
                if _over(total + size, option.max_tokens) or _over(own + size, option.max_tokens_per_observation):
                    truncated = True
                    break
                included[fact_id] = source
                total += size
                own += size
        return tuple(included.values()), truncated


def _entities_of(view: BankView, rows: Int32Array) -> list[int]:
    """Distinct entity numbers of the rows, in their order."""
    offsets, numbers = view.entity_offsets, view.entity_numbers
    ends = zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True)
    return list(dict.fromkeys(number for start, end in ends for number in numbers[start:end].tolist()))


def _over(size: int, budget: int) -> bool:
    return 0 <= budget < size


def _documents_with_hidden_tags(scope: Scope) -> frozenset[int]:
    if scope.tag_mask is None:
        return frozenset()
    view = scope.view
    return frozenset(np.unique(view.document[~scope.tag_mask & view.alive]).tolist())
