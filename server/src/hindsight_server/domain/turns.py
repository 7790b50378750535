"""An item's text, taken apart into what each speaker said: the rules of `docs/explanation/identity.md`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_server.domain.markdown import Span, comments, fences, is_heading
from hindsight_server.domain.model import Turn
from hindsight_server.domain.speakers import ROLES, is_speaker, may_be_speaker
from hindsight_server.domain.text import clean_text
from hindsight_server.domain.time import parse_stamp


class ContentKind(StrEnum):
    """How a text is written."""

    JSON = "json"
    JSONL = "jsonl"
    DIALOGUE = "dialogue"
    PROSE = "prose"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitContent:
    """A text taken apart.

    Args:
        kind: how it is written.
        turns: what was said; positions are those of the element, line or paragraph in the text, label included.
        units: the stretches that belong together, in order, elements that are no turn among them.
    """

    kind: ContentKind
    turns: tuple[Turn, ...]
    units: tuple[Span, ...]


def split_turns(content: str, *, timestamp: datetime | None = None) -> SplitContent:
    """Take a text apart into turns.

    Args:
        content: a JSON array or object, JSON lines, a dialogue, or prose.
        timestamp: the time of turns that have none of their own, and what a bare clock time is counted from.

    Example:
        >>> [(turn.speaker, turn.text) for turn in split_turns("Ann: Hi!\\nBob: Hey.").turns]
        [('Ann', 'Hi!'), ('Bob', 'Hey.')]
    """
    opening = content.lstrip()[:1]
    split: SplitContent | None = None
    if opening in ("[", "{") and content.rstrip()[-1] in "]}":
        split = _from_json(content, timestamp) or _from_json_lines(content, timestamp)
    return split or _from_dialogue(content, timestamp) or _from_prose(content, timestamp)


_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")
_LISTS = ("messages", "turns", "conversation", "dialogue")
_NAMES = ("speaker", "name")
_TEXTS = ("text", "content")
_STAMPS = ("timestamp", "time", "created_at", "date")


def _from_json(content: str, timestamp: datetime | None) -> SplitContent | None:
    try:
        json.loads(content)
        start = _skip(content, 0)
        if content[start] == "{" and (inner := _list_in_object(content)) is not None:
            start = inner
        elements = list(_elements(content, start)) if content[start] == "[" else [_decode(content, start)]
    except (ValueError, RecursionError):
        return None
    return _from_elements(elements, ContentKind.JSON, timestamp)


def _list_in_object(content: str) -> int | None:
    """Where the list of turns begins in an object such as ``{"messages": [...]}``."""
    found = re.match(rf'\s*\{{\s*"(?:{"|".join(_LISTS)})"\s*:\s*(?=\[)', content)
    return found.end() if found else None


def _from_json_lines(content: str, timestamp: datetime | None) -> SplitContent | None:
    elements: list[tuple[object, int, int]] = []
    for line in re.finditer(r"[^\r\n]+", content):
        if line[0].isspace():
            continue
        try:
            value, start, end = _decode(content, _skip(content, line.start()))
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or content[end : line.end()].strip() or end > line.end():
            return None
        elements.append((value, start, end))
    return _from_elements(elements, ContentKind.JSONL, timestamp)


def _skip(content: str, at: int) -> int:
    blank = _BLANK.match(content, at)
    return blank.end() if blank else at


def _decode(content: str, at: int) -> tuple[object, int, int]:
    value, end = _DECODER.raw_decode(content, at)
    return value, at, end


def _elements(content: str, start: int) -> Iterator[tuple[object, int, int]]:
    """The elements of the array that begins at `start`, with their positions."""
    at = _skip(content, start + 1)
    while content[at : at + 1] != "]":
        value, begin, end = _decode(content, at)
        yield value, begin, end
        at = _skip(content, end)
        if content[at : at + 1] == ",":
            at = _skip(content, at + 1)


def _from_elements(
    elements: list[tuple[object, int, int]], kind: ContentKind, timestamp: datetime | None
) -> SplitContent | None:
    turns: list[Turn] = []
    for value, start, end in elements:
        turn = _turn_of(value, len(turns), (start, end), timestamp)
        if turn is not None:
            turns.append(turn)
    if not turns:
        return None
    return SplitContent(kind=kind, turns=tuple(turns), units=tuple((start, end) for _, start, end in elements))


def _turn_of(value: object, index: int, span: Span, timestamp: datetime | None) -> Turn | None:
    if not isinstance(value, dict):
        return None
    text = next((words for key in _TEXTS if (words := _text_of(value.get(key)))), None)
    name = next((name for key in _NAMES if (name := _clean(value.get(key)))), None)
    role = _clean(value.get("role"))
    if text is None or (name is None and role is None):
        return None
    own = next((stamp for key in _STAMPS if (stamp := parse_stamp(value.get(key), timestamp))), None)
    return Turn(
        index=index,
        text=text,
        speaker=name or role,
        role=ROLES.get((role or name or "").casefold(), role.casefold() if role else None),
        timestamp=own or timestamp,
        start=span[0],
        end=span[1],
    )


def _text_of(value: object) -> str | None:
    """Words as a string, or as a list of parts of which those of kind text count."""
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in value)
        value = "\n".join(part for part in parts if isinstance(part, str))
    return _clean(value)


def _clean(value: object) -> str | None:
    """Text without blanks around it, and without what an escape in the JSON stands for but no text can hold."""
    return clean_text(value).strip() or None if isinstance(value, str) else None


_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_LINE = re.compile(
    rf"""
    ^[ \t]*(?:[-*>][ ])?(?:\*\*)?
    (?:\[(?P<bracketed>[^\]\n]{{1,40}})\][ ]*|(?P<leading>(?:\d[\d/.\-]{{5,9}},?[ ]+)?{_CLOCK})[ ]+(?:-[ ]+)?)?
    (?P<name>@?[^\W\d_](?:[\w.'’·-]|[ ](?=\S)){{0,39}}?)
    (?:[ ]*[(（\[](?P<aside>[^)）\]\n]{{1,40}})[)）\]])?
    (?:\*\*)?[ ]?(?:：|:(?=\*\*|\s|$|[\u3000-\u9fff]))(?:\*\*)?[ \t]*
    """,
    re.VERBOSE | re.MULTILINE,
)


def _from_dialogue(content: str, timestamp: datetime | None) -> SplitContent | None:
    labels = _labels(content)
    if not labels:
        return None
    turns: list[Turn] = []
    if heading := content[: labels[0].start()].strip():
        start = _skip(content, 0)
        turns.append(Turn(index=0, text=heading, timestamp=timestamp, start=start, end=start + len(heading)))
    for label, text, start, end in _labelled(content, labels):
        stamp = label["bracketed"] or label["leading"] or label["aside"]
        turns.append(
            Turn(
                index=len(turns),
                text=text,
                speaker=label["name"],
                role=ROLES.get(label["name"].casefold()),
                timestamp=parse_stamp(stamp, timestamp) or timestamp,
                start=start,
                end=end,
            )
        )
    units = tuple((turn.start, turn.end) for turn in turns)
    return SplitContent(kind=ContentKind.DIALOGUE, turns=tuple(turns), units=units)


def _labelled(content: str, labels: list[re.Match[str]]) -> Iterator[tuple[re.Match[str], str, int, int]]:
    """Each label with its words and the positions of both together; labels without words are left out."""
    limits = [*(label.start() for label in labels[1:]), len(content)]
    for label, limit in zip(labels, limits, strict=True):
        text = content[label.end() : limit].strip()
        if text:
            start = _skip(content, label.start())
            yield label, text, start, start + len(content[start:limit].rstrip())


def _labels(content: str) -> list[re.Match[str]]:
    """The labels of a dialogue, or nothing when the text is none."""
    first = _LINE.match(content, _line_start(content))
    if "\n" not in content:
        return [first] if first and is_speaker(first["name"]) and first.end() < len(content.rstrip()) else []
    found = list(_LINE.finditer(content)) if ":" in content or "：" in content else []
    counts = Counter(label["name"] for label in found)
    has_speaker = any(is_speaker(name) for name in counts)
    least = 2 if has_speaker else 1  # beside a speaker, a doubtful label is one only when it comes back
    names = {name for name in counts if is_speaker(name) or (counts[name] >= least and may_be_speaker(name))}
    kept = [label for label in found if label["name"] in names]
    begins = has_speaker and first is not None and bool(kept) and kept[0].start() == first.start()
    if not kept or not (begins or len(kept) > len(names) > 1) or _is_form(content, kept):
        return []
    return kept if next(_labelled(content, kept), None) else []


_FORM_LINES = 3
_FORM_WORDS = 4
_SENTENCE = re.compile(r"[.!?。！？，]\s*$")


def _is_form(content: str, labels: list[re.Match[str]]) -> bool:
    """Whether the labels head the lines of a form: several, all different, each with a few words and no sentence."""
    if len(labels) < _FORM_LINES or len({label["name"] for label in labels}) < len(labels):
        return False
    texts = [text for _, text, _, _ in _labelled(content, labels)]
    return not any(_SENTENCE.search(text) or len(text.split()) > _FORM_WORDS for text in texts)


def _line_start(content: str) -> int:
    """Where the first line that is not blank begins."""
    at = _skip(content, 0)
    return content.rfind("\n", 0, at) + 1


_BETWEEN_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")


def _from_prose(content: str, timestamp: datetime | None) -> SplitContent:
    turns: list[Turn] = []
    begin = last = 0
    for limit in (*_paragraph_ends(content), len(content)):
        paragraph, last = content[last:limit].strip(), limit
        if limit < len(content) and is_heading(paragraph):
            continue  # it belongs to what it is over
        if text := content[begin:limit].strip():
            start = _skip(content, begin)
            turns.append(Turn(index=len(turns), text=text, timestamp=timestamp, start=start, end=start + len(text)))
        begin = limit
    units = tuple((turn.start, turn.end) for turn in turns)
    return SplitContent(kind=ContentKind.PROSE, turns=tuple(turns), units=units)


def _paragraph_ends(content: str) -> Iterator[int]:
    """Where blank lines begin, except inside fenced code and HTML comments."""
    unbroken = sorted([*fences(content, 0, len(content)), *comments(content)], reverse=True)
    for gap in _BETWEEN_PARAGRAPHS.finditer(content):
        while unbroken and unbroken[-1][1] <= gap.start():
            unbroken.pop()
        if not unbroken or gap.start() < unbroken[-1][0]:
            yield gap.start()
