"""Sentences of a text as positions, and stretches of them of a sensible size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

_BOUNDARY = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?![a-z\s])|(?<=[。！？；])[”’」』）]*(?![”’」』）。！？；])|\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|inc|ltd|no|approx|dept|fig|e\.g|i\.e|u\.s|a\.m|p\.m)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_DENSE = re.compile(r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LONGEST_SENTENCE = 600  # characters; what goes on for longer is cut at a space


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of ``text[start:end]``, in order, without the space around them, 600 characters each at most."""
    begin = start
    for boundary in _BOUNDARY.finditer(text, start, end):
        stop = boundary.start()
        is_line_end = "\n" in boundary[0]
        if not is_line_end and _ABBREVIATION.search(text[max(begin, stop - 8) : stop]):
            continue
        stop = boundary.end() if not is_line_end else stop
        yield from _bounded(text, begin, stop)
        begin = boundary.end()
    yield from _bounded(text, begin, end)


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > _LONGEST_SENTENCE:
        cut = _last_space(text, start, start + _LONGEST_SENTENCE)
        yield start, cut
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _last_space(text: str, start: int, limit: int) -> int:
    """Where to cut: the last white space of the second half, else the limit."""
    for at in range(limit, start + (limit - start) // 2, -1):
        if text[at - 1].isspace():
            return at - 1
    return limit


def word_count(text: str) -> int:
    """Words, two characters of a script without spaces counting as one."""
    dense = 0 if text.isascii() else len(_DENSE.findall(text))
    return len(text.split()) + dense // 2


def grouped(text: str, spans: Iterable[Span], least: int) -> list[Span]:
    """Join neighbouring sentences until each stretch has `least` words; a short rest goes to the stretch before it."""
    stretches: list[Span] = []
    begin: int | None = None
    stop = words = 0
    for start, end in spans:
        begin = start if begin is None else begin
        stop, words = end, words + word_count(text[start:end])
        if words >= least or end - begin >= _LONGEST_SENTENCE:
            stretches.append((begin, stop))
            begin, words = None, 0
    if begin is not None:
        if stretches and stop - stretches[-1][0] <= 2 * _LONGEST_SENTENCE:
            stretches[-1] = (stretches[-1][0], stop)
        else:
            stretches.append((begin, stop))
    return stretches
