"""The files of a suite: what is stored, and questions with the snippets that a good answer needs (see README.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
HALVES = ("dev", "frozen")
_SENT = ("document_id", "content", "timestamp", "context", "tags", "metadata", "update_mode")
_ITEM_KEYS = frozenset(_SENT)
_QUESTION_KEYS = frozenset({"id", "question", "kind", "language", "query_timestamp", "evidence"})


class SuiteError(ValueError):
    """A suite file does not keep to the format; the message names the file, the place and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Words that must stand in one result, and the document it must come from (None: any)."""

    snippet: str
    document_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question; `query_timestamp` is the moment it is asked at (None: now)."""

    id: str
    question: str
    kind: str
    language: str
    evidence: tuple[Evidence, ...]
    query_timestamp: str | None = None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What is stored, as the bodies of retain items in the order of their sending; list contents became JSON text."""

    name: str
    description: str
    items: tuple[dict[str, Any], ...]

    def texts(self, document_id: str | None) -> list[str]:
        """The whole words of every item of a document (None: of all), decoded where they were stored as JSON."""
        return [
            _plain_text(item["content"])
            for item in self.items
            if document_id is None or item.get("document_id") == document_id
        ]


def normalised(text: str) -> str:
    """Case and runs of white space do not count when a snippet is looked for."""
    return " ".join(text.casefold().split())


def load_suite(name: str, folder: Path = FOLDER) -> Suite:
    """Read ``NAME.json``. Raises SuiteError."""
    path = folder / f"{name}.json"
    data = _read(path)
    items = []
    for at, item in enumerate(data["items"]):
        unknown = set(item) - _ITEM_KEYS
        if unknown or "content" not in item:
            raise SuiteError(f"{path}: item {at} needs content and may not have {sorted(unknown)}; see README.md")
        content = item["content"]
        body = {key: item[key] for key in _SENT if key in item}
        items.append(body | {"content": content if isinstance(content, str) else json.dumps(content)})
    return Suite(name=data["name"], description=data["description"], items=tuple(items))


def load_questions(name: str, half: str, folder: Path = FOLDER) -> list[Question]:
    """Read ``NAME.dev.json``, ``NAME.frozen.json`` or, for ``both``, the two. Raises SuiteError."""
    return [one for part in (HALVES if half == "both" else (half,)) for one in _questions(name, part, folder)]


def misplaced(suite: Suite, questions: Sequence[Question]) -> list[str]:
    """Complaints about evidence that no item of its document holds, and about ids given twice."""
    complaints, seen = [], set()
    for question in questions:
        if question.id in seen:
            complaints.append(f"{question.id}: the id is given twice")
        seen.add(question.id)
        for one in question.evidence:
            if not any(normalised(one.snippet) in normalised(text) for text in suite.texts(one.document_id)):
                complaints.append(f"{question.id}: {one.snippet!r} is not in {one.document_id or 'any item'}")
    return complaints


def _questions(name: str, half: str, folder: Path) -> list[Question]:
    path = folder / f"{name}.{half}.json"
    data = _read(path)
    if data["half"] != half:
        raise SuiteError(f'{path}: "half" is {data["half"]!r}; it must be {half!r} as in the file\'s name')
    found = []
    for one in data["questions"]:
        unknown = set(one) - _QUESTION_KEYS
        if unknown or not one.get("evidence"):
            raise SuiteError(f"{path}: {one.get('id')} needs evidence and may not have {sorted(unknown)}")
        evidence = tuple(Evidence(**pointer) for pointer in one["evidence"])
        found.append(Question(**{**one, "evidence": evidence}))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SuiteError(f"{path} does not exist; the suites are the files NAME.json of that folder") from None
    return data


def _plain_text(content: str) -> str:
    """The words of a JSON array of turns, or the text as it is."""
    if not content.startswith("["):
        return content
    try:
        turns = json.loads(content)
    except ValueError:
        return content
    return "\n".join(_strings(turns))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]
