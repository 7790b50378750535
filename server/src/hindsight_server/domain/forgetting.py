"""Taking one stretch of words out of a document's text, so that what is left is still written the same way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hindsight_server.domain.markdown import Span

_OPEN_LABEL = re.compile(r"[^\n]{1,80}[:：](?:\*\*)?[ \t]*")


@dataclass(slots=True)
class Cutting:
    """A text from which stretches are cut, the last one first.

    Example:
        >>> cutting = Cutting('[{"a": 1}, {"b": 2}]')
        >>> cutting.cut(11, 19)
        >>> cutting.text
        '[{"a": 1}]'
    """

    text: str
    _cuts: list[Span] = field(default_factory=list)

    def cut(self, start: int, end: int) -> None:
        """Cut ``text[start:end]``, with what only joined it to the rest; nothing behind it may be cut any more."""
        start, end = _widened(self.text, start, end)
        self.text = self.text[:start] + self.text[end:]
        self._cuts.append((start, end))

    def moved(self, position: int) -> int:
        """Where a position of the first text is now; one inside a cut is where the cut was."""
        for start, end in self._cuts:
            if position > start:
                position = max(start, position - (end - start))
        return position


def _widened(text: str, start: int, end: int) -> Span:
    before, after = _stop(text, start), _skip(text, end)
    if (
        text[start : start + 1] == "{"
        and text[before - 1 : before] in ("[", ",")
        and text[after : after + 1] in (",", "]")
    ):
        if text[after] == ",":
            return start, _skip(text, after + 1)
        return (before - 1 if text[before - 1] == "," else start), end
    line = text.rfind("\n", 0, start) + 1
    if (after == len(text) or "\n" in text[end:after]) and _OPEN_LABEL.fullmatch(text, line, start):
        start = line  # nobody says anything there any more
    before = _stop(text, start)
    if line < start and "\n" in text[end:after]:
        return before, end
    if start == 0 or text[start - 1].isspace():
        end = after
    if after == len(text):
        return before, after
    return start, end


def _stop(text: str, at: int) -> int:
    while at and text[at - 1].isspace():
        at -= 1
    return at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def chunk_starts(text: str, chunks: Iterable[str]) -> list[int]:
    """Where each of a text's chunks, in order, begins."""
    starts, at = [], 0
    for chunk in chunks:
        found = text.find(chunk, at)
        starts.append(at if found < 0 else found)
        at = starts[-1] + (0 if found < 0 else len(chunk))
    return starts


def find_words(text: str, words: str, start: int = 0, end: int | None = None) -> Span | None:
    """Where words stand in a text, as they are or as a JSON string has them; None when they are not there."""
    limit = len(text) if end is None else end
    at = text.find(words, start, limit)
    if at >= 0 and words:
        return at, at + len(words)
    for ascii_only in (False, True):
        written = json.dumps(words, ensure_ascii=ascii_only)[1:-1]
        at = text.find(written, start, limit)
        if at >= 0 and written:
            return at, at + len(written)
    return None


def spoken(text: str, speaker: str | None) -> str:
    """A fact's words without the speaker in front of them."""
    if speaker and text.startswith(speaker) and text[len(speaker) :].lstrip()[:1] in (":", "："):
        return text[len(speaker) :].lstrip()[1:].strip()
    return text


def is_blank(text: str) -> bool:
    """Whether nothing is left of a text."""
    return not text.strip() or "".join(text.split()) in ("[]", "{}")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact's words stand in the text of a part; `start` and `end` are None when that is not known.

    Args:
        chunk: the stretch that holds them for certain.
        words: the fact's words, without their speaker.
    """

    chunk: Span
    words: str
    start: int | None = None
    end: int | None = None


def cut_sources(text: str, forgotten: Sequence[Source], kept: Sequence[Source]) -> Cutting:
    """A part's text without the words of some facts.

    Facts that came of the same stretch and stay keep their words when these can be told apart, as can a sentence of a
    turn that a JSON string holds. What can't be found goes with the whole chunk: forgetting must not leave
    words behind.
    """
    cutting = Cutting(text)
    for start, end in reversed(_joined(sorted(_span(text, source, kept) for source in forgotten))):
        cutting.cut(start, end)
    return cutting


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans, given in order, with those that overlap made one."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def _span(text: str, source: Source, kept: Sequence[Source]) -> Span:
    if source.start is None or source.end is None:
        return find_words(text, source.words, *source.chunk) or source.chunk
    shared = any(
        other.start is not None and other.end is not None and other.start < source.end and source.start < other.end
        for other in kept
    )
    if shared and (found := find_words(text, source.words, source.start, source.end)):
        return found
    return source.start, source.end
