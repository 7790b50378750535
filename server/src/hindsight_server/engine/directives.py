"""Directives: rules that reflect follows, and which of them hold for a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hindsight_server.domain.directives import Directive, holds_for, in_order
from hindsight_server.domain.errors import InvalidInput, NotFound
from hindsight_server.domain.fuzzy_tags import Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.tags import TagFilter, TagLeaf, TagsMatch
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.in_turn import InTurn
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Page
from hindsight_server.ports.store import Store

_LONGEST_NAME = 200  # characters
_LONGEST_CONTENT = 10_000  # characters; all that apply stand in front of every question
_LARGEST_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveInput:
    """What a caller sets on a directive; None leaves a value as it is (or, of a new one, at its default)."""

    name: str | None = None
    content: str | None = None
    priority: int | None = None
    is_active: bool | None = None
    tags: tuple[str, ...] | None = None


class Directives:
    """Use cases on directives.

    Example:
        >>> made = await directives.create("ann", DirectiveInput(name="tone", content="Answer in one sentence."))
        >>> [rule.name for rule in await directives.for_request("ann", None)]
        ['tone']
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._changing = InTurn()  # what a patch leaves is read before it is written

    async def create(self, bank_id: str, given: DirectiveInput) -> Directive:
        """Add a directive; the bank is made when it is not there. Raises InvalidInput."""
        check_bank_id(bank_id)
        now = self._clock.now()
        blank = Directive(directive_id=new_id(), name="", content="", created_at=now, updated_at=now)
        made = _changed(blank, given)
        await self._store.save_directive(bank_id, made, now)
        return made

    async def update(self, bank_id: str, directive_id: str, given: DirectiveInput) -> Directive:
        """Change a directive. Raises NotFound, InvalidInput."""
        async with self._changing.of(bank_id):
            held = await self._store.directive(bank_id, directive_id)
            changed = replace(_changed(held, given), updated_at=self._clock.now())
            await self._store.save_directive(bank_id, changed, changed.updated_at)
        return changed

    async def get(self, bank_id: str, directive_id: str) -> Directive:
        """Raises NotFound."""
        return await self._store.directive(bank_id, directive_id)

    async def delete(self, bank_id: str, directive_id: str) -> None:
        """Raises NotFound."""
        async with self._changing.of(bank_id):
            deleted = await self._store.delete_directive(bank_id, directive_id)
        if not deleted:
            raise NotFound(f"Directive '{directive_id}' not found.")

    async def list(
        self,
        bank_id: str,
        tags: Sequence[str] = (),
        match: TagsMatch = TagsMatch.ANY,
        *,
        active_only: bool = True,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[Directive]:
        """In the order in which they are told. Raises BankNotFound.

        Args:
            tags: only those that hold for a request with these tags; without any, all.
        """
        found = in_order(await self._store.directives(bank_id, active_only=active_only))
        if tags:
            scope = TagLeaf(frozenset(tags), match)
            found = [one for one in found if holds_for(one, scope)]
        return Page(tuple(found[offset : offset + limit]), len(found), limit, offset)

    async def for_request(self, bank_id: str, scope: TagFilter | None, *, every: bool = False) -> tuple[Directive, ...]:
        """The active directives that hold for a request, in the order in which they are told. Raises BankNotFound.

        Args:
            scope: the tags of the request.
            every: whatever their tags are.
        """
        found = in_order(await self._store.directives(bank_id, active_only=True))
        if every:
            return tuple(found)
        if scope is not None and fuzzy_tags(scope):
            scope = resolve(scope, Vocabulary(tag for one in found for tag in one.tags)).tags
        return tuple(one for one in found if holds_for(one, scope))


def check_directive(given: DirectiveInput) -> None:
    """Raises InvalidInput for what `Directives.create` would refuse."""
    then = datetime(1970, 1, 1, tzinfo=UTC)
    _changed(Directive(directive_id="", name="", content="", created_at=then, updated_at=then), given)


def storable(rule: Directive) -> Directive | None:
    """A directive from elsewhere, in shape; None for one that can't be kept."""
    try:
        checked = _changed(rule, DirectiveInput(tags=rule.tags))
    except InvalidInput:
        return None
    return checked if rule.directive_id.strip() and clean_text(rule.directive_id) == rule.directive_id else None


def _changed(held: Directive, given: DirectiveInput) -> Directive:
    """The directive with what is given, all of it checked."""
    priority = held.priority if given.priority is None else given.priority
    if abs(priority) > _LARGEST_PRIORITY:
        raise InvalidInput(f"priority must lie between -{_LARGEST_PRIORITY} and {_LARGEST_PRIORITY}.", field="priority")
    return replace(
        held,
        name=_words(held.name if given.name is None else given.name, "name", _LONGEST_NAME),
        content=_words(held.content if given.content is None else given.content, "content", _LONGEST_CONTENT),
        priority=priority,
        is_active=held.is_active if given.is_active is None else given.is_active,
        tags=held.tags if given.tags is None else _tags(given.tags),
    )


def _words(text: str, field: str, longest: int) -> str:
    words = clean_text(text).strip()
    if not words:
        raise InvalidInput(f"{field} is blank.", field=field)
    if len(words) > longest:
        raise InvalidInput(f"{field} has {len(words)} characters; at most {longest} are kept.", field=field)
    return words


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    cleaned = [clean_text(tag).strip() for tag in tags]
    for index, tag in enumerate(cleaned):
        if not tag or len(tag) > _LONGEST_NAME:
            raise InvalidInput(f"A tag must have 1 to {_LONGEST_NAME} characters.", field=f"tags[{index}]")
    return tuple(dict.fromkeys(cleaned))
