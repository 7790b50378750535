"""Which memories a mental model is written from, whether it is behind them, and advice when there are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.fuzzy_tags import Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.pages.trigger import scope_filter
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.mental_models.types import SeenModel
from hindsight_server.engine.tag_resolution import resolved_tags
from hindsight_server.ports.mental_models import MemoryScope, MentalModel, ScopeMark
from hindsight_server.ports.store import Store


async def memory_scope(store: Store, model: MentalModel) -> MemoryScope:
    """The scope of a model, with tags that are meant though spelled differently. Raises BankNotFound."""
    tags = await resolved_tags(store, model.bank_id, scope_filter(model.tags, model.trigger))
    return MemoryScope(fact_types=model.trigger.fact_types or None, tags=tags)


def with_tags(models: Iterable[MentalModel], tags: TagFilter | None) -> list[MentalModel]:
    """The models whose own tags pass a filter, of which a fuzzy tag means those of the models that are like it.

    Raises InvalidInput beyond the limits of `domain.fuzzy_tags`.
    """
    found = list(models)
    if tags is None:
        return found
    if fuzzy_tags(tags):
        tags = resolve(tags, Vocabulary({tag for model in found for tag in model.tags})).tags
    return [model for model in found if tags.matches(model.tags)]


async def seen_models(store: Store, bank_id: str, models: Sequence[MentalModel]) -> list[SeenModel]:
    """Models with whether something was written in their scopes that they have not seen, or they are outdated.

    A model whose tags can't be resolved counts as stale, since nobody can say that it is not; a warning tells why.
    """
    wanted: list[tuple[int, MemoryScope]] = []
    problems: list[str | None] = []
    for model in models:
        try:
            wanted.append((model.seen_seq, await memory_scope(store, model)))
            problems.append(None)
        except InvalidInput as problem:  # too many tags to find similar ones; the others are told of all the same
            problems.append(f"Whether this is up to date is not known, and it is not refreshed: {problem}")
    news = iter(await store.scope_news(bank_id, wanted) if wanted else ())
    return [
        SeenModel(model, is_stale=next(news) or model.is_outdated)
        if problem is None
        else SeenModel(model, is_stale=True, warnings=(problem,))
        for model, problem in zip(models, problems, strict=True)
    ]


def scope_warnings(model: MentalModel, mark: ScopeMark) -> tuple[str, ...]:
    """What a user should know when a bank has memories, and none of them can reach the model."""
    if mark.facts or not mark.bank_facts:
        return ()
    if model.trigger.tag_groups:
        return (
            "No memory of this bank passes trigger.tag_groups"
            f"{_of_types(model)}, so the content stays empty. Widen them or leave them out.",
        )
    if model.tags:
        return (
            f"Tags are a filter of sources, not labels: no memory of this bank{_of_types(model)} carries the tags "
            f"{', '.join(model.tags[:5])} as tags_match '{model.trigger.tags_match or 'all_strict'}' wants it, so the "
            "content stays empty. Set tags to [] (on the command line `update --no-tags`) to use the whole bank, or, "
            "over the API, trigger.tags_match to 'all' to let memories without tags in.",
        )
    if model.trigger.fact_types:
        return (
            f"This bank has no memories{_of_types(model)} yet, so the content stays empty. Observations come with "
            "consolidation; set trigger.fact_types to null to use all memories.",
        )
    return ()


def _of_types(model: MentalModel) -> str:
    types = model.trigger.fact_types
    return f" of the types {', '.join(types)}" if types else ""
