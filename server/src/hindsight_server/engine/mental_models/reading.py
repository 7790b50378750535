"""Mental models as reflect reads them: `MentalModelSource` of `engine.reflect.sources`."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_server.domain.pages.text import rendered
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.mental_models.scope import seen_models
from hindsight_server.engine.mental_models.search import PageSearch
from hindsight_server.engine.reflect.sources import MentalModelScope, MentalModelText
from hindsight_server.ports.mental_models import MentalModel
from hindsight_server.ports.store import Store


class MentalModelReader:
    """Searches and reads the mental models of banks that say something."""

    def __init__(self, store: Store, search: PageSearch) -> None:
        self._store = store
        self._search = search

    async def any_mental_model(self, bank_id: str, scope: MentalModelScope) -> bool:
        return bool(await self._readable(bank_id, scope))

    async def search_mental_models(
        self, bank_id: str, query: str, scope: MentalModelScope, limit: int
    ) -> Sequence[MentalModelText]:
        found = await self._search.search(query, await self._readable(bank_id, scope), limit)
        return await self._texts(bank_id, [hit.model for hit in found])

    async def read_mental_models(
        self, bank_id: str, mental_model_ids: Sequence[str], scope: MentalModelScope
    ) -> Sequence[MentalModelText]:
        held = {model.mental_model_id: model for model in await self._readable(bank_id, scope)}
        wanted = [held[one] for one in dict.fromkeys(mental_model_ids) if one in held]
        return await self._texts(bank_id, wanted)

    async def _readable(self, bank_id: str, scope: MentalModelScope) -> list[MentalModel]:
        found = [
            model
            for model in await self._store.list_mental_models(bank_id)
            if not model.content.text.is_empty
            and model.mental_model_id not in scope.excluded
            and (scope.tags is None or scope.tags.matches(model.tags))
        ]
        if scope.tags is None or not found:
            return found
        return await self._within(bank_id, found, scope.tags)

    async def _within(self, bank_id: str, models: Sequence[MentalModel], tags: TagFilter) -> list[MentalModel]:
        """Those that were written from nothing but memories that pass the tags.

        The tags of a model say which memories it wants; a model without tags is written from the whole bank, and its
        words may be those of memories that the request must not see. Memories below an observation go with it.
        """
        ids = {fact_id for model in models for fact_id in model.content.seen_ids}
        facts = {fact.fact_id: fact for fact in await self._store.facts_by_id(bank_id, sorted(ids))}
        passing = {fact.fact_id for fact in facts.values() if tags.matches(fact.tags)}

        def is_within(model: MentalModel) -> bool:
            seen = [one for one in model.content.seen_ids if one in facts]
            below = {source for one in seen if one in passing for source in facts[one].source_fact_ids}
            return bool(seen) and all(one in passing or one in below for one in seen)

        return [model for model in models if is_within(model)]

    async def _texts(self, bank_id: str, models: Sequence[MentalModel]) -> list[MentalModelText]:
        return [
            MentalModelText(
                mental_model_id=seen.model.mental_model_id,
                name=seen.model.name,
                question=seen.model.content.answered_query or seen.model.source_query,
                text=rendered(seen.model.content.text),
                fresh=not seen.is_stale,
                updated_at=seen.model.last_refreshed_at,
            )
            for seen in await seen_models(self._store, bank_id, models)
        ]
