"""Use cases on mental models."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pages.text import rendered
from hindsight_server.domain.pages.trigger import read_trigger, sources_of
from hindsight_server.domain.tags import TagFilter
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.in_turn import InTurn
from hindsight_server.engine.mental_models.automatic import new_refresh
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.schedule import check_trigger
from hindsight_server.engine.mental_models.scope import memory_scope, scope_warnings, seen_models, with_tags
from hindsight_server.engine.mental_models.trace import trace_of
from hindsight_server.engine.mental_models.types import (
    LEAST_TOKENS,
    MOST_TOKENS,
    MentalModelInput,
    MentalModelPatch,
    Refreshing,
    SeenModel,
)
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.withdrawal import OnForget, forgetting, no_exports
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.mental_models import KnowledgeNode, MentalModel, MentalModelChange, PageIndex, PageVersion
from hindsight_server.ports.records import Operation, Page
from hindsight_server.ports.store import Store

MODEL_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,198}[a-z0-9])?")
_LONGEST_NAME, _LONGEST_QUERY = 300, 4000
_MOST_TAGS = 200


class MentalModels:
    """Use cases on mental models; all but `create` raise BankNotFound and NotFound.

    Args:
        on_job: called after a refresh was queued, so that a worker looks at once.
        on_forget: told of the bank when words of it are taken away.

    Example:
        >>> wanted = MentalModelInput(name="Tea", source_query="What does Ann drink?", mental_model_id="tea")
        >>> model, refresh = await models.create("ann", wanted)
    """

    def __init__(
        self,
        store: Store,
        refresher: Refresher,
        clock: Clock,
        *,
        on_job: Callable[[], None] = lambda: None,
        on_forget: OnForget = no_exports,
    ) -> None:
        self._on_forget = on_forget
        self._store = store
        self._refresher = refresher
        self._clock = clock
        self._on_job = on_job
        self._changing = InTurn()  # what a patch of a trigger leaves is read before it is written

    async def create(self, bank_id: str, wanted: MentalModelInput) -> tuple[SeenModel, Operation]:
        """Make a mental model and queue its first refresh. An unknown bank is created.

        Raises:
            InvalidInput: a value can't be used; the message names the field.
            Conflict: the id is taken.
        """
        return await self.add(await asyncio.to_thread(self.checked, bank_id, wanted))

    async def add(self, model: MentalModel, node: KnowledgeNode | None = None) -> tuple[SeenModel, Operation]:
        """Store a checked model, with its place in the tree."""
        refresh = new_refresh(model, self._clock.now())
        model = replace(model, index=await self._index(model))
        await self._store.add_mental_model(model, node=node, refresh=refresh)
        self._on_job()
        return await self._seen(await self._store.get_mental_model(model.bank_id, model.mental_model_id)), refresh

    def checked(self, bank_id: str, wanted: MentalModelInput) -> MentalModel:
        """The model that is asked for, not stored. Raises InvalidInput."""
        now = self._clock.now()
        given = wanted.mental_model_id
        if given is not None and not MODEL_ID.fullmatch(given):
            raise InvalidInput(
                "id must be 1 to 200 lower-case letters, digits and hyphens, with no hyphen at an end.",
                field="id",
            )
        trigger = read_trigger(wanted.trigger, "trigger")
        check_trigger(trigger, "trigger")
        return MentalModel(
            bank_id=check_bank_id(bank_id),
            mental_model_id=given or new_id(),
            name=_name(wanted.name),
            source_query=_words(wanted.source_query, "source_query", _LONGEST_QUERY),
            tags=_tags(wanted.tags),
            max_tokens=_tokens(wanted.max_tokens),
            trigger=trigger,
            created_at=now,
            updated_at=now,
        )

    async def list(
        self, bank_id: str, tags: TagFilter | None = None, *, limit: int = 100, offset: int = 0, pages: bool = True
    ) -> Page[SeenModel]:
        """By name; only those whose own tags pass the filter. `pages`: those of knowledge pages too."""
        held = await self._store.list_mental_models(bank_id)
        found = with_tags((model for model in held if pages or not model.is_page), tags)
        some = found[offset : offset + limit]
        return Page(tuple(await self.seen(bank_id, some)), len(found), limit, offset)

    async def get(self, bank_id: str, mental_model_id: str) -> SeenModel:
        """One, with the memories that it rests on."""
        return await self._seen(await self._store.get_mental_model(bank_id, mental_model_id))

    async def update(
        self, bank_id: str, mental_model_id: str, patch: MentalModelPatch
    ) -> tuple[SeenModel, Operation | None]:
        """Change what is given; another question or other memories queue a refresh.

        A page that rests on memories that it is no longer to be written from is emptied at once: the refresh may fail,
        or find nothing.

        Raises:
            InvalidInput: a value can't be used.
            Conflict: the name of a page is taken in its folder.
            NotFound: there is no such model, or no such folder.
        """
        async with self._changing.of(bank_id):
            before, model, is_rescoped = await self._changed(bank_id, mental_model_id, patch)
        if (model.name, model.source_query) != (before.name, before.source_query):
            named = MentalModelChange(index=await self._index(model), indexed=model.content.text)
            model = await self._store.change_mental_model(bank_id, mental_model_id, named, model.updated_at)
        refresh = None
        if model.source_query != before.source_query or is_rescoped:
            refresh = await self._queue(model, full=True)
        return await self._seen(model), refresh

    async def _changed(
        self, bank_id: str, mental_model_id: str, patch: MentalModelPatch
    ) -> tuple[MentalModel, MentalModel, bool]:
        """A model before and after a change, and whether that has it written from other memories."""
        before = await self._store.get_mental_model(bank_id, mental_model_id)
        trigger = None
        if patch.trigger is not None:
            trigger = read_trigger(patch.trigger, "trigger", onto=before.trigger)
            check_trigger(trigger, "trigger")
        change = MentalModelChange(
            name=None if patch.name is None else _name(patch.name),
            source_query=(
                None if patch.source_query is None else _words(patch.source_query, "source_query", _LONGEST_QUERY)
            ),
            tags=None if patch.tags is None else _tags(patch.tags),
            max_tokens=None if patch.max_tokens is None else _tokens(patch.max_tokens),
            trigger=trigger,
            moves=patch.moves,
            parent_id=patch.parent_id,
        )
        is_rescoped = _rescopes(before, change)
        if is_rescoped:
            stays = before.version if await self._stays_within(before, change) else None
            change = replace(change, unseen=True, stays=stays, index=await self._refresher.index(before, ""))
        model = await self._store.change_mental_model(bank_id, mental_model_id, change, self._clock.now())
        return before, model, is_rescoped

    async def delete(self, bank_id: str, mental_model_id: str) -> None:
        """Delete it with its history; a knowledge page goes with its model."""
        await self._store.get_mental_model(bank_id, mental_model_id)  # for nothing, no export is withdrawn
        async with forgetting(self._on_forget, bank_id):
            await self._store.delete_mental_model(bank_id, mental_model_id, self._clock.now())

    async def clear(self, bank_id: str, mental_model_id: str) -> SeenModel:
        """Empty the content, so that the next refresh writes it anew; what it said is in the history."""
        before = await self._store.get_mental_model(bank_id, mental_model_id)
        index = await self._refresher.index(before, "")
        change = MentalModelChange(clear=True, index=index)
        return await self._seen(
            await self._store.change_mental_model(bank_id, mental_model_id, change, self._clock.now())
        )

    async def refresh(self, bank_id: str, mental_model_id: str, *, full: bool = False) -> Operation:
        """Queue a refresh at once; one that waits already is joined."""
        return await self._queue(await self._store.get_mental_model(bank_id, mental_model_id), full=full)

    async def dry_run(self, bank_id: str, mental_model_id: str) -> tuple[Refreshing, dict[str, Any]]:
        """What a refresh would come to, and its trace; nothing is written. Raises ModelUnavailable."""
        run = await self._refresher.compute(await self._store.get_mental_model(bank_id, mental_model_id))
        return run, trace_of(run, self._clock.now(), with_output=True)

    async def history(self, bank_id: str, mental_model_id: str) -> Sequence[PageVersion]:
        """What it said before and refreshes that failed, the newest first."""
        return await self._store.mental_model_history(bank_id, mental_model_id)

    async def seen(self, bank_id: str, models: Sequence[MentalModel]) -> Sequence[SeenModel]:
        """Models with whether they are behind their memories, and with advice."""
        return await seen_models(self._store, bank_id, models)

    async def _seen(self, model: MentalModel) -> SeenModel:
        (seen,) = await self.seen(model.bank_id, [model])
        facts = await self._store.facts_by_id(model.bank_id, list(model.content.fact_ids))
        warnings = seen.warnings
        if not warnings:  # else its scope can't be told
            mark = await self._store.scope_mark(model.bank_id, await memory_scope(self._store, model))
            warnings = scope_warnings(model, mark)
        return replace(seen, facts=tuple(facts), warnings=warnings)

    async def _stays_within(self, before: MentalModel, change: MentalModelChange) -> bool:
        """Whether all that the page was written from is in the scope that it is to have."""
        named = {name: value for name in ("tags", "trigger") if (value := getattr(change, name)) is not None}
        scope = await memory_scope(self._store, replace(before, **named))
        seen = await self._store.facts_by_id(before.bank_id, list(before.content.seen_ids))
        passing = [
            fact
            for fact in seen
            if (scope.fact_types is None or fact.fact_type in scope.fact_types)
            and (scope.tags is None or scope.tags.matches(fact.tags))
        ]
        within = {one for fact in passing for one in (fact.fact_id, *fact.source_fact_ids)}
        return bool(seen) and within.issuperset(fact.fact_id for fact in seen)

    async def _queue(self, model: MentalModel, *, full: bool) -> Operation:
        asked = new_refresh(model, self._clock.now(), full=full)
        queued = await self._store.queue_refresh(model.bank_id, model.mental_model_id, asked)
        self._on_job()
        return queued

    async def _index(self, model: MentalModel) -> PageIndex:
        return await self._refresher.index(model, rendered(model.content.text))


def _rescopes(before: MentalModel, change: MentalModelChange) -> bool:
    """Whether a change has the model written from other memories."""

    after = before.tags if change.tags is None else change.tags
    return sources_of(before.tags, before.trigger) != sources_of(after, change.trigger or before.trigger)


def _name(text: str) -> str:
    """On one line with single blanks, as the tree of pages has it: there a name is the only one of its folder."""
    return _words(" ".join(text.split()), "name", _LONGEST_NAME)


def _words(text: str, field: str, longest: int) -> str:
    words = clean_text(text).strip()
    if not words:
        raise InvalidInput(f"{field} is blank.", field=field)
    if len(words) > longest:
        raise InvalidInput(f"{field} has {len(words)} characters; it may have {longest}.", field=field)
    return words


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    cleaned = tuple(dict.fromkeys(tag for tag in (clean_text(tag).strip() for tag in tags) if tag))
    if len(cleaned) > _MOST_TAGS:
        raise InvalidInput(f"tags: at most {_MOST_TAGS}.", field="tags")
    return cleaned


def _tokens(value: int) -> int:
    if not LEAST_TOKENS <= value <= MOST_TOKENS:
        raise InvalidInput(f"max_tokens must lie between {LEAST_TOKENS} and {MOST_TOKENS}.", field="max_tokens")
    return value
