"""The things a bank holds, as plain immutable values.

item → document → chunk → turn → fact; `docs/explanation/identity.md` says what each is and how it is named.
All datetimes are timezone-aware. Ids are opaque strings made by the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hindsight_server.domain.attachments import Attachment


class FactType(StrEnum):
    """Who a fact is about: the world and its people, the agent itself, or a pattern drawn from other facts."""

    WORLD = "world"
    EXPERIENCE = "experience"
    OBSERVATION = "observation"


class UpdateMode(StrEnum):
    """What retaining into an existing document does to what it holds."""

    REPLACE = "replace"
    APPEND = "append"


class FactState(StrEnum):
    """`PENDING` facts are verbatim turns not yet extracted; `INVALIDATED` ones are kept, never recalled."""

    VALID = "valid"
    PENDING = "pending"
    INVALIDATED = "invalidated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A closed span of time; a point has equal ends. Both ends are timezone-aware."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of an item.

    Args:
        index: position inside the item, from 0 (the store adds what the document already holds).
        text: the words, verbatim, without the speaker.
        speaker: the name as written, or None for prose.
        role: ``user``, ``assistant``, ``tool``, ``system`` where the source says so.
        timestamp: when it was said; None when the item is stored without any time.
        start, end: character positions in the item's text.
    """

    index: int
    text: str
    speaker: str | None = None
    role: str | None = None
    timestamp: datetime | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """A name found in a fact, or supplied by the caller.

    `literal` names are never merged with similar ones; a `tag` (a label, always literal) is also a tag of the fact.
    """

    name: str
    type: str = "CONCEPT"
    literal: bool = False
    tag: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLink:
    """What a text says of two of the names in it: that they are the `same`, or that they are two."""

    one: str
    other: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """What an extractor makes of a turn, before it has an id.

    `text` is what is stored, searched and shown: ``"Speaker: words"``, or the words alone. `caused_by` are places,
    among the facts of its extraction, of those that are stated to be its causes. `spoken` are folds
    (`domain.naming.fold_of`) of words that mention a name if the bank knows one that is written so. `attachments` are
    the ids of those that it was drawn from.
    """

    text: str
    fact_type: FactType
    chunk_index: int
    turn_index: int
    speaker: str | None = None
    role: str | None = None
    occurred: Interval | None = None
    mentioned_at: datetime | None = None
    entities: tuple[EntityMention, ...] = ()
    name_links: tuple[NameLink, ...] = ()
    spoken: tuple[str, ...] = ()
    is_question: bool = False
    has_time_expression: bool = False
    start: int = 0
    end: int = 0
    caused_by: tuple[int, ...] = ()
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedChunk:
    """A stretch of an item's text that is kept whole.

    Args:
        index: position inside the item, from 0.
        first_turn: index of the turn in which it begins.
        basis: what else of the item's text decides its facts: chunks of equal text and basis give equal facts.
    """

    index: int
    text: str
    first_turn: int = 0
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Everything an extractor found in one item."""

    turns: tuple[Turn, ...]
    chunks: tuple[ExtractedChunk, ...]
    facts: tuple[ExtractedFact, ...]
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainItem:
    """One item of a retain request, validated and normalised (NULs gone, blank metadata keys dropped).

    `timestamp` is None for an item stored without any time; otherwise aware, "now" already filled in.
    `document_id` is always set: the caller's, or one made for this item; `document_given` says which.
    `receipt_uri` is where the caller keeps the proof of what was retained; it is kept and handed back.
    `attachments` are the pictures and files that tokens in the content stand for (`domain.attachments`).
    """

    content: str
    document_id: str
    document_given: bool = False
    timestamp: datetime | None = None
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    entities: tuple[EntityMention, ...] = ()
    tags: tuple[str, ...] = ()
    update_mode: UpdateMode = UpdateMode.REPLACE
    observation_scopes: object | None = None
    strategy: str | None = None
    receipt_uri: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A stored fact, as read back.

    `seq` is its bank-local number: it grows with every insertion and is never used twice.
    """

    seq: int
    fact_id: str
    document_id: str
    chunk_id: str | None
    turn_index: int
    fact_type: FactType
    text: str
    state: FactState = FactState.VALID
    context: str | None = None
    speaker: str | None = None
    role: str | None = None
    occurred_start: datetime | None = None
    occurred_end: datetime | None = None
    mentioned_at: datetime | None = None
    created_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source_fact_ids: tuple[str, ...] = ()
    proof_count: int = 1
    tokens: int = 0
    updated_at: datetime | None = None
    invalidated_at: datetime | None = None
    invalidation_reason: str | None = None
    edited_at: datetime | None = None
