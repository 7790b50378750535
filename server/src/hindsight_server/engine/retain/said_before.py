"""What was said in a document before a part that goes behind it, so that "she" and "there" are understood."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_server.domain.model import UpdateMode
from hindsight_server.domain.turns import split_turns
from hindsight_server.engine.extract.passages import Line, shown
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.engine.retain.source import from_source
from hindsight_server.ports.store import Store

TURNS = 6
CHARS = 2000
_SPLIT_CHARS = 20_000  # a longer part is not taken apart: its end is shown as it is written

_Told = tuple[str, datetime | None]


async def with_said_before(
    store: Store, bank_id: str, parts: Sequence[Part], operation_id: str | None = None
) -> list[Part]:
    """The parts that a model reads, each with the last turns of its document before it.

    They don't count into the hashes of chunks, as what was said earlier in the same item does not: a chunk that comes
    again keeps its facts.

    Args:
        parts: of whole requests; those of one document follow one another.
        operation_id: the job that the parts wait for in the store; None when they are not there yet.
    """
    behind = {part.checked.item.document_id for part in parts if _goes_behind(part)}
    if not behind:
        return list(parts)
    told: dict[str, list[_Told]] = {}
    found: list[Part] = []
    for part in parts:
        item = part.checked.item
        if item.document_id not in behind:
            found.append(part)
            continue
        if part.mode is UpdateMode.APPEND and item.document_id not in told:
            told[item.document_id] = await _stored(store, bank_id, item.document_id, operation_id)
        if _goes_behind(part):
            earlier = told[item.document_id]
            part = replace(part, before=await asyncio.to_thread(_last_turns, earlier) if earlier else "")
        told[item.document_id] = [*told.get(item.document_id, ())[-TURNS:], (item.content, item.timestamp)]
        found.append(part)
    return found


def _goes_behind(part: Part) -> bool:
    return part.mode is UpdateMode.APPEND and bool(part.options.reader)


async def _stored(store: Store, bank_id: str, document_id: str, operation_id: str | None) -> list[_Told]:
    stored = await store.parts_before(bank_id, document_id, operation_id, TURNS)
    items = [from_source(one.text, document_id, one.source).item for one in stored]
    return [(item.content, item.timestamp) for item in items]


def _last_turns(earlier: Sequence[_Told]) -> str:
    lines: list[str] = []
    for text, timestamp in reversed(earlier):
        if len(text) > _SPLIT_CHARS:
            lines.insert(0, text[-CHARS:])
        else:
            turns = split_turns(text, timestamp=timestamp).turns
            lines[:0] = [shown(Line(turn, turn.text)) for turn in turns[-TURNS:]]
        if len(lines) >= TURNS:
            break
    said = "\n".join(lines[-TURNS:])
    return said if len(said) <= CHARS else f"…{said[-CHARS:]}"
