"""What a bank is made of, as it leaves one store and enters another: no vectors, no numbers that mean something in one
store only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.model import FactState, FactType
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.observations import ObservationVersion, Source
from hindsight_server.ports.records import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBank:
    """A bank's own settings, and the rules that reflect follows."""

    bank_id: str
    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    directives: tuple[Directive, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPart:
    """What one retain brought to a document; `source` says how, so that it can be extracted again."""

    number: int
    first_turn: int
    turn_count: int
    source: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferChunk:
    """A chunk; `part` and `position` are its place in the document, `complete` whether its facts may be kept."""

    part: int
    position: int
    content_hash: str
    ordinal: int
    first_turn: int
    complete: bool
    created_at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferDocument:
    document_id: str
    content_hash: str
    context: str | None
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    text_length: int
    turn_count: int
    next_part: int
    observation_scopes: Any
    parts: tuple[TransferPart, ...]
    chunks: tuple[TransferChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferMention:
    """A name in a fact; `flags` are those of `domain.naming.flags`."""

    name: str
    type: str
    flags: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePair:
    """What a fact or a user says of two names: one entity (`same`) or two."""

    one: str
    other: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferConsolidation:
    """How far a fact is consolidated: the scopes gone through and whether that failed, and when it was done in all."""

    passes: tuple[tuple[tuple[str, ...], bool], ...] = ()
    done_at: datetime | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFact:
    """A fact. `chunk` is the place of its chunk (part, position), `place` that of its words in it (start, length).

    `attachments` are the ids of those that it was drawn from; the sources of its document's parts describe them.
    `causes` are the ids of facts that are stated to be its causes. `consolidation` comes with the observations only.
    """

    fact_id: str
    document_id: str
    chunk: tuple[int, int] | None
    place: tuple[int, int] | None
    turn_index: int
    fact_type: FactType
    text: str
    state: FactState
    context: str | None
    session: str | None
    speaker: str | None
    role: str | None
    occurred_start: datetime | None
    occurred_end: datetime | None
    mentioned_at: datetime | None
    created_at: datetime
    updated_at: datetime
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    mentions: tuple[TransferMention, ...]
    name_pairs: tuple[NamePair, ...]
    is_question: bool
    has_time_expression: bool
    proof_count: int
    source_fact_ids: tuple[str, ...]
    invalidated_at: datetime | None
    invalidation_reason: str | None
    edited_at: datetime | None
    fold: int
    attachments: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    consolidation: TransferConsolidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferObservation:
    """An observation: what it says as a fact of no document, what it rests on, and what it said before.

    It comes with a whole bank only.
    """

    fact: TransferFact
    scope: tuple[str, ...]
    version: int
    sources: tuple[Source, ...]
    history: tuple[ObservationVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferNames:
    """What users said of names.

    Args:
        pairs: names that are one entity, or two.
        given: names that no fact need mention, and those chosen to stand for their entity.
    """

    pairs: tuple[NamePair, ...] = ()
    given: tuple[TransferMention, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferModel:
    """A mental model with what it says; its history stays behind.

    Args:
        page: as `domain.pages.text.page_json` makes it.
        seen_ids: the memories that it rests on; without one of them it comes without content.
        terms: what its words are found by.
    """

    mental_model_id: str
    name: str
    source_query: str
    tags: tuple[str, ...]
    max_tokens: int
    trigger: Mapping[str, Any]
    is_page: bool
    created_at: datetime
    page: Mapping[str, Any]
    fact_ids: tuple[str, ...]
    seen_ids: tuple[str, ...]
    section_terms: Mapping[str, tuple[str, ...]]
    terms: Mapping[str, int]
    answered_query: str | None
    structured_output: Mapping[str, Any] | None
    last_refreshed_at: datetime | None
    last_memory_seen_at: datetime | None
    last_full_refreshed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferNode:
    """A folder or page of the tree; a page's id is that of its mental model."""

    node_id: str
    kind: str
    name: str
    parent_id: str | None
    managed: bool
    created_at: datetime
    updated_at: datetime


TransferRecord = (
    TransferBank | TransferDocument | TransferFact | TransferObservation | TransferNames | TransferModel | TransferNode
)
"""In this order: one bank, its documents, its facts from the oldest on, its observations, one of names, mental models,
the tree (folders before what is in them).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyFact:
    """A fact to be stored, with what it is found by here."""

    fact: TransferFact
    terms: Mapping[str, int]
    length: int
    tokens: int
    encoding: Encoding | None


@dataclass(frozen=True, slots=True)
class ReadyObservation:
    """An observation to be stored; `fact` is what it says."""

    observation: TransferObservation
    fact: ReadyFact


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferCounts:
    """What an import did; `renamed` documents are among the imported."""

    documents_imported: int = 0
    documents_skipped: int = 0
    documents_replaced: int = 0
    documents_renamed: int = 0
    facts_imported: int = 0
    observations_imported: int = 0
    mental_models_imported: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferWrite:
    """An import as one transaction.

    Args:
        bank_id: where everything goes; the bank is created when it is not there.
        fresh: Conflict is raised when the bank holds anything already.
        conflict: what becomes of a document whose id is taken: ``skip``, ``replace`` or ``new-id``.
        observations: those that rest on a fact which is not stored are left out, and what they rested on waits anew.
        models, nodes: those whose ids are taken are left out; what is to be refreshed is queued.
        bank: settings to take over; None leaves them.
        finishes: the job, which is completed in the same transaction; Conflict is raised when it was cancelled, and
            nothing is written when it is completed already.
        result: makes the job's result of the counts.
    """

    bank_id: str
    now: datetime
    documents: tuple[TransferDocument, ...] = ()
    facts: tuple[ReadyFact, ...] = ()
    observations: tuple[ReadyObservation, ...] = ()
    names: TransferNames = field(default_factory=TransferNames)
    models: tuple[TransferModel, ...] = ()
    nodes: tuple[TransferNode, ...] = ()
    bank: TransferBank | None = None
    fresh: bool = False
    conflict: str = "skip"
    finishes: Operation | None = None
    result: Callable[[TransferCounts], Mapping[str, Any]] | None = None


class TransferStore(Protocol):
    """It is part of `Store`."""

    async def note_progress(self, operation: Operation, progress: Mapping[str, Any], now: datetime) -> None:
        """Tell how far a claimed operation is, as ``progress`` in its result, until it is finished."""
        ...

    async def note_result(self, operation: Operation, result: Mapping[str, Any], now: datetime) -> None:
        """Tell what came of a claimed operation so far, in place of what it told before."""
        ...

    async def read_transfer(
        self, bank_id: str, document_ids: Sequence[str] | None, take: Callable[[TransferRecord], None]
    ) -> None:
        """Hand all of a bank, or of some documents, to `take`, in the order of `TransferRecord`, as of one moment.

        `take` is called in a thread of the store. What users said of names comes only with a whole bank. Raises
        NotFound for a document that is not there.
        """
        ...

    async def write_transfer(self, write: TransferWrite) -> TransferCounts | None:
        """Store what was read elsewhere, in one transaction; None when its job was completed before.

        Facts keep their ids, unless these are taken, and their order. Raises Conflict as `TransferWrite` says,
        InvalidInput when the records contradict each other.
        """
        ...
