"""Sentences of a text as positions, and stretches of them of a sensible size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hindsight_server.adapters.extract.lines import ABBREVIATION, blocks
from hindsight_server.domain.markdown import Span, is_heading

_BOUNDARY = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?![a-z\s])|(?<=[。！？；])[”’」』）]*(?![”’」』）。！？；])")
_DENSE = re.compile(r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LONGEST_SENTENCE = 600  # characters; what goes on for longer is cut at a space

_LONGEST_NUMBER = 8  # characters, with the space before it


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of ``text[start:end]``, in order, without the space around them, 600 characters each at most.

    They go over the line breaks of wrapped text; rows of a table and lines of fenced code come put together.
    """
    if text.find("\n", start, end) < 0:
        yield from _in_block(text, start, end)
        return
    for (begin, stop), is_whole in blocks(text, start, end, _LONGEST_SENTENCE):
        yield from _bounded(text, begin, stop) if is_whole else _in_block(text, begin, stop)


def _in_block(text: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    for boundary in _BOUNDARY.finditer(text, start, end):
        stop = boundary.start()
        if ABBREVIATION.search(text[max(begin, stop - 8) : stop]):
            continue
        if stop - begin <= _LONGEST_NUMBER and text[begin : stop - 1].strip().isdigit():
            continue  # the number of a list item
        yield from _bounded(text, begin, boundary.end())
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
    """Join neighbouring sentences until each stretch has `least` words; a short rest goes to the stretch before it.

    A heading begins a stretch, and its words do not count, so that it never stands without what it is over.
    """
    stretches: list[Span] = []
    begin: int | None = None
    is_headed = False
    stop = words = 0
    for start, end in spans:
        heads = text[start] == "#" and is_heading(text[start:end])
        if heads and words and begin is not None:
            _add_rest(stretches, begin, stop, apart=is_headed)
            begin, words = None, 0
        if begin is None:
            begin, is_headed = start, heads
        stop, words = end, words + (0 if heads else word_count(text[start:end]))
        if words >= least or end - begin >= _LONGEST_SENTENCE:
            stretches.append((begin, stop))
            begin, words = None, 0
    if begin is not None:
        _add_rest(stretches, begin, stop, apart=is_headed)
    return stretches


def _add_rest(stretches: list[Span], begin: int, stop: int, *, apart: bool) -> None:
    if stretches and not apart and stop - stretches[-1][0] <= 2 * _LONGEST_SENTENCE:
        stretches[-1] = (stretches[-1][0], stop)
    else:
        stretches.append((begin, stop))
