"""Recall over the real store, extractor and analyser; and views made of plain rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallOutcome, RecallQuery
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactRow


def fact_row(seq: int, **given: Any) -> FactRow:
    """A row with plain values where none are given."""
    values: dict[str, Any] = {
        "fact_type": "world",
        "document_id": f"doc-{seq}",
        "turn_index": 0,
        "context": None,
        "session": None,
        "speaker": None,
        "role": None,
        "mentioned_at": math.nan,
        "occurred_start": math.nan,
        "occurred_end": math.nan,
        "length": 5,
        "tokens": 8,
        "flags": 0,
        "proof_count": 1,
        "tags": (),
        "entities": (),
    }
    return FactRow(seq=seq, **(values | given))


NO_SEQS = np.empty(0, np.int64)


def talk(*turns: tuple[str, str], key: str = "speaker") -> str:
    """A conversation as one item: who, and what they say."""
    return json.dumps([{key: who, "text": words} for who, words in turns])


@dataclass(frozen=True)
class Memory:
    """A recaller, and what fills the banks it reads."""

    engine: Any
    recaller: Recaller

    async def retain(self, *contents: str | Mapping[str, Any], bank_id: str = "b", **shared: Any) -> None:
        items = [ItemInput(**(one if isinstance(one, Mapping) else {"content": one}), **shared) for one in contents]
        await self.engine.retain(bank_id, items)

    async def ask(self, query: str, bank_id: str = "b", **options: Any) -> RecallOutcome:
        return await self.recaller.recall(bank_id, RecallQuery(query=query, **options))

    async def texts(self, query: str, bank_id: str = "b", **options: Any) -> list[str]:
        return texts(await self.ask(query, bank_id, **options))


def texts(outcome: RecallOutcome) -> list[str]:
    return [result.fact.text for result in outcome.results]


def arm(outcome: RecallOutcome, name: str) -> Any:
    return next(one for one in outcome.trace.arms if one.name == name)


@pytest.fixture
def memory(engine: Any, store: Any, clock: Any) -> Memory:
    return Memory(engine, Recaller(store, HashingEmbedder(), Analyzer(), clock))
