"""Requests made of settings: the one place that decides what is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from .calls import RecallCall, ReflectCall, RetainCall
from .checks import check_id
from .settings import MemorySettings
from .turns import new_document_id, now_iso, operation_id_for

__all__ = ["RetainItem", "recall_call", "reflect_call", "retain_call"]


class RetainItem(TypedDict, total=False):
    """What may be said of one stored text besides its words; everything is optional.

    Attributes:
        bank_id: instead of the configured bank.
        document_id: where it goes; default the configured document, else one made for this call.
        context: instead of the configured label.
        timestamp: ISO 8601 with offset; default now.
        tags: added to the configured tags.
        metadata: merged over the configured metadata.
        append: add to the document instead of replacing it.
        operation_id: the id that makes a repetition recognisable; default one made of bank, document and words,
            and in a named document of the time.
    """

    bank_id: str | None
    document_id: str | None
    context: str | None
    timestamp: str | None
    tags: Sequence[str]
    metadata: dict[str, str] | None
    append: bool
    operation_id: str | None


def retain_call(
    settings: MemorySettings, framework: str, session_id: str, content: str, item: RetainItem
) -> RetainCall:
    """The request of one write, ids included: made before the first try and the same at every retry.

    Raises:
        MissingBankError: no bank is known.
        SettingsError: bank or document has a name that can't be in a request's path.
    """
    options = settings.options
    bank = settings.bank(item.get("bank_id"))
    named = item.get("document_id") or options.retain_document_id
    document = check_id("document_id", named) if named else new_document_id(session_id)
    timestamp = item.get("timestamp") or now_iso()
    # Words may be stored again in a named document on purpose; at another time that is another write, not a repetition.
    place = timestamp if named else 0
    source = (f"source:{framework}",) if options.source_tag else ()
    return RetainCall(
        bank_id=bank,
        content=content,
        document_id=document,
        operation_id=item.get("operation_id") or operation_id_for(bank, document, place, content),
        context=item.get("context") or settings.context,
        timestamp=timestamp,
        tags=tuple(dict.fromkeys((*settings.tags, *source, *item.get("tags", ())))),
        metadata={**(options.retain_metadata or {}), **(item.get("metadata") or {})},
        append=item.get("append", False),
        retain_async=options.retain_async,
    )


def recall_call(
    settings: MemorySettings, query: str, *, bank_id: str | None = None, tags: Sequence[str] | None = None
) -> RecallCall:
    """The request of one search; ``tags`` replace the configured filter."""
    options = settings.options
    return RecallCall(
        bank_id=settings.bank(bank_id),
        query=query,
        budget=settings.budget,
        max_tokens=settings.max_tokens,
        types=tuple(options.recall_types or ()),
        tags=settings.recall_tags if tags is None else tuple(tags),
        tags_match=settings.recall_tags_match,
        tag_groups=options.tag_groups,
        min_scores=options.min_scores,
        include_entities=options.recall_include_entities,
    )


def reflect_call(settings: MemorySettings, query: str, *, bank_id: str | None = None) -> ReflectCall:
    """The request of one question; what reflect has no setting for falls back to recall's."""
    options = settings.options
    return ReflectCall(
        bank_id=settings.bank(bank_id),
        query=query,
        budget=settings.budget,
        max_tokens=options.reflect_max_tokens or settings.max_tokens,
        context=options.reflect_context,
        response_schema=options.reflect_response_schema,
        tags=settings.reflect_tags,
        tags_match=options.reflect_tags_match or settings.recall_tags_match,
        tag_groups=options.tag_groups,
    )
