"""What a model is shown of an item: a chunk as numbered lines, each a turn or a part of one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindsight_server.domain.attachments import Region, regions
from hindsight_server.domain.attachments import shown as without_marks
from hindsight_server.domain.forgetting import chunk_starts
from hindsight_server.domain.model import Extraction, RetainItem, Turn

_BEFORE_CHARS = 800  # of what was said before the chunk, for pronouns
_LEAST_CHARS = 200  # a passage of fewer is not split any more


@dataclass(frozen=True, slots=True)
class Line:
    """A turn as far as it lies in the chunk; `start` and `end` are where that stands in the item's text.

    Its text is as people read it: an attachment's placeholder stands for its token.
    """

    turn: Turn
    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk, or a part of one, to be read for facts.

    Args:
        before: what was said just before it.
    """

    chunk_index: int
    lines: tuple[Line, ...]
    before: str = ""

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    def halves(self) -> tuple[Passage, Passage] | None:
        """The passage in two; None when it is too short for that."""
        if len(self.text) < _LEAST_CHARS:
            return None
        if len(self.lines) == 1:
            (line,) = self.lines
            at = _middle(line.text)
            first, second = (
                replace(self, lines=(replace(line, text=part),)) for part in (line.text[:at], line.text[at:])
            )
            return first, replace(second, before=_tail(line.text[:at]))
        at = _middle_line(self.lines)
        first, second = replace(self, lines=self.lines[:at]), replace(self, lines=self.lines[at:])
        return first, replace(second, before=_tail("\n".join(shown(line) for line in self.lines[:at])))


def passages(item: RetainItem, extraction: Extraction, wanted: frozenset[int], before: str = "") -> list[Passage]:
    """The wanted chunks of an item as passages; chunks in which nobody says anything are left out.

    Args:
        before: what was said before the item.
    """
    known = {one.attachment_id: one for one in item.attachments}
    starts = chunk_starts(item.content, [chunk.text for chunk in extraction.chunks])
    made = []
    for chunk, start in zip(extraction.chunks, starts, strict=True):
        if chunk.index not in wanted:
            continue
        lines = tuple(_lines(item, extraction.turns, chunk.first_turn, (start, start + len(chunk.text))))
        if lines:
            first = lines[0].start <= extraction.turns[0].start
            told = before if first else _said_before(item, extraction.turns, lines[0], start)
            lines = tuple(replace(line, text=without_marks(line.text, known)) for line in lines)
            made.append(Passage(chunk.index, lines, without_marks(told, known)))
    return made


def shown(line: Line) -> str:
    """``Speaker (time): words``, as the model sees it."""
    turn = line.turn
    who = turn.speaker or turn.role or ""
    when = f" ({turn.timestamp:%A} {turn.timestamp.isoformat(timespec='minutes')})" if turn.timestamp else ""
    return f"{who}{when}: {line.text}" if who or when else line.text


def _lines(item: RetainItem, turns: Sequence[Turn], first: int, span: tuple[int, int]) -> list[Line]:
    start, end = span
    places = regions(item.content) if item.attachments else []
    lines = []
    for turn in turns[max(0, first - 1) :]:
        if turn.start >= end:
            break
        line = _inside(item.content, turn, start, end, places)
        if line is not None and line.text.strip():
            lines.append(line)
    return lines


def _inside(content: str, turn: Turn, start: int, end: int, places: Sequence[Region]) -> Line | None:
    """The words of a turn that lie in a stretch, with what was read from its attachments; those of a JSON string
    belong whole to where it begins."""
    offset = turn.end - len(turn.text)
    held = [place.end for place in places if offset <= place.start < turn.end]
    stop = max([turn.end, *held])
    told = content[offset:stop]
    if not told.startswith(turn.text) and not (held and _is_blanked(told, turn.text)):
        return Line(turn, turn.text, turn.start, turn.end) if start <= turn.start < end else None
    first, last = max(0, start - offset), max(0, end - offset)
    begins = turn.start if not first else offset + first
    return Line(turn, told[first:last], begins, max(begins, min(turn.end, offset + last)))


def _is_blanked(told: str, text: str) -> bool:
    """Whether a text is another one with blanks in the place of what was read from attachments."""
    return all(sign in (" ", real) for real, sign in zip(told, text, strict=False))


def _said_before(item: RetainItem, turns: Sequence[Turn], first: Line, start: int) -> str:
    at = bisect_left(turns, first.turn.index, key=lambda turn: turn.index)
    told = [shown(Line(turn, turn.text)) for turn in turns[max(0, at - 3) : at]]
    if not told:  # in the middle of a long turn
        told = [item.content[max(0, start - _BEFORE_CHARS) : start]]
    return _tail("\n".join(told))


def _tail(text: str) -> str:
    return text if len(text) <= _BEFORE_CHARS else f"…{text[-_BEFORE_CHARS:]}"


def _middle(text: str) -> int:
    """Where to cut a text in two: at the end of a line or sentence near its middle, else at a space, else there."""
    half, near = len(text) // 2, len(text) // 4
    for ends in ("\n", "。", ". ", "！", "？", "! ", "? ", " "):
        at = text.rfind(ends, half - near, half + near)
        if at > 0:
            return at + len(ends)
    return half


def _middle_line(lines: Sequence[Line]) -> int:
    half, length = sum(len(line.text) for line in lines) / 2, 0
    for at, line in enumerate(lines[:-1], start=1):
        length += len(line.text)
        if length >= half:
            return at
    return len(lines) - 1
