"""The work of a retain job as JSON, from the request to the worker that does it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hindsight_server.domain.model import UpdateMode
from hindsight_server.engine.retain.prepare import Part
from hindsight_server.engine.retain.source import from_source
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.ports.records import DocumentPart

_VERSION = 3


def to_payload(parts: Sequence[Part]) -> dict[str, Any]:
    """What a worker needs to extract the same chunks again, whatever the bank's settings are by then.

    The words are not in it: they wait in their documents, so that whatever is forgotten there is forgotten here too.
    Options that parts share are written once.
    """
    places: dict[ExtractionOptions, int] = {}
    listed = [
        {
            "document_id": part.checked.item.document_id,
            "mode": part.mode.value,
            "options": places.setdefault(part.options, len(places)),
            "stored_hashes": list(part.stored_hashes),
        }
        for part in parts
    ]
    return {"version": _VERSION, "options": [asdict(options) for options in places], "parts": listed}


def from_payload(payload: Mapping[str, Any], waiting: Sequence[tuple[str, DocumentPart]]) -> list[Part]:
    """The parts of a payload whose documents still wait for it.

    Args:
        payload: made by `to_payload`.
        waiting: document ids and texts, as `Store.waiting_parts` gives them.
    """
    _check_version(payload)
    texts: defaultdict[str, deque[DocumentPart]] = defaultdict(deque)
    for document_id, text in waiting:
        texts[document_id].append(text)
    shared = [ExtractionOptions(**options) for options in payload.get("options", ())]
    return [
        _part_from_json(part, texts[part["document_id"]].popleft(), shared)
        for part in payload["parts"]
        if texts[part["document_id"]]
    ]


def reprocess_payload(document_id: str) -> dict[str, Any]:
    """A job that extracts a stored document again."""
    return {"version": _VERSION, "reprocess": document_id}


def document_to_reprocess(payload: Mapping[str, Any]) -> str | None:
    """The document's id, or None when the payload is that of an ordinary retain."""
    _check_version(payload)
    document_id: str | None = payload.get("reprocess")
    return document_id


def repair_payload(document_ids: Sequence[str]) -> dict[str, Any]:
    """A job that reads again what the language model could not be used for."""
    return {"version": _VERSION, "repair": list(dict.fromkeys(document_ids))}


def documents_to_repair(payload: Mapping[str, Any]) -> list[str]:
    """The documents' ids; none when the payload is that of another job."""
    _check_version(payload)
    return list(payload.get("repair", ()))


def _check_version(payload: Mapping[str, Any]) -> None:
    # The one before repeated the options in each part. The first one also held the words: the store takes them out.
    if payload.get("version") not in (2, _VERSION):
        raise ValueError(f"a job of version {payload.get('version')!r}; this server knows version {_VERSION}")


def _part_from_json(value: Mapping[str, Any], held: DocumentPart, shared: Sequence[ExtractionOptions]) -> Part:
    options = value["options"]
    return Part(
        from_source(held.text, value["document_id"], held.source),
        shared[options] if isinstance(options, int) else ExtractionOptions(**options),
        UpdateMode(value["mode"]),
        tuple(value["stored_hashes"]),
    )
