"""LoCoMo conversations as banks: views without a store or a server, built by the server's own code.

A turn becomes one item with a context and a time of its own, seconds apart, as the evaluation over HTTP feeds them.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.domain.model import ExtractedFact, RetainItem
from hindsight_server.engine.indexing import Indexer, embedded_text
from hindsight_server.engine.recall.cache import Postings
from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.embedder import Embedder, Encoding, Float32Array, Int8Array
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.ports.records import FLAG_QUESTION, FLAG_TIME_EXPRESSION, FactRow, Snapshot

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the rows of each turn of its evidence, and its category."""

    text: str
    evidence: tuple[tuple[int, ...], ...]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as a bank; `postings`, `tokens` and `entities` (numbers by folded name) stand for the store."""

    name: str
    view: BankView
    postings: Mapping[str, Postings]
    tokens: Mapping[int, Int8Array]
    entities: Mapping[str, int]
    questions: tuple[Asked, ...]


class CachedEncoder:
    """An embedder that remembers what it encoded in a file, since texts do not change between fits."""

    def __init__(self, embedder: Embedder, path: Path | None) -> None:
        self._embedder = embedder
        self._path = path
        self._known: dict[str, Encoding] = {}
        if path is not None and path.exists():
            known: dict[str, Encoding] = pickle.loads(path.read_bytes())
            # A file of before an encoding held all that it holds now.
            self._known = {t: one for t, one in known.items() if all(hasattr(one, f.name) for f in fields(one))}

    def __call__(self, text: str) -> Encoding:
        if text not in self._known:
            self._known[text] = self._embedder.encode([text])[0]
        return self._known[text]

    def save(self) -> None:
        if self._path is not None:
            self._path.write_bytes(pickle.dumps(self._known))


def load(path: Path, analyzer: TextAnalyzer, encode: CachedEncoder) -> list[Conversation]:
    """All conversations of a LoCoMo file."""
    return [_conversation(data, analyzer, encode) for data in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(data: Mapping[str, Any], analyzer: TextAnalyzer, encode: CachedEncoder) -> Conversation:
    extractor, indexer = BuiltinExtractor(analyzer), Indexer(analyzer, make_embedder("hashing"))
    rows: list[FactRow] = []
    vectors: list[Float32Array] = []
    tokens: dict[int, Int8Array] = {}
    places: dict[str, list[int]] = {}
    postings: dict[str, list[tuple[int, int]]] = {}
    entities: dict[str, int] = {}
    for turn_id, item in _items(data):
        for fact in extractor.extract(item, ExtractionOptions()).facts:
            seq = len(rows) + 1
            places.setdefault(turn_id, []).append(seq - 1)
            words = indexer.words(fact)
            for term, count in words.terms.items():
                postings.setdefault(term, []).append((seq - 1, count))
            encoding = encode(embedded_text(fact))
            vectors.append(encoding.vector)
            if encoding.tokens is not None:
                tokens[seq] = encoding.tokens.vectors
            numbers = {entities.setdefault(one.name.casefold(), len(entities)) for one in fact.entities}
            rows.append(_row(seq, item, fact, (words.length, words.tokens), tuple(sorted(numbers))))
    seqs = np.arange(1, len(rows) + 1)
    return Conversation(
        data["sample_id"],
        BankView.built(
            Snapshot(
                version=1,
                rows=rows,
                vectors={encoding.space: (seqs, np.stack(vectors))},
                removed=np.empty(0, np.int64),
            )
        ),
        {term: _postings(pairs) for term, pairs in postings.items()},
        tokens,
        entities,
        tuple(_questions(data, places)),
    )


def _items(data: Mapping[str, Any]) -> Iterator[tuple[str, RetainItem]]:
    talk = data["conversation"]
    names = f"{talk['speaker_a']} and {talk['speaker_b']}"
    for number in range(1, 100):
        session = talk.get(f"session_{number}")
        if not isinstance(session, list):
            continue
        began = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for at, turn in enumerate(session):
            image = f" [shared image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield (
                turn["dia_id"],
                RetainItem(
                    content=f"{turn['speaker']}: {turn['text']}{image}",
                    document_id=f"{data['sample_id']}_{turn['dia_id']}",
                    document_given=True,
                    timestamp=began + timedelta(seconds=at),
                    context=f"Conversation between {names} (session_{number} of {data['sample_id']})",
                ),
            )


def _row(seq: int, item: RetainItem, fact: ExtractedFact, size: tuple[int, int], entities: tuple[int, ...]) -> FactRow:
    occurred = fact.occurred
    return FactRow(
        seq=seq,
        fact_type=fact.fact_type.value,
        document_id=item.document_id,
        turn_index=fact.turn_index,
        context=item.context,
        session=None,
        speaker=fact.speaker,
        role=fact.role,
        mentioned_at=fact.mentioned_at.timestamp() if fact.mentioned_at else float("nan"),
        occurred_start=occurred.start.timestamp() if occurred else float("nan"),
        occurred_end=occurred.end.timestamp() if occurred else float("nan"),
        length=size[0],
        tokens=size[1],
        flags=FLAG_QUESTION * fact.is_question + FLAG_TIME_EXPRESSION * fact.has_time_expression,
        proof_count=1,
        tags=(),
        entities=entities,
    )


def _postings(pairs: list[tuple[int, int]]) -> Postings:
    rows, counts = zip(*pairs, strict=True)
    return Postings(1, 0, np.array(rows, np.int32), np.array(counts, np.float32))


def _questions(data: Mapping[str, Any], places: Mapping[str, list[int]]) -> Iterator[Asked]:
    for question in data["qa"]:
        if question["category"] not in CATEGORIES:
            continue
        found = re.findall(r"D:?(\d+):(\d+)", " ".join(question.get("evidence") or []))
        ids = dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in found)
        evidence = tuple(tuple(places[turn_id]) for turn_id in ids if turn_id in places)
        if evidence:
            yield Asked(question["question"], evidence, question["category"])
