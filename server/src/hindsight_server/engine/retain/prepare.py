"""From checked items to what the store writes. Pure and blocking: runs in a worker thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hindsight_server.domain.identity import fold_number, named_session
from hindsight_server.domain.ids import content_hash, new_id
from hindsight_server.domain.model import (
    ExtractedChunk,
    ExtractedFact,
    Extraction,
    FactState,
    FactType,
    RetainItem,
    UpdateMode,
)
from hindsight_server.engine.attachments.extracting import attributed
from hindsight_server.engine.indexing import Indexer, embedded_text
from hindsight_server.engine.retain.items import CheckedItem
from hindsight_server.engine.retain.source import to_source
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.extractor import ExtractionOptions, Extractor
from hindsight_server.ports.llm import Usage
from hindsight_server.ports.records import ChunkWrite, DocumentWrite, FactWrite


@dataclass(frozen=True, slots=True)
class Part:
    """One item to extract.

    Args:
        mode: whether it begins its document anew or goes behind what is there; settled over the whole request.
        stored_hashes: hashes of the chunks that the document holds now, repeats included; as many such chunks keep
            their facts, of all parts of the document together.
        expected_hash: the content hash that the document must still have when the part replaces it.
        before: what was said before it in its document, as the model is shown it.
        waited_text: the item's content before its attachments were read; None when there was nothing to read.
        spent: what a model has used to read them.
    """

    checked: CheckedItem
    options: ExtractionOptions
    mode: UpdateMode
    stored_hashes: tuple[str, ...] = ()
    expected_hash: str | None = None
    waited_text: str | None = None
    before: str = ""
    spent: Usage = field(default_factory=Usage)


def settle_modes(items: Sequence[CheckedItem]) -> list[UpdateMode]:
    """How each item goes into its document, so that no item of a request overwrites another one.

    Items of one document id make up one document, in order. It is replaced when any of them asks for that, and the
    later ones follow; otherwise all are appended.
    """
    replaced = {one.item.document_id for one in items if one.item.update_mode is UpdateMode.REPLACE}
    seen: set[str] = set()
    modes = []
    for one in items:
        document_id = one.item.document_id
        first = document_id not in seen
        seen.add(document_id)
        modes.append(UpdateMode.REPLACE if first and document_id in replaced else UpdateMode.APPEND)
    return modes


Stored = dict[str, Counter[str]]
"""For each document the hashes of its chunks that may still be kept, with their number; `extract` takes from it."""


def stored_chunks(parts: Sequence[Part]) -> Stored:
    """What the documents of some parts hold."""
    return {part.checked.item.document_id: Counter(part.stored_hashes) for part in parts}


@dataclass(frozen=True, slots=True)
class Extracted:
    """A part with what was found in it.

    Args:
        unread: indexes of chunks that the language model could not be used for; they are to be extracted again.
    """

    part: Part
    extraction: Extraction
    hashes: Hashes
    unread: frozenset[int] = frozenset()


def extract(parts: Sequence[Part], extractor: Extractor, stored: Stored) -> list[Extracted]:
    """What the built-in extractor finds. Chunks that are stored already are not read again."""
    found = []
    for part in parts:
        hashes = Hashes(part, stored[part.checked.item.document_id])
        found.append(Extracted(part, extractor.extract(part.checked.item, part.options, hashes.skip), hashes))
    return found


def index(
    extracted: Sequence[Extracted], indexer: Indexer, state: FactState = FactState.VALID
) -> tuple[DocumentWrite, ...]:
    """The documents to write, without vectors.

    Args:
        state: `PENDING` for facts that only hold the place until a job extracts the item.
    """
    return tuple(_document(one, indexer, state) for one in extracted)


@lru_cache(maxsize=16)
def _written(options: ExtractionOptions) -> str:
    return options.shape


class Hashes:
    """The hashes of a part's chunks, and which of the chunks are kept."""

    def __init__(self, part: Part, stored: Counter[str]) -> None:
        # A chunk is the same chunk only when all that shapes its facts is the same too: tags, time, settings.
        self._shape = f"{part.checked.signature()}\0{_written(part.options)}"
        self._stored = stored
        self.kept: set[str] = set()

    def of(self, chunk: ExtractedChunk) -> str:
        return content_hash(f"{self._shape}\0{chunk.basis}\0{chunk.text}")

    def skip(self, chunk: ExtractedChunk) -> bool:
        """Whether the chunk's facts are stored; takes one such chunk out of the stored ones."""
        if not self._stored:
            return False
        digest = self.of(chunk)
        if self._stored[digest] < 1:
            return False
        self._stored[digest] -= 1
        self.kept.add(digest)
        return True


def texts_to_encode(documents: Sequence[DocumentWrite]) -> list[str]:
    """The text of every fact, in the order in which `add_encodings` takes them back."""
    return [embedded_text(fact.extracted) for document in documents for fact in document.facts]


def add_encodings(documents: list[DocumentWrite], encodings: Sequence[Encoding | None]) -> None:
    """Give each fact its vector (None leaves a fact without).

    The list is changed in place, so that what it held is freed in the thread that does this.
    """
    following = iter(encodings)
    for at, document in enumerate(documents):
        facts = tuple(replace(fact, encoding=next(following)) for fact in document.facts)
        documents[at] = replace(document, facts=facts)


def _document(extracted: Extracted, indexer: Indexer, state: FactState) -> DocumentWrite:
    part, extraction, hashes = extracted.part, extracted.extraction, extracted.hashes
    item = part.checked.item
    if item.attachments:
        extraction = attributed(extraction, item)
    chunks = tuple(
        ChunkWrite(
            index=chunk.index,
            text=chunk.text,
            content_hash=hashes.of(chunk),
            first_turn=chunk.first_turn,
            complete=chunk.index not in extracted.unread,
        )
        for chunk in extraction.chunks
    )
    session = named_session(item.tags, item.metadata)
    facts = [_fact(_completed(fact, item), indexer, session, state) for fact in extraction.facts]
    return DocumentWrite(
        document_id=item.document_id,
        mode=part.mode,
        text=item.content,
        content_hash=content_hash(item.content),
        context=item.context,
        metadata=item.metadata,
        tags=item.tags,
        timestamp=item.timestamp,
        turn_count=len(extraction.turns),
        chunks=chunks,
        facts=_with_causes(facts),
        kept_hashes=frozenset(hashes.kept),
        observation_scopes=item.observation_scopes,
        source=to_source(part.checked),
        receipt_uri=item.receipt_uri,
        expected_hash=part.expected_hash,
        attachments=item.attachments,
        waited_text=part.waited_text,
    )


def _fact(fact: ExtractedFact, indexer: Indexer, session: str | None, state: FactState) -> FactWrite:
    words = indexer.words(fact)
    return FactWrite(
        fact_id=new_id(),
        extracted=fact,
        terms=words.terms,
        length=words.length,
        tokens=words.tokens,
        session=session,
        state=state,
        fold=_fold(fact),
    )


def _with_causes(facts: Sequence[FactWrite]) -> tuple[FactWrite, ...]:
    return tuple(
        replace(fact, causes=tuple(facts[at].fact_id for at in fact.extracted.caused_by))
        if fact.extracted.caused_by
        else fact
        for fact in facts
    )


def _fold(fact: ExtractedFact) -> int:
    if fact.fact_type is FactType.OBSERVATION:
        return 0
    return fold_number(
        fact.text,
        speaker=fact.speaker or fact.role,
        occurred=fact.occurred,
        fact_type=fact.fact_type.value,
        said=fact.mentioned_at if fact.has_time_expression and fact.occurred is None else None,
    )


def _completed(fact: ExtractedFact, item: RetainItem) -> ExtractedFact:
    """The fact with what the caller said of the item: its entities, and the role where the text names none."""
    role = fact.role or item.metadata.get("role")
    held = {mention.name.casefold() for mention in fact.entities}
    missing = [mention for mention in item.entities if mention.name.casefold() not in held]
    if not missing and role == fact.role:
        return fact
    return replace(fact, role=role, entities=(*fact.entities, *missing))
