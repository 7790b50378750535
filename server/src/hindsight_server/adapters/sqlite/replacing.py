"""A document before and after its replacement: what of it stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.errors import StaleDocument
from hindsight_server.domain.forgetting import chunk_starts
from hindsight_server.domain.ids import content_hash
from hindsight_server.domain.model import ExtractedFact, UpdateMode
from hindsight_server.ports.records import ChunkWrite, DocumentWrite


@dataclass(frozen=True, slots=True)
class StoredDocument:
    content_hash: str
    turn_count: int
    next_part: int
    text_length: int
    tags: str
    context: str | None
    metadata: str
    observation_scopes: str | None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    part: int
    position: int
    chunk_id: str
    content_hash: str
    ordinal: int
    first_turn: int
    complete: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands in its document."""

    part: int
    first_turn: int


@dataclass(slots=True)
class Replacing:
    """A document that is being replaced: its chunks that nobody took yet, whether its facts get other tags, context or
    metadata, and the hashes of chunks that some part keeps."""

    before: StoredDocument
    left: list[StoredChunk]
    restamps: bool
    keeps: frozenset[str]


def stale(document: DocumentWrite) -> StaleDocument:
    """The error of a write that was prepared for what its document does not hold any more."""
    return StaleDocument(f"Document '{document.document_id}' changed while it was being retained; retain it again.")


def tagged_as_waiting(document: DocumentWrite, source: Mapping[str, Any]) -> DocumentWrite:
    """The part with the tags that it got while it waited for its job; `source` is how it is kept by now."""
    tags = source.get("tags") or []
    return document if tags == (document.source.get("tags") or []) else replace(document, tags=tuple(tags))


def _as_now(
    parts: Sequence[DocumentWrite], stored: StoredDocument, sources: Sequence[Mapping[str, Any]]
) -> list[DocumentWrite]:
    """The parts of a document that was extracted again, with the tags and scopes that it has by now.

    Args:
        sources: how its parts are kept by now. Older databases kept there what the parts had before they got others.
    """
    all_tags = from_json(stored.tags)
    held = [source.get("tags") or [] for source in sources]
    if len(held) != len(parts) or {tag for tags in held for tag in tags} != set(all_tags):
        held = [all_tags] * len(parts)
    scopes = None if stored.observation_scopes is None else from_json(stored.observation_scopes)
    return [
        replace(
            part,
            tags=tuple(tags),
            source=part.source if tags == list(part.tags) else {**part.source, "tags": tags},
            observation_scopes=part.observation_scopes if scopes is None else scopes,
        )
        for part, tags in zip(parts, held, strict=True)
    ]


def after_part(before: StoredDocument | None, document: DocumentWrite, part: int) -> StoredDocument:
    """The document after one more part; `before` is what it is appended to, or None."""
    scopes = None if document.observation_scopes is None else to_json(document.observation_scopes)
    made = StoredDocument(
        content_hash=document.content_hash,
        turn_count=document.turn_count,
        next_part=part + 1,
        text_length=len(document.text),
        tags=to_json(list(document.tags)),
        context=document.context,
        metadata=to_json(dict(document.metadata)),
        observation_scopes=scopes,
    )
    if before is None:
        return made
    return replace(
        made,
        # The hash of hashes, since the text that is there is not read again.
        content_hash=content_hash(f"{before.content_hash}\n{document.content_hash}"),
        turn_count=before.turn_count + made.turn_count,
        text_length=before.text_length + made.text_length,
        tags=to_json(list(dict.fromkeys([*from_json(before.tags), *document.tags]))),
        context=before.context if document.context is None else document.context,
        metadata=to_json(from_json(before.metadata) | dict(document.metadata)),
        observation_scopes=before.observation_scopes if scopes is None else scopes,
    )


def is_same(
    parts: Sequence[DocumentWrite], after: StoredDocument, before: StoredDocument, chunks: Sequence[StoredChunk]
) -> bool:
    """Whether a replacement leaves nothing different, so that it need not be written."""
    wanted = [chunk.content_hash for part in parts for chunk in part.chunks]
    return (
        wanted == [chunk.content_hash for chunk in chunks]
        and all(chunk.complete for chunk in chunks)
        and not any(part.facts for part in parts)
        and all(chunk.content_hash in part.kept_hashes for part in parts for chunk in part.chunks)
        and (after.content_hash, stamps(after)) == (before.content_hash, stamps(before))
        and after.observation_scopes in (None, before.observation_scopes)
    )


def stamps(document: StoredDocument) -> tuple[object, ...]:
    """What the facts have from their document."""
    return document.tags, document.context, document.metadata


def replacements_in(documents: Sequence[DocumentWrite]) -> dict[int, list[DocumentWrite]]:
    """For each position of a part that replaces its document, that part and those that follow it there."""
    found: dict[int, list[DocumentWrite]] = {}
    current: dict[str, list[DocumentWrite]] = {}
    for at, document in enumerate(documents):
        if document.mode is UpdateMode.REPLACE:
            current[document.document_id] = found[at] = [document]
        elif document.document_id in current:
            current[document.document_id].append(document)
    return found


def as_changed(session: BankSession, documents: Sequence[DocumentWrite]) -> Sequence[DocumentWrite]:
    """With `expected_hash`, what was patched at a document while it was read again holds, not what was read."""
    if not any(document.expected_hash for document in documents):
        return documents
    changed: dict[int, DocumentWrite] = {}
    for parts in replacements_in(documents).values():
        key = (session.bank_id, parts[0].document_id)
        row = one_row(session.connection, "documents.read", key)
        if parts[0].expected_hash and row is not None:
            sources = [from_json(source) for _, source in all_rows(session.connection, "documents.parts", key)]
            now = _as_now(parts, StoredDocument(*row), sources)
            changed |= {id(part): one for part, one in zip(parts, now, strict=True)}
    return [changed.get(id(document), document) for document in documents]


def chunk_begins(document: DocumentWrite) -> dict[int, int]:
    """Where each chunk of a part begins in its text; nothing when no fact asks for it."""
    if not document.facts:
        return {}
    starts = chunk_starts(document.text, [chunk.text for chunk in document.chunks])
    return {chunk.index: start for chunk, start in zip(document.chunks, starts, strict=True)}


def place_of(fact: ExtractedFact, begins: Mapping[int, int]) -> tuple[int, int] | None:
    """Where a fact's words stand in its chunk, and their length; None when the extractor does not tell."""
    begin = begins.get(fact.chunk_index)
    return None if begin is None or fact.end <= fact.start else (fact.start - begin, fact.end - fact.start)


def chunk_row(
    session: BankSession, document_id: str, place: Place, chunk: ChunkWrite, made: tuple[str, int, int]
) -> tuple[object, ...]:
    """The row of a chunk; `made` is its id, its ordinal and whether it is complete."""
    identifier, ordinal, complete = made
    first_turn = place.first_turn + chunk.first_turn
    return (
        *(session.bank_id, document_id, place.part, chunk.index, identifier, chunk.content_hash, ordinal),
        *(first_turn, complete, session.now, chunk.text),
    )
