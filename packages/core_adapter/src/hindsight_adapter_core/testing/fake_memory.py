"""What the fake server remembers: banks, documents and facts in plain dicts, searched by shared words."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FakeBank", "FakeFact"]

_WORD = re.compile(r"\w+")


@dataclass
class FakeFact:
    """One remembered utterance."""

    text: str
    document_id: str
    tags: list[str]
    metadata: dict[str, str]
    context: str | None
    mentioned_at: str | None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def as_result(self) -> dict[str, Any]:
        """As an item of a recall response."""
        return {
            "id": self.id,
            "text": self.text,
            "type": "world",
            "document_id": self.document_id,
            "tags": self.tags,
            "metadata": self.metadata,
            "context": self.context,
            "mentioned_at": self.mentioned_at,
        }


@dataclass
class FakeBank:
    """One bank.

    Attributes:
        mission: as set at creation.
        facts: in the order of arrival.
        operation_ids: ids of writes done; a write with one of them again is acknowledged and not repeated.
    """

    mission: str | None = None
    facts: list[FakeFact] = field(default_factory=list)
    operation_ids: set[str] = field(default_factory=set)

    def retain(self, body: dict[str, Any]) -> int:
        """Store the items of a retain body; returns how many."""
        operation_id = body.get("operation_id")
        items: list[dict[str, Any]] = body["items"]
        if operation_id in self.operation_ids:
            return len(items)
        if operation_id:
            self.operation_ids.add(operation_id)
        for item in items:
            document_id = item.get("document_id") or str(uuid.uuid4())
            if item.get("update_mode") != "append":
                self.facts = [fact for fact in self.facts if fact.document_id != document_id]
            for text, said_at in _utterances(item["content"]):
                self.facts.append(
                    FakeFact(
                        text=text,
                        document_id=document_id,
                        tags=item.get("tags") or [],
                        metadata=item.get("metadata") or {},
                        context=item.get("context"),
                        mentioned_at=said_at or item.get("timestamp"),
                    )
                )
        return len(items)

    def recall(self, body: dict[str, Any]) -> list[FakeFact]:
        """Facts that share a word with the query, most shared words first, then the newest first."""
        wanted = set(_WORD.findall(body["query"].lower()))
        visible = [fact for fact in self.facts if _tags_match(fact.tags, body.get("tags"), body.get("tags_match"))]
        scored = [
            (len(wanted & set(_WORD.findall(fact.text.lower()))), position, fact)
            for position, fact in enumerate(visible)
        ]
        return [fact for score, _, fact in sorted(scored, key=lambda s: (-s[0], -s[1])) if score]


def _utterances(content: Any) -> list[tuple[str, str | None]]:
    if isinstance(content, str):
        try:
            parsed = json.loads(content)
        except ValueError:
            return [(content, None)]
        if isinstance(parsed, list) and all(isinstance(one, dict) and "content" in one for one in parsed):
            return [(one["content"], one.get("timestamp")) for one in parsed]
        return [(content, None)]
    return [(block.get("text", ""), None) for block in content]


def _tags_match(own: list[str], asked: list[str] | None, mode: str | None) -> bool:
    if not asked:
        return True
    if mode == "exact":
        return set(own) == set(asked)
    if not own:
        return mode in (None, "any", "all")
    return set(asked) <= set(own) if mode in ("all", "all_strict") else bool(set(asked) & set(own))
