"""What keeps mental models, their history, and the tree of knowledge pages. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.text import PageText
from hindsight_server.domain.pages.trigger import Trigger
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.records import Operation

REFRESH = "refresh_mental_model"
"""The type of the operations that write mental models; their payload is `refresh_payload`."""
MOST_VERSIONS = 50
MOST_LEVELS = 32
"""How deep folders and pages may be nested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageIndex:
    """What a page is found by: its terms with their frequencies, and a vector when one could be made."""

    terms: Mapping[str, int] = field(default_factory=dict)
    encoding: Encoding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """What a refresh wrote.

    Args:
        text: the sections; each cites memories by id.
        fact_ids: the memories that the answer names as its evidence, in order.
        seen_ids: everything that was shown to the writer, these and all others: none of their words may outlive them.
        section_terms: the index terms of each section, by its id.
        answered_query: the source query that it answers.
        structured_output: the answer by the trigger's schema.
        trace: how it came to be, when that is kept.
    """

    text: PageText = field(default_factory=PageText)
    fact_ids: tuple[str, ...] = ()
    seen_ids: tuple[str, ...] = ()
    section_terms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answered_query: str | None = None
    structured_output: Mapping[str, Any] | None = None
    structured_output_error: str | None = None
    trace: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModel:
    """A mental model as it is stored.

    Args:
        version: grows with each content.
        seen_seq: the newest memory that the last refresh could see, by its number.
        failed_seq: likewise of the last refresh, when that failed; None when it did not.
        cut_at: when content was taken out of it because memories that it rests on are gone; None since a refresh.
        scheduled_at, full_scheduled_at: when its schedules were looked at last.
        refresh_id: the operation of its latest refresh.
    """

    bank_id: str
    mental_model_id: str
    name: str
    source_query: str
    tags: tuple[str, ...] = ()
    max_tokens: int = 2048
    trigger: Trigger = field(default_factory=Trigger)
    is_page: bool = False
    created_at: datetime
    updated_at: datetime
    content: PageContent = field(default_factory=PageContent)
    index: PageIndex = field(default_factory=PageIndex)
    version: int = 0
    seen_seq: int = 0
    failed_seq: int | None = None
    last_refreshed_at: datetime | None = None
    last_memory_seen_at: datetime | None = None
    last_refresh_failed_at: datetime | None = None
    last_full_refreshed_at: datetime | None = None
    cut_at: datetime | None = None
    scheduled_at: datetime | None = None
    full_scheduled_at: datetime | None = None
    refresh_id: str | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether a new refresh is due whatever memories come: words were taken out of it, or its question changed."""
        answered = self.content.answered_query
        return self.cut_at is not None or (answered is not None and answered != self.source_query)


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalModelChange:
    """What to set; None leaves a value as it is.

    Args:
        index: what the page is found by; left out when it no longer says `indexed`, since the words of an earlier page
            may be those of memories that are gone.
        clear: empty the content, and forget when it was refreshed; its index is set with it.
        moves, parent_id: of a page, the folder to put it in, None for the root; `moves` tells that from no move.
        unseen: the model is to be written from other memories than before: it has seen none of them.
        stays: the version of the content that may stay when the model is `unseen`: another one is cleared.
    """

    name: str | None = None
    source_query: str | None = None
    tags: tuple[str, ...] | None = None
    max_tokens: int | None = None
    trigger: Trigger | None = None
    index: PageIndex | None = None
    indexed: PageText | None = None
    scheduled_at: datetime | None = None
    full_scheduled_at: datetime | None = None
    clear: bool = False
    moves: bool = False
    parent_id: str | None = None
    unseen: bool = False
    stays: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScope:
    """Which memories a page is written from: valid and pending ones of these types (None is all) and tags."""

    fact_types: tuple[str, ...] | None = None
    tags: TagFilter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMark:
    """How far a scope reaches at one moment.

    Args:
        last_seq: the bank's newest memory, whether it is in the scope or not.
        newest_at: when a memory of the scope was written last.
        facts: how many there are in the scope, counted up to a thousand.
        bank_facts: how many there are in the bank.
        withdrawals: counts what was deleted or edited in the bank; for `RefreshWrite`.
    """

    last_seq: int
    newest_at: datetime | None
    facts: int
    bank_facts: int
    withdrawals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshWrite:
    """The end of a refresh, as one transaction.

    Args:
        mark: what the refresh saw; `Conflict` is raised when something that it was shown was deleted or edited since.
        base_version: of the content that it began with; `Conflict` is raised when there is another one by now.
        base_sources: what it was written from (`domain.pages.trigger.sources_of`); `Conflict` is raised when that has
            changed: it may hold words that the model is not to have. None for no such check.
        content: None keeps what there is: nothing new was found.
        failure: why nothing was written; the content is kept. Then `content` is None.
        finishes: the operation, which is completed (or failed) with `result`; nothing is written when it is not being
            processed any more.
    """

    bank_id: str
    mental_model_id: str
    now: datetime
    mark: ScopeMark
    base_version: int
    base_sources: object | None = None
    outcome: str
    content: PageContent | None = None
    index: PageIndex | None = None
    full: bool = False
    failure: str | None = None
    error: str | None = None
    finishes: Operation | None = None
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVersion:
    """An entry of a history. `previous_content` is None for a refresh that failed."""

    version: int
    changed_at: datetime
    outcome: str
    previous_content: str | None = None
    failure: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeNode:
    """A folder or a page in the tree of a bank; a page's id is that of its mental model."""

    node_id: str
    kind: str
    name: str
    parent_id: str | None = None
    managed: bool = False
    created_at: datetime
    updated_at: datetime


class MentalModelStore(Protocol):
    """All raise BankNotFound for an unknown bank, and NotFound for an unknown model or node."""

    async def add_mental_model(
        self, model: MentalModel, *, node: KnowledgeNode | None = None, refresh: Operation | None = None
    ) -> None:
        """Store a new one, with its place in the tree and its first refresh, creating the bank when needed.

        Raises Conflict when its id, or the name of the node in its folder, is taken.
        """
        ...

    async def get_mental_model(self, bank_id: str, mental_model_id: str) -> MentalModel: ...

    async def list_mental_models(self, bank_id: str) -> list[MentalModel]:
        """All of a bank, by name and then by id."""
        ...

    async def scheduled_mental_models(self) -> list[MentalModel]:
        """Those of all banks whose trigger names a schedule."""
        ...

    async def change_mental_model(
        self, bank_id: str, mental_model_id: str, change: MentalModelChange, now: datetime
    ) -> MentalModel: ...

    async def delete_mental_model(self, bank_id: str, mental_model_id: str, now: datetime) -> None:
        """Delete it with its history and its place in the tree; its refreshes that are not done are cancelled."""
        ...

    async def mental_model_history(self, bank_id: str, mental_model_id: str) -> list[PageVersion]:
        """The newest first, `MOST_VERSIONS` at most."""
        ...

    async def queue_refresh(self, bank_id: str, mental_model_id: str, asked: Operation) -> Operation:
        """Add a refresh; one that waits already is given back instead.

        That one is made a full one when `asked` is, and waits no longer than `asked` does.
        """
        ...

    async def scope_mark(self, bank_id: str, scope: MemoryScope) -> ScopeMark: ...

    async def scope_news(self, bank_id: str, wanted: Sequence[tuple[int, MemoryScope]]) -> list[bool]:
        """For each number and scope, whether a memory of the scope was written after the number."""
        ...

    async def facts_after(self, bank_id: str, seq: int, scope: MemoryScope, limit: int) -> list[Fact]:
        """Memories of a scope that were written after a number, the newest first."""
        ...

    async def save_refresh(self, write: RefreshWrite) -> MentalModel:
        """Raises Conflict as `RefreshWrite` says."""
        ...

    # tree
    async def list_knowledge_nodes(self, bank_id: str) -> list[KnowledgeNode]:
        """All nodes, by name and then by id."""
        ...

    async def add_knowledge_node(self, bank_id: str, node: KnowledgeNode) -> None:
        """Add a folder, creating the bank when needed.

        Raises:
            Conflict: its name is taken in its parent.
            InvalidInput: the parent is a page, or stands at the last of `MOST_LEVELS` levels.
        """
        ...

    async def change_knowledge_node(
        self, bank_id: str, node_id: str, name: str, parent_id: str | None, now: datetime
    ) -> None:
        """Name it, and place it in a folder (None is the root).

        Raises:
            Conflict: the name is taken there.
            InvalidInput: the folder is below it or is a page, or it would be nested too deep.
        """
        ...

    async def delete_knowledge_node(self, bank_id: str, node_id: str, now: datetime) -> int:
        """Delete a node with all below it, the mental models of pages too; how many nodes went."""
        ...


def refresh_payload(mental_model_id: str, *, full: bool = False) -> dict[str, Any]:
    """What an operation that refreshes carries."""
    return {"mental_model_id": mental_model_id, "full": full}
