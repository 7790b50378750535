"""Documents that come from an archive, with all that was made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hindsight_server.domain.ids import content_hash
from hindsight_server.engine.defence.scanning import Change, mapped_metadata, mapped_scopes, mapped_tags
from hindsight_server.ports.transfer import (
    NamePair,
    TransferChunk,
    TransferDocument,
    TransferFact,
    TransferMention,
    TransferNames,
    TransferObservation,
    TransferPart,
)

Imported = tuple[TransferDocument, tuple[TransferFact, ...]]


def mapped_document(imported: Imported, change: Change) -> Imported:
    """A document and its facts with each of their texts changed.

    What was worked out from a text that changes is dropped: a chunk's facts count as incomplete, so that a later retain
    keeps none of them, and a fact does not tell its place.
    """
    document, facts = imported
    changed = replace(
        document,
        document_id=change(document.document_id, "", "document_id"),
        context=_maybe(document.context, "context", change),
        metadata=mapped_metadata(document.metadata, change),
        tags=mapped_tags(document.tags, change),
        observation_scopes=mapped_scopes(document.observation_scopes, change),
        parts=tuple(_part(part, change) for part in document.parts),
        chunks=tuple(_chunk(chunk, change) for chunk in document.chunks),
    )
    mapped = tuple(_fact(fact, changed.document_id, change) for fact in facts)
    if (changed, mapped) == imported:
        return imported
    text = "\n".join(part.text for part in changed.parts)
    length = sum(len(part.text) for part in changed.parts)
    unplaced = tuple(replace(fact, place=None) for fact in mapped)
    return replace(changed, content_hash=content_hash(text), text_length=length), unplaced


def mapped_names(names: TransferNames, change: Change) -> TransferNames:
    """What users said of names, without those that change."""
    return replace(names, pairs=_pairs(names.pairs, change), given=_mentions(names.given, change))


def mapped_observation(given: TransferObservation, change: Change) -> TransferObservation:
    """An observation with each of its texts changed."""
    return replace(
        given,
        fact=_fact(given.fact, given.fact.document_id, change),
        scope=mapped_tags(given.scope, change),
        sources=tuple(replace(one, quote=change(one.quote, "", "text")) for one in given.sources),
        history=tuple(replace(one, text=change(one.text, "", "text")) for one in given.history),
    )


def _part(part: TransferPart, change: Change) -> TransferPart:
    return replace(part, text=change(part.text, "", "content"), source=_any(part.source, "", change))


def _chunk(chunk: TransferChunk, change: Change) -> TransferChunk:
    text = change(chunk.text, "", "content")
    if text == chunk.text:
        return chunk
    # With its place, since chunks that differed may be equal now.
    digest = content_hash(f"{chunk.part}\0{chunk.position}\0{text}")
    return replace(chunk, text=text, content_hash=digest, complete=False)


def _fact(fact: TransferFact, document_id: str, change: Change) -> TransferFact:
    return replace(
        fact,
        document_id=document_id,
        text=change(fact.text, "", "text"),
        context=_maybe(fact.context, "context", change),
        session=_maybe(fact.session, "session", change),
        speaker=_maybe(fact.speaker, "speaker", change),
        metadata=mapped_metadata(fact.metadata, change),
        tags=mapped_tags(fact.tags, change),
        mentions=_mentions(fact.mentions, change),
        name_pairs=_pairs(fact.name_pairs, change),
        invalidation_reason=_maybe(fact.invalidation_reason, "reason", change),
    )


def _maybe(text: str | None, field: str, change: Change) -> str | None:
    return None if text is None else change(text, "", field)


def _mentions(mentions: Sequence[TransferMention], change: Change) -> tuple[TransferMention, ...]:
    return tuple(mention for mention in mentions if change(mention.name, "", "entities") == mention.name)


def _pairs(pairs: Sequence[NamePair], change: Change) -> tuple[NamePair, ...]:
    return tuple(pair for pair in pairs if all(change(name, "", "entities") == name for name in (pair.one, pair.other)))


def _any(value: Any, name: str, change: Change) -> Any:
    """Everything in how a part was retained."""
    if isinstance(value, str):
        return change(value, name, "source")
    if isinstance(value, Mapping):
        return {change(key, "", "source"): _any(inner, key, change) for key, inner in value.items()}
    return [_any(inner, name, change) for inner in value] if isinstance(value, list | tuple) else value
