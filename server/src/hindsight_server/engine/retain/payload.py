"""The work of a retain job as JSON, from the request to the worker that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_server.domain.model import UpdateMode
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.engine.retain.source import from_source, to_source
from hindsight_server.ports.extractor import ExtractionOptions

_VERSION = 1


def to_payload(parts: Sequence[Part]) -> dict[str, Any]:
    """Everything a worker needs to extract the same chunks again, whatever the bank's settings are by then."""
    return {"version": _VERSION, "parts": [_part_to_json(part) for part in parts]}


def from_payload(payload: Mapping[str, Any]) -> list[Part]:
    """The parts of a payload."""
    _check_version(payload)
    return [_part_from_json(part) for part in payload["parts"]]


def reprocess_payload(document_id: str) -> dict[str, Any]:
    """A job that extracts a stored document again."""
    return {"version": _VERSION, "reprocess": document_id}


def document_to_reprocess(payload: Mapping[str, Any]) -> str | None:
    """The document's id, or None when the payload is that of an ordinary retain."""
    _check_version(payload)
    document_id: str | None = payload.get("reprocess")
    return document_id


def _check_version(payload: Mapping[str, Any]) -> None:
    if payload.get("version") != _VERSION:
        raise ValueError(f"a job of version {payload.get('version')!r}; this server knows version {_VERSION}")


def _part_to_json(part: Part) -> dict[str, Any]:
    item = part.checked.item
    return {
        "content": item.content,
        "document_id": item.document_id,
        "source": to_source(part.checked),
        "mode": part.mode.value,
        "options": {"mode": part.options.mode, "chunk_size": part.options.chunk_size},
        "stored_hashes": list(part.stored_hashes),
    }


def _part_from_json(value: Mapping[str, Any]) -> Part:
    return Part(
        from_source(value["content"], value["document_id"], value["source"]),
        ExtractionOptions(**value["options"]),
        UpdateMode(value["mode"]),
        tuple(value["stored_hashes"]),
    )
