"""What a retain is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.attachments import Attachment
from hindsight_server.engine.attachments.blocks import AttachmentLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemInput:
    """One item as it came over the wire; nothing of it is checked yet. None everywhere means "not given".

    Args:
        content: a text, or a list of blocks: texts, images and files in the order in which they are read.
        timestamp: ISO 8601 or a datetime (without an offset: UTC); None is now, ``"unset"`` is no time at all.
        metadata: text values; keys whose value is null are dropped.
        document_id: blank is the same as none.
        entities: mappings with ``text`` (or ``name``) and an optional ``type``.
        resolve_entities: False takes the names of `entities` literally.
        update_mode: ``replace`` (default) or ``append``.
        strategy: a name among the bank's ``retain_strategies``.
        receipt_uri: where the caller keeps the proof of what is retained; kept with the document and handed back.
        attachments: what belongs to the item without a place in it, such as the file that it was read from. Their
            bytes are kept already.
    """

    content: str | Sequence[Mapping[str, Any]]
    timestamp: datetime | str | None = None
    context: str | None = None
    metadata: Mapping[str, Any] | None = None
    document_id: str | None = None
    entities: Sequence[Mapping[str, Any]] | None = None
    resolve_entities: bool = True
    tags: Sequence[str] | None = None
    update_mode: str | None = None
    observation_scopes: object | None = None
    strategy: str | None = None
    receipt_uri: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainLimits:
    """What one request may hold; more is refused with the reason.

    Args:
        items: number of items.
        content_chars: characters of one item's content.
        short_chars: characters of an id, a tag, a metadata key or an entity name.
        tags: tags of one item.
        uri_chars: characters of a URI.
        attachments: what an item may bring besides its text.
    """

    items: int = 10_000
    content_chars: int = 4_000_000
    short_chars: int = 1_000
    tags: int = 200
    uri_chars: int = 2_000
    attachments: AttachmentLimits = field(default_factory=AttachmentLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainOutcome:
    """What a retain did.

    Args:
        items_count: items stored; those that memory defence kept out are not among them.
        run_async: whether the extraction is left to a job; then `operation_id` names it.
        operation_id: the job's id, or the one that the caller gave; else None.
        document_ids: of the items, in their order (an item without one got its own).
        fact_count: facts stored; the pending ones when the extraction is left to a job.
        unencoded_count: facts among them that are stored without a vector, because no model could encode them.
        no_fact_documents: documents of the request that gave no fact.
        replayed: True when the operation had been stored before; nothing was written, the counts are the original's.
        input_tokens, output_tokens: tokens of a language model, 0 without one.
        dropped_facts: facts of the model that its text does not bear out, by reason.
        unsupported_chunks: chunks that stay as they were written because none of the model's facts could be kept.
        failed_documents: documents with chunks that the model could not be used for; they stay as they were written,
            until a job has read them again.
        repair_operation_id: that job, when the words were to be read at once; None in a replay.
    """

    bank_id: str
    items_count: int
    run_async: bool = False
    operation_id: str | None = None
    document_ids: tuple[str, ...] = ()
    fact_count: int = 0
    unencoded_count: int = 0
    no_fact_documents: int = 0
    replayed: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    dropped_facts: Mapping[str, int] = field(default_factory=dict)
    unsupported_chunks: int = 0
    failed_documents: tuple[str, ...] = ()
    repair_operation_id: str | None = None
