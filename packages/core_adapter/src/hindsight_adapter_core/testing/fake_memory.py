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
        operation_ids: ids of writes done, and what they wrote; the same write again is acknowledged and not repeated.
        parts: what was written to each document, in order.
    """

    mission: str | None = None
    facts: list[FakeFact] = field(default_factory=list)
    operation_ids: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)

    def retain(self, body: dict[str, Any]) -> int:
        """Store the items of a retain body; returns how many.

        Raises:
            ValueError: the operation id stands for another write.
        """
        operation_id = body.get("operation_id")
        items: list[dict[str, Any]] = body["items"]
        written = json.dumps(items, sort_keys=True)
        if operation_id in self.operation_ids:
            if self.operation_ids[operation_id] != written:
                raise ValueError(f"Operation id '{operation_id}' was used before with another content.")
            return len(items)
        if operation_id:
            self.operation_ids[operation_id] = written
        for item in items:
            document_id = item.get("document_id") or str(uuid.uuid4())
            if item.get("update_mode") != "append":
                self.forget(document_id)
            self.parts.setdefault(document_id, []).append(_as_text(item["content"]))
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

    def forget(self, document_id: str) -> None:
        """Take a document and its facts away."""
        self.facts = [fact for fact in self.facts if fact.document_id != document_id]
        self.parts.pop(document_id, None)

    def text(self, document_id: str) -> str | None:
        """A document's text: arrays that were appended to one another are one array, other parts are lines."""
        parts = self.parts.get(document_id)
        if parts is None:
            return None
        try:
            arrays = [json.loads(part) for part in parts]
        except ValueError:
            return "\n".join(parts)
        if not all(isinstance(array, list) for array in arrays):
            return "\n".join(parts)
        return json.dumps([element for array in arrays for element in array], ensure_ascii=False)

    def recall(self, body: dict[str, Any]) -> list[FakeFact]:
        """Facts that share a word with the query, most shared words first, then the newest first."""
        wanted = set(_WORD.findall(body["query"].lower()))
        groups = body.get("tag_groups") or ()
        visible = [
            fact
            for fact in self.facts
            if _tags_match(fact.tags, body.get("tags"), body.get("tags_match"))
            and all(_group_matches(fact.tags, group) for group in groups)
        ]
        scored = [
            (len(wanted & set(_WORD.findall(fact.text.lower()))), position, fact)
            for position, fact in enumerate(visible)
        ]
        return [fact for score, _, fact in sorted(scored, key=lambda s: (-s[0], -s[1])) if score]


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


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


def _group_matches(own: list[str], group: dict[str, Any]) -> bool:
    if "and" in group:
        return all(_group_matches(own, one) for one in group["and"])
    if "or" in group:
        return any(_group_matches(own, one) for one in group["or"])
    if "not" in group:
        return not _group_matches(own, group["not"])
    return _tags_match(own, group.get("tags"), group.get("match") or "any_strict")
