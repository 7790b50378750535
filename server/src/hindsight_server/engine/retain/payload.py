"""The items of an asynchronous retain as JSON, from the request to the worker that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hindsight_server.domain.model import EntityMention, RetainItem, UpdateMode
from hindsight_server.engine.retain.items import CheckedItem
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.ports.extractor import ExtractionOptions

_VERSION = 1


def to_payload(parts: Sequence[Part]) -> dict[str, Any]:
    """Everything a worker needs to extract the same chunks again, whatever the bank's settings are by then."""
    return {"version": _VERSION, "parts": [_part_to_json(part) for part in parts]}


def from_payload(payload: Mapping[str, Any]) -> list[Part]:
    """The parts of a payload. Raises ValueError for one that a newer version wrote."""
    if payload.get("version") != _VERSION:
        raise ValueError(f"a job of version {payload.get('version')!r}; this server knows version {_VERSION}")
    return [_part_from_json(part) for part in payload["parts"]]


def _part_to_json(part: Part) -> dict[str, Any]:
    item = part.checked.item
    return {
        "content": item.content,
        "document_id": item.document_id,
        "document_given": item.document_given,
        "timestamp": item.timestamp.isoformat() if item.timestamp else None,
        "given_time": part.checked.given_time,
        "context": item.context,
        "metadata": dict(item.metadata),
        "entities": [[mention.name, mention.type, mention.literal] for mention in item.entities],
        "tags": list(item.tags),
        "update_mode": item.update_mode.value,
        "observation_scopes": item.observation_scopes,
        "strategy": item.strategy,
        "mode": part.mode.value,
        "options": {"mode": part.options.mode, "chunk_size": part.options.chunk_size},
        "stored_hashes": sorted(part.stored_hashes),
    }


def _part_from_json(value: Mapping[str, Any]) -> Part:
    item = RetainItem(
        content=value["content"],
        document_id=value["document_id"],
        document_given=value["document_given"],
        timestamp=datetime.fromisoformat(value["timestamp"]) if value["timestamp"] else None,
        context=value["context"],
        metadata=value["metadata"],
        entities=tuple(EntityMention(name=name, type=kind, literal=lit) for name, kind, lit in value["entities"]),
        tags=tuple(value["tags"]),
        update_mode=UpdateMode(value["update_mode"]),
        observation_scopes=value["observation_scopes"],
        strategy=value["strategy"],
    )
    return Part(
        CheckedItem(item, value["given_time"]),
        ExtractionOptions(**value["options"]),
        UpdateMode(value["mode"]),
        frozenset(value["stored_hashes"]),
    )
