"""Which line breaks of a text mean something, and which only keep its lines short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hindsight_server.domain.markdown import Span, fences

ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|inc|ltd|no|approx|dept|fig|e\.g|i\.e|u\.s|a\.m|p\.m)|\b[A-Z])\.$",
    re.IGNORECASE,
)
"""A full stop that may end no sentence."""

_NARROWEST = 60  # columns; verses, addresses and lists of words are narrower, wrapped text is wider
_WIDEST = 140  # columns; what goes on for longer was not wrapped
_WIDE = r"\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"  # two columns each
_WIDE_SIGNS = re.compile(f"[{_WIDE}]")
_SOFT_BREAK = re.compile(r"\s*\n\s*")
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])\s*\n\s*(?=[{_WIDE}])")
_FIRST_WORD = re.compile(rf"\s*([{_WIDE}]|[^\s{_WIDE}]+)")
_LINE = re.compile(r"[^\n]+")
_STRUCTURE = re.compile(
    r"""[ \t]*(?:
    (?P<single>\#{1,6}[ \t]|>|[=*_-]{3,}\s*$)  # a heading, a quotation, a rule
    |(?P<table>\|)
    |(?:[-*+•]|\d{1,3}[.)]|[一二三四五六七八九十]{1,3}、)(?:[ \t]|(?<=、))  # an item of a list
    |\[?(?:\d{4}[-/.年]\d{1,2}[-/.月]\d|\d{1,2}[/.]\d{1,2}[/.]\d{2}|\d{1,2}:\d{2})  # a time
    |(?P<key>[^\W\d_][\w.-]{0,30}(?:[ ][\w.-]{1,30}){0,2}(?:：|:(?=\s|$)))
    )""",
    re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.!?…。！？；][\"'”’)\]」』）]*$")


def blocks(text: str, start: int, end: int, size: int) -> Iterator[tuple[Span, bool]]:
    """The stretches of ``text[start:end]`` inside which a line break is no more than a space, in order.

    Cut are blank lines, list items, headings, quotations, lines that begin with a time or a key, and lines that end
    early: before the next line's first word would have passed the paragraph's width.

    Args:
        text: any text.
        start: where to begin.
        end: where to stop.
        size: characters to which the lines of a table, and those of fenced code, are put together.

    Returns:
        Pairs of a stretch and whether it is to stay in one piece.
    """
    at = start
    for begin, stop in fences(text, start, end):
        yield from _outside_code(text, at, begin, size)
        for span in _packed((line.span() for line in _LINE.finditer(text, begin, stop)), size):
            yield span, True
        at = stop
    yield from _outside_code(text, at, end, size)


def unwrapped(text: str) -> str:
    """The text with its lines joined where the breaks between them only keep them short.

    Example:
        >>> unwrapped("She sent the old boat from the harbour of Bergen to that of New\\nYork last week.")
        'She sent the old boat from the harbour of Bergen to that of New York last week.'
    """
    if "\n" not in text:
        return text
    joined, at = [], 0
    for (begin, stop), is_whole in blocks(text, 0, len(text), len(text)):
        if not is_whole and "\n" in text[begin:stop]:
            joined += [text[at:begin], _SOFT_BREAK.sub(" ", _WIDE_BREAK.sub("", text[begin:stop]))]
            at = stop
    return "".join([*joined, text[at:]])


def _outside_code(text: str, start: int, end: int, size: int) -> Iterator[tuple[Span, bool]]:
    run: list[Span] = []
    in_table = is_form = False
    for line in _LINE.finditer(text, start, end):
        if line[0].isspace():
            continue
        structure = _STRUCTURE.match(line[0])
        is_row = structure is not None and structure["table"] is not None
        # in the middle of a sentence a word may well be followed by a colon
        key = structure["key"] if structure else None
        begins = structure is not None and (key is None or not key[0].islower() or is_form)
        follows = bool(run) and "\n" not in text[run[-1][1] + 1 : line.start()]
        if not follows or in_table != is_row or (begins and not is_row):
            yield from _run(text, run, size, in_table=in_table)
            run = []
        run.append(line.span())
        in_table, is_form = is_row, key is not None
        if structure is not None and structure["single"]:
            yield line.span(), False
            run = []
    yield from _run(text, run, size, in_table=in_table)


def _run(text: str, lines: list[Span], size: int, *, in_table: bool) -> Iterator[tuple[Span, bool]]:
    """Rows put together, or lines of text joined where the break between them only keeps them short."""
    if in_table:
        for span in _packed(lines, size):
            yield span, True
        return
    if not lines:
        return
    widths = [_columns(text[start:end]) for start, end in lines] if len(lines) > 1 else [0]
    width = max((columns for columns in widths if columns <= _WIDEST), default=0)
    begin, stop = lines[0]
    for columns, (start, end) in zip(widths, lines[1:], strict=False):
        if width < _NARROWEST or columns > _WIDEST or not _goes_on(text, (begin, stop), start, width - columns):
            yield (begin, stop), False
            begin = start
        stop = end
    yield (begin, stop), False


def _goes_on(text: str, line: Span, following: int, room: int) -> bool:
    """Whether a line ended only because the first word of the following one had no `room` left, in columns."""
    tail = text[max(line[0], line[1] - 12) : line[1]].rstrip()
    if _SENTENCE_END.search(tail) and not ABBREVIATION.search(tail):
        return False
    word = _FIRST_WORD.match(text, following)
    slack = _NARROWEST // 6  # nobody fills by hand each line to the last column
    return room <= slack + (_columns(word[1]) if word else 0)


def _columns(line: str) -> int:
    line = line.rstrip()
    return len(line) if line.isascii() else len(line) + len(_WIDE_SIGNS.findall(line))


def _packed(lines: Iterable[Span], size: int) -> Iterator[Span]:
    begin, stop = -1, -1
    for start, end in lines:
        if begin >= 0 and end - begin > size:
            yield begin, stop
            begin = -1
        begin, stop = (start if begin < 0 else begin), end
    if begin >= 0:
        yield begin, stop
