"""Reading the suites: texts with what a model wrote of them, and which of it they bear out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Claim:
    """A fact as a model wrote it. `mark`: ``+`` borne out, ``-`` not."""

    mark: str
    fact: dict[str, Any]
    date: str | None = None


@dataclass
class Document:
    timestamp: str
    context: str
    lines: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def documents() -> list[Document]:
    names = ("english", "chinese", "further", "turned", "later")
    return [document for name in names for document in _read(HERE / f"suite_{name}.txt")]


def _read(path: Path) -> Iterator[Document]:
    current: Document | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            if current is not None:
                yield current
            timestamp, _, context = line[3:].partition(" | ")
            current = Document(timestamp, context)
        elif current is not None and line[:2] in ("+ ", "- "):
            current.claims.append(_claim(line))
        elif current is not None and line.strip():
            current.lines.append(line)
    if current is not None:
        yield current


def _claim(line: str) -> Claim:
    number, what, *fields = (part.strip() for part in line[2:].split(" | "))
    given = dict(part.split("=", 1) for part in fields)
    date = given.pop("date", None)
    return Claim(line[0], {"what": what, "line": int(number), **given}, date)
