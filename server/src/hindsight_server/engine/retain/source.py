"""How an item was retained, as JSON: kept with its document, and carried by jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hindsight_server.domain import attachments
from hindsight_server.domain.model import EntityMention, RetainItem, UpdateMode
from hindsight_server.engine.retain.items import CheckedItem


def to_source(checked: CheckedItem) -> dict[str, Any]:
    """All of an item besides its text and its document; what has its default value is left out."""
    item = checked.item
    source: dict[str, Any] = {"timestamp": item.timestamp.isoformat() if item.timestamp else None}
    optional = {
        "given_time": checked.given_time,
        "context": item.context,
        "metadata": dict(item.metadata),
        "entities": [[mention.name, mention.type, mention.literal] for mention in item.entities],
        "tags": list(item.tags),
        "observation_scopes": item.observation_scopes,
        "strategy": item.strategy,
        "receipt_uri": item.receipt_uri,
        "attachments": attachments.to_json(item.attachments),
    }
    source.update({name: value for name, value in optional.items() if value})
    return source


def from_source(text: str, document_id: str, source: Mapping[str, Any]) -> CheckedItem:
    """The item again, as one that names its document."""
    timestamp = source.get("timestamp")
    item = RetainItem(
        content=text,
        document_id=document_id,
        document_given=True,
        timestamp=datetime.fromisoformat(timestamp) if timestamp else None,
        context=source.get("context"),
        metadata=source.get("metadata", {}),
        entities=tuple(
            EntityMention(name=name, type=kind, literal=literal) for name, kind, literal in source.get("entities", ())
        ),
        tags=tuple(source.get("tags", ())),
        update_mode=UpdateMode.REPLACE,
        observation_scopes=source.get("observation_scopes"),
        strategy=source.get("strategy"),
        receipt_uri=source.get("receipt_uri"),
        attachments=attachments.from_json(source.get("attachments", ())),
    )
    return CheckedItem(item, source.get("given_time", ""))
