"""Stored facts: browsing, correcting, retiring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hindsight_server.domain.errors import Conflict, InvalidInput
from hindsight_server.domain.model import EntityMention, Fact, FactState, FactType
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.changes import OnChange, nobody
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.in_turn import InTurn
from hindsight_server.engine.indexing import Indexer, embedded_text, indexed_text
from hindsight_server.engine.retain.items import check_tags
from hindsight_server.engine.retain.types import RetainLimits
from hindsight_server.engine.times import parse_time
from hindsight_server.engine.transfer.withdrawal import OnForget, forgetting, no_exports
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.forgetting import ForgetWrite, Forgotten
from hindsight_server.ports.records import FactChange, FactFilter, Page
from hindsight_server.ports.store import Store

_CURATED_TYPES = (FactType.WORLD, FactType.EXPERIENCE)
_CURATED_STATES = (FactState.VALID, FactState.INVALIDATED)
_MOST_FORGOTTEN = 10_000
_TIMES = ("occurred_start", "occurred_end", "mentioned_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPatch:
    """A correction of one fact; None leaves a value as it is, ``""`` clears a time or the context.

    Args:
        text: the new words; the fact is indexed and encoded anew.
        fact_type: ``world`` or ``experience``.
        entities: the names that replace the fact's; an empty list detaches all.
        resolve_entities: False takes the names literally.
        state: ``invalidated`` (kept, never recalled) or ``valid``.
        reason: why it is invalidated; told with the fact until it is valid again.
    """

    text: str | None = None
    fact_type: str | None = None
    context: str | None = None
    occurred_start: datetime | str | None = None
    occurred_end: datetime | str | None = None
    mentioned_at: datetime | str | None = None
    tags: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    resolve_entities: bool = True
    state: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetInput:
    """What to forget; exactly one of `ids`, `tags` and `document_ids`.

    Args:
        ids: memories.
        tags, tags_match: memories by their tags: ``any_strict`` (one of them), ``all_strict`` or ``exact``.
        document_ids: documents with all their memories.
        dry_run: only tell what would be forgotten.
    """

    ids: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    tags_match: str = "any_strict"
    document_ids: Sequence[str] | None = None
    dry_run: bool = False


class Memories:
    """Use cases on facts; all raise BankNotFound for an unknown bank and NotFound for an unknown fact."""

    def __init__(
        self,
        store: Store,
        indexer: Indexer,
        clock: Clock,
        defender: Defender | NoDefence | None = None,
        on_forget: OnForget = no_exports,
        *,
        on_change: OnChange = nobody,
    ) -> None:
        self._on_forget = on_forget
        self._on_change = on_change
        self._defender = defender or NoDefence()
        self._store = store
        self._indexer = indexer
        self._clock = clock
        self._changing = InTurn()  # a change of the date alone is written together with the text as it was read

    async def list(self, bank_id: str, wanted: FactFilter, limit: int = 100, offset: int = 0) -> Page[Fact]:
        """Most recently mentioned first. Raises InvalidInput for an unknown type or state."""
        if wanted.fact_type is not None:
            check_fact_type(wanted.fact_type, tuple(FactType), "type")
        if wanted.state is not None and wanted.state not in set(FactState):
            raise InvalidInput("state must be valid, pending or invalidated.", field="state")
        if wanted.consolidation not in (None, "pending", "done", "failed"):
            raise InvalidInput("consolidation_state must be pending, done or failed.", field="consolidation_state")
        return await self._store.list_facts(bank_id, wanted, limit, offset)

    async def get(self, bank_id: str, fact_id: str) -> Fact:
        """One fact, in whatever state."""
        return await self._store.get_fact(bank_id, fact_id)

    async def update(self, bank_id: str, fact_id: str, patch: MemoryPatch) -> Fact:
        """Correct, retire or bring back a fact.

        Raises:
            InvalidInput: nothing to change was given, or a value can't be stored.
            Blocked: the bank's memory defence keeps it out.
            Conflict: the fact's extraction is not done yet.
        """
        if patch == MemoryPatch(resolve_entities=patch.resolve_entities, reason=patch.reason):
            raise InvalidInput("Nothing to change was given; set 'text', 'state' or another field.", field="text")
        async with self._changing.of(bank_id):
            changed = await self._changed(bank_id, fact_id, patch)
        await self._on_change(bank_id)
        return changed

    async def _changed(self, bank_id: str, fact_id: str, patch: MemoryPatch) -> Fact:
        fact = await self._store.get_fact(bank_id, fact_id)
        if fact.fact_type is FactType.OBSERVATION:
            raise InvalidInput("Observations are derived; correct the memories they rest on.", field="memory_id")
        if fact.state is FactState.PENDING:
            raise Conflict(f"Memory '{fact_id}' is still being extracted. Try again when its operation is completed.")
        asked = _change(patch)
        _check_order(fact, asked)
        allowed = await self._defender.edited(bank_id, fact, asked)
        change = await self._reindexed(fact, allowed)
        if change.text is None:
            return await self._store.update_fact(bank_id, fact_id, change, self._clock.now())
        async with forgetting(self._on_forget, bank_id):
            return await self._store.update_fact(bank_id, fact_id, change, self._clock.now())

    async def clear(self, bank_id: str, fact_type: str | None = None) -> int:
        """Delete all facts (of one type); the number deleted. Documents stay."""
        if fact_type is not None:
            check_fact_type(fact_type, tuple(FactType), "type")
        async with forgetting(self._on_forget, bank_id):
            deleted = await self._store.clear_facts(bank_id, fact_type, self._clock.now())
        await self._on_change(bank_id)
        return deleted

    async def forget(self, bank_id: str, wanted: ForgetInput) -> Forgotten:
        """Forget memories for good, with everything that was made of them alone and their words in their documents.

        Raises:
            InvalidInput: nothing says what to forget, or more than one thing does, or the tags would match memories
                that bear none of them.
        """
        write = _forget_write(bank_id, wanted)
        found = await self._store.forget(replace(write, dry_run=True), self._clock.now())
        if write.dry_run or not (found.facts or found.documents_changed or found.documents_deleted):
            return found  # for nothing, no export is withdrawn
        async with forgetting(self._on_forget, bank_id):
            forgotten = await self._store.forget(write, self._clock.now())
        await self._on_change(bank_id)
        return forgotten

    async def _reindexed(self, fact: Fact, change: FactChange) -> FactChange:
        changed = replace(
            fact,
            text=fact.text if change.text is None else change.text,
            mentioned_at=None if "mentioned_at" in change.cleared else change.mentioned_at or fact.mentioned_at,
        )
        if change.text is None and indexed_text(changed) == indexed_text(fact):
            return change
        words = self._indexer.words(changed)
        encoding = (await self._indexer.encode([embedded_text(changed)]))[0]
        # Words and vectors are changed together with the text, so the text goes along when only its date moved.
        return replace(
            change,
            text=changed.text,
            terms=words.terms,
            length=words.length,
            tokens=words.tokens,
            encoding=encoding,
        )


def check_fact_type(value: str, allowed: Sequence[FactType], field: str) -> FactType:
    """The fact type of a name; InvalidInput for one that is not allowed here."""
    if value not in set(allowed):
        raise InvalidInput(f"{field} must be one of: {', '.join(allowed)}.", field=field)
    return FactType(value)


def _forget_write(bank_id: str, wanted: ForgetInput) -> ForgetWrite:
    given = [name for name in ("ids", "tags", "document_ids") if getattr(wanted, name)]
    if not given:
        raise InvalidInput(
            "Say what to forget: 'ids', 'tags' or 'document_ids'. To delete everything, delete the bank.", field="ids"
        )
    if len(given) > 1:
        raise InvalidInput(f"Give only one of {' and '.join(map(repr, given))} at a time.", field=given[1])
    for name in ("ids", "document_ids"):
        listed = getattr(wanted, name) or ()
        if len(listed) > _MOST_FORGOTTEN:
            raise InvalidInput(
                f"{name} holds more than {_MOST_FORGOTTEN} ids; send them in several requests.", field=name
            )
        for index, one in enumerate(listed):
            if clean_text(one) != one:
                told = f"{name}[{index}] holds a NUL character or half a surrogate pair, which no id does; take it out."
                raise InvalidInput(told, field=f"{name}[{index}]")
    return ForgetWrite(
        bank_id=bank_id,
        fact_ids=tuple(wanted.ids or ()),
        tags=_forget_filter(wanted) if wanted.tags else None,
        document_ids=tuple(wanted.document_ids or ()),
        dry_run=wanted.dry_run,
    )


def _forget_filter(wanted: ForgetInput) -> TagLeaf:
    allowed = (TagsMatch.ANY_STRICT, TagsMatch.ALL_STRICT, TagsMatch.EXACT)
    if wanted.tags_match not in set(allowed):
        told = "would also forget memories without tags" if wanted.tags_match in set(TagsMatch) else "is unknown"
        raise InvalidInput(
            f"tags_match '{wanted.tags_match}' {told}; use one of: {', '.join(allowed)}.", field="tags_match"
        )
    return TagLeaf(frozenset(wanted.tags or ()), TagsMatch(wanted.tags_match))


def _change(patch: MemoryPatch) -> FactChange:
    times, cleared = _times(patch)
    context = None if patch.context is None else clean_text(patch.context).strip()
    if context == "":
        context, cleared = None, cleared | {"context"}
    return FactChange(
        text=_text(patch.text),
        fact_type=check_fact_type(patch.fact_type, _CURATED_TYPES, "fact_type") if patch.fact_type else None,
        context=context,
        cleared=cleared,
        tags=None if patch.tags is None else check_tags(patch.tags, "tags", RetainLimits()),
        entities=_entities(patch.entities, literal=not patch.resolve_entities),
        state=_state(patch.state),
        reason=clean_text(patch.reason).strip() or None if patch.reason else None,
        **times,
    )


def _text(given: str | None) -> str | None:
    if given is None:
        return None
    text = clean_text(given).strip()
    if not text:
        raise InvalidInput("text is blank. To retire a memory, set state to 'invalidated'.", field="text")
    if len(text) > RetainLimits().content_chars:
        raise InvalidInput(f"text has {len(text)} characters; that is too long for one memory.", field="text")
    return text


def _times(patch: MemoryPatch) -> tuple[dict[str, Any], frozenset[str]]:
    times: dict[str, Any] = {}
    cleared = set()
    for name in _TIMES:
        value = getattr(patch, name)
        if isinstance(value, str) and not value.strip():
            cleared.add(name)
        elif value is not None:
            times[name] = parse_time(value, name)
    return times, frozenset(cleared)


def _check_order(fact: Fact, change: FactChange) -> None:
    """Raises InvalidInput when a fact would end before it starts."""
    start, end = (
        None if name in change.cleared else getattr(change, name) or getattr(fact, name)
        for name in ("occurred_start", "occurred_end")
    )
    if (change.occurred_start or change.occurred_end) and start and end and end < start:
        told = f"occurred_end ({end.isoformat()}) lies before occurred_start ({start.isoformat()}); give both."
        raise InvalidInput(told, field="occurred_end")


def _entities(given: Sequence[str] | None, *, literal: bool) -> tuple[EntityMention, ...] | None:
    if given is None:
        return None
    names = [clean_text(name).strip() for name in given]
    if "" in names:
        raise InvalidInput("entities holds a blank name.", field=f"entities[{names.index('')}]")
    return tuple(EntityMention(name=name, literal=literal) for name in dict.fromkeys(names))


def _state(given: str | None) -> FactState | None:
    if given is None:
        return None
    if given not in set(_CURATED_STATES):
        raise InvalidInput("state must be 'valid' or 'invalidated'.", field="state")
    return FactState(given)
