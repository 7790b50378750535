"""Reads chat_log.txt: conversations of dated, spoken turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

SOURCE = Path(__file__).with_name("chat_log.txt")


@dataclass(frozen=True)
class Conversation:
    """One sitting: when it began, and its turns as the memory server takes them."""

    began: datetime
    turns: list[dict[str, str]] = field(default_factory=list)

    @property
    def document_id(self) -> str:
        return f"chat-{self.began:%Y-%m-%d}"


def conversations(source: Path = SOURCE) -> Iterator[Conversation]:
    """The conversations of the log, in order; turns of one sitting are a minute apart."""
    current: Conversation | None = None
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            if current:
                yield current
            current = Conversation(datetime.strptime(line[3:], "%Y-%m-%d %H:%M").replace(tzinfo=UTC))
        elif current and ": " in line:
            speaker, text = line.split(": ", 1)
            said = current.began + timedelta(minutes=len(current.turns))
            current.turns.append({"speaker": speaker, "text": text, "timestamp": said.isoformat()})
    if current:
        yield current
