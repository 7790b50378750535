"""What goes into a store and comes out of it, as plain immutable values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from hindsight_server.domain.attachments import Attachment
from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.model import EntityMention, ExtractedFact, FactState, FactType, UpdateMode
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.embedder import Encoding

T = TypeVar("T")
Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
Float32Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `total` counts everything that matches, not just the page."""

    items: tuple[T, ...]
    total: int
    limit: int
    offset: int


# --- banks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """A memory bank. `config` holds the bank's own settings only (overrides of the server's)."""

    bank_id: str
    name: str
    mission: str = ""
    skepticism: int = 3
    literalism: int = 3
    empathy: int = 3
    config: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime
    updated_at: datetime
    last_write_at: datetime | None = None
    last_document_at: datetime | None = None
    fact_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BankChange:
    """What to set on a bank; None leaves a value as it is. `config` is merged; a None value in it removes the key."""

    name: str | None = None
    mission: str | None = None
    skepticism: int | None = None
    literalism: int | None = None
    empathy: int | None = None
    config: Mapping[str, Any] | None = None
    replace_config: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStats:
    """Counts of what a bank holds."""

    facts_by_type: Mapping[str, int]
    documents: int
    entity_links: int
    operations_by_status: Mapping[str, int]
    last_write_at: datetime | None


# --- writing -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkWrite:
    """A chunk of the part; `index` and `first_turn` count from 0 inside it. No retain keeps one not `complete`."""

    index: int
    text: str
    content_hash: str
    first_turn: int
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FactWrite:
    """A fact ready to be stored.

    Args:
        fact_id: a fresh id made by the application.
        extracted: what the extractor found; its chunk and turn indexes count from 0 inside the part.
        terms: index terms with their frequencies.
        length: number of index terms with repeats (the document length of BM25).
        tokens: tokens of the text, for the budget of recall.
        encoding: None while the fact is pending, or when no embedder could encode it.
        session: explicit session key (from tag or metadata), else None.
        fold: facts of equal numbers say the same (`domain.identity.fold_number`); 0 is like no other.
        causes: ids of facts of the same document, written with it, that are stated to be its causes.
    """

    fact_id: str
    extracted: ExtractedFact
    terms: Mapping[str, int]
    length: int
    tokens: int
    encoding: Encoding | None = None
    session: str | None = None
    state: FactState = FactState.VALID
    fold: int = 0
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """One document's part of a retain. Several parts of one document in a write are applied in order.

    The part's `context`, `metadata` and `tags` are those of its facts; the document's own are the latest part's (tags:
    of all its parts). With `REPLACE`, `chunks` are all the chunks the document will have; those whose hash is in
    `kept_hashes` bring no facts, since the stored ones are kept (`StaleDocument` is raised if such a chunk is not there
    any more). With `APPEND`, positions continue after what the document holds, whatever was added meanwhile.

    Args:
        text: the part's text; reading a document joins its parts (JSON arrays are merged, else a newline between).
        source: how the part was retained (JSON-able), kept beside its text and handed back by `document_parts`.
        expected_hash: with `REPLACE`, the content hash that the document must still have (`StaleDocument`); its tags
            and scopes then stay as they are by now. None does not look.
        receipt_uri: where the caller keeps the proof of it; the document keeps that of its latest part with one.
        attachments: what tokens in the text stand for; the document holds those of all its parts.
        waited_text: the text under which the part waits for its job, where that read something into it.
    """

    document_id: str
    mode: UpdateMode = UpdateMode.REPLACE
    text: str
    content_hash: str
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    timestamp: datetime | None = None
    turn_count: int = 0
    chunks: tuple[ChunkWrite, ...] = ()
    facts: tuple[FactWrite, ...] = ()
    kept_hashes: frozenset[str] = frozenset()
    observation_scopes: object | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    expected_hash: str | None = None
    receipt_uri: str | None = None
    attachments: tuple[Attachment, ...] = ()
    waited_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainWrite:
    """One transaction: documents with all that belongs to them, and the operation that asked for them.

    Args:
        operation: recorded in the same transaction (a finished synchronous retain, or a pending job).
        bank_created_at: the bank that the writer saw, if any: Conflict is raised when it was deleted since.
        finishes: id of the job that this write completes. Texts and chunks of `documents` are those that its own write
            stored; only their facts are new and take the places of the pending ones, whatever was appended meanwhile.
            Documents that were replaced or deleted since are left alone. NotFound is raised when the job is gone,
            Conflict when it was cancelled. `operation` brings the job's result, or `result` makes it of those ids.
        job: the job that writes this without finishing it, if any; the same is raised.
        goes_on: the job is not completed yet: of its documents those of this write are, with all parts that wait.
        security_events: what memory defence decided about it; kept unless the write is a replay.
    """

    bank_id: str
    documents: tuple[DocumentWrite, ...]
    now: datetime
    operation: Operation | None = None
    finishes: str | None = None
    result: Callable[[Set[str]], Mapping[str, Any]] | None = None
    job: str | None = None
    goes_on: bool = False
    bank_created_at: datetime | None = None
    security_events: tuple[SecurityEvent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainResult:
    """What a retain stored; `replayed` is true when the operation had been stored before and nothing was written."""

    fact_ids: tuple[str, ...] = ()
    replayed: bool = False
    operation: Operation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """What to set on a fact; None leaves a value as it is. A changed text brings its terms, tokens and encoding.

    `cleared` names what to empty: ``context``, ``occurred_start``, ``occurred_end``, ``mentioned_at``. `reason` is kept
    beside the time for as long as the fact is invalidated.
    """

    text: str | None = None
    fact_type: FactType | None = None
    context: str | None = None
    occurred_start: datetime | None = None
    occurred_end: datetime | None = None
    mentioned_at: datetime | None = None
    cleared: frozenset[str] = frozenset()
    tags: tuple[str, ...] | None = None
    entities: tuple[EntityMention, ...] | None = None
    state: FactState | None = None
    reason: str | None = None
    terms: Mapping[str, int] | None = None
    length: int | None = None
    tokens: int | None = None
    encoding: Encoding | None = None


# --- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document, without its text unless it was asked for. `fact_count` leaves out invalidated facts.

    `text_length` adds up its parts. After an append `content_hash` is the hash of the old one and the part's.
    """

    document_id: str
    content_hash: str
    context: str | None
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    text_length: int
    turn_count: int
    fact_count: int
    observation_scopes: object | None = None
    text: str | None = None
    receipt_uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """What one retain brought to a document, so that it can be extracted again as it came."""

    text: str
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """What a writer needs to know of a document before it replaces it."""

    document_id: str
    content_hash: str
    chunk_hashes: tuple[str, ...]
    turn_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    chunk_id: str
    document_id: str
    bank_id: str
    index: int
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """Which facts a listing holds; `query` is a substring, case folded, `consolidation` pending, done or failed."""

    fact_type: str | None = None
    query: str | None = None
    document_id: str | None = None
    entity_id: str | None = None
    tags: TagFilter | None = None
    state: str | None = None
    consolidation: str | None = None
    time_field: str | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    query: str | None = None
    tags: TagFilter | None = None
    time_field: str | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A piece of work, finished or to be done. `status`: pending, processing, completed, failed, cancelled.

    Args:
        fingerprint: hash of what was asked, so that a second use of the id for something else is seen.
        payload, result: what a worker needs to do it, and what came of it (JSON-able).
        next_attempt_at: not to be claimed before this time, after a failed try.
        lease: names the claim under which a worker does it; no two have the same. None while nobody does it.
    """

    bank_id: str
    operation_id: str
    type: str
    status: str
    fingerprint: str = ""
    payload: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    error: str | None = None
    items_count: int = 0
    attempts: int = 0
    next_attempt_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    completed_at: datetime | None = None
    lease: str | None = None


# --- snapshots for recall ------------------------------------------------------------------------------------


FLAG_QUESTION = 1
FLAG_TIME_EXPRESSION = 2
FLAG_PENDING = 4


@dataclass(frozen=True, slots=True)
class FactRow:
    """The part of a fact that ranking needs. Times are seconds since 1970 (UTC), NaN when there is none.

    Facts of equal `fold` say the same; 0 is like no other, as is that of a fact whose words or times were corrected.
    """

    seq: int
    fact_type: str
    document_id: str
    turn_index: int
    context: str | None
    session: str | None
    speaker: str | None
    role: str | None
    mentioned_at: float
    occurred_start: float
    occurred_end: float
    length: int
    tokens: int
    flags: int
    proof_count: int
    tags: tuple[str, ...]
    entities: tuple[int, ...]
    fold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that changed in a bank after a mark, read in one transaction.

    Args:
        version: the bank's version now; it grows with every write.
        rows: recallable facts (valid and pending) with a `seq` above the mark's, ascending.
        vectors: for each space, the `seq`s (ascending, above the mark) and the matrix, shape (n, dimension).
        removed: `seq`s that ceased to exist since the mark's version.
        rebuild: True when the mark is too old to tell; then everything is in `rows` and `vectors`.
        complete: False when a limit left out later rows; the mark for them is the last row's `seq` with `version`.
        config: the bank's own settings, as of now.
    """

    version: int
    rows: Sequence[FactRow]
    vectors: Mapping[str, tuple[Int64Array, Float32Array]]
    removed: Int64Array
    rebuild: bool = False
    complete: bool = True
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankImage:
    """What a reader worked out from all of a bank, kept so that the next start need not do it again.

    Args:
        version, last_seq: the mark that it was made at: what came after is read as a snapshot.
        arrays: by name; of plain number types.
        texts: by name.
    """

    version: int
    last_seq: int
    arrays: Mapping[str, npt.NDArray[Any]]
    texts: Mapping[str, Sequence[str]]
