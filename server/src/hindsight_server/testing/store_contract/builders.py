"""Small documents and facts for the tests of stores."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from hindsight_server.domain.ids import content_hash, new_id
from hindsight_server.domain.model import EntityMention, ExtractedFact, FactState, FactType, Interval, UpdateMode
from hindsight_server.ports.embedder import Encoding, TokenVectors
from hindsight_server.ports.records import ChunkWrite, DocumentWrite, FactWrite, Operation, RetainWrite
from hindsight_server.ports.store import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPACE = "test-8"
DIMENSION = 8
TOKEN_DIMENSION = 4


def later(seconds: float) -> datetime:
    """That long after NOW."""
    return NOW + timedelta(seconds=seconds)


def terms_of(text: str) -> dict[str, int]:
    """The words of a text with their frequencies."""
    return dict(Counter(re.findall(r"\w+", text.casefold())))


def encoding_of(text: str) -> Encoding:
    """Vectors that are the same for the same text, and that half precision holds exactly."""
    random = np.random.default_rng(zlib.crc32(text.encode()))
    vector = (random.integers(-64, 64, DIMENSION) / 64).astype(np.float32)
    words = tuple(terms_of(text)) or ("-",)
    return Encoding(
        SPACE, vector, TokenVectors(words, random.integers(-127, 128, (len(words), TOKEN_DIMENSION)).astype(np.int8))
    )


def fact(
    text: str, *, chunk: int = 0, turn: int = 0, names: Sequence[str | EntityMention] = (), **options: Any
) -> FactWrite:
    """A fact. `options` are those of `ExtractedFact`, and `state`, `session` and `fold`."""
    state = options.pop("state", FactState.VALID)
    session = options.pop("session", None)
    fold = options.pop("fold", 0)
    occurred: Interval | None = options.pop("occurred", None)
    extracted = ExtractedFact(
        text=text,
        fact_type=options.pop("fact_type", FactType.WORLD),
        chunk_index=chunk,
        turn_index=turn,
        mentioned_at=options.pop("mentioned_at", NOW),
        entities=tuple(EntityMention(name=name) if isinstance(name, str) else name for name in names),
        occurred=occurred,
        **options,
    )
    terms = terms_of(text)
    return FactWrite(
        fact_id=new_id(),
        extracted=extracted,
        terms=terms,
        length=sum(terms.values()),
        tokens=len(terms),
        encoding=None if state is FactState.PENDING else encoding_of(text),
        session=session,
        state=state,
        fold=fold,
    )


def document(document_id: str, *texts: str, keep: Sequence[str] = (), **options: Any) -> DocumentWrite:
    """A part of a document: each text is a turn, a chunk and a fact of its own.

    Args:
        keep: texts whose chunk is already there and stays.
        options: those of `fact` that hold for all (`names`, `state`, `fact_type`), and those of `DocumentWrite`.
    """
    of_facts = {name: options.pop(name) for name in ("names", "state", "fact_type") if name in options}
    whole = options.pop("text", "\n".join(texts))
    chunks = tuple(
        ChunkWrite(index=index, text=text, content_hash=content_hash(text), first_turn=index)
        for index, text in enumerate(texts)
    )
    facts = tuple(
        fact(text, chunk=index, turn=index, **of_facts) for index, text in enumerate(texts) if text not in keep
    )
    return DocumentWrite(
        document_id=document_id,
        text=whole,
        content_hash=content_hash(whole),
        turn_count=len(texts),
        chunks=chunks,
        facts=options.pop("facts", facts),
        kept_hashes=frozenset(content_hash(text) for text in keep),
        **options,
    )


def appended(document_id: str, *texts: str, **options: Any) -> DocumentWrite:
    """The same, to be appended."""
    return document(document_id, *texts, mode=UpdateMode.APPEND, **options)


def write(bank_id: str, *documents: DocumentWrite, **options: Any) -> RetainWrite:
    """A retain at NOW."""
    return RetainWrite(bank_id=bank_id, documents=documents, now=options.pop("now", NOW), **options)


def operation(bank_id: str, operation_id: str, **options: Any) -> Operation:
    """A pending retain."""
    values: dict[str, Any] = {"type": "retain", "status": "pending", "fingerprint": "f", "created_at": NOW} | options
    return Operation(bank_id=bank_id, operation_id=operation_id, **values)


async def put(store: Store, bank_id: str, document_id: str, *texts: str, **options: Any) -> tuple[str, ...]:
    """Retain one document; the ids of its facts."""
    return (await store.retain(write(bank_id, document(document_id, *texts, **options)))).fact_ids
