"""Cutting an item's text into the chunks that are kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hindsight_server.adapters.extract.sentences import sentences
from hindsight_server.domain.markdown import Span


def chunk_spans(text: str, units: Iterable[Span], size: int, whole: int = 0) -> list[Span]:
    """The chunks of a text, each at most `size` characters: whole units joined, longer ones cut between sentences.

    A unit of at most `whole` characters is never cut. Only the text, its units and the sizes decide, from the front on:
    what is appended changes no chunk but the last.
    """
    if len(text) <= size:
        return [(0, len(text))] if text.strip() else []
    chunks: list[Span] = []
    for start, end in _pieces(text, units, size, max(size, whole)):
        if chunks and end - chunks[-1][0] <= size:
            chunks[-1] = (chunks[-1][0], end)
        else:
            chunks.append((start, end))
    return chunks


def _pieces(text: str, units: Iterable[Span], size: int, whole: int) -> Iterator[Span]:
    for start, end in units:
        if end - start <= whole:
            yield start, end
            continue
        for first, last in sentences(text, start, end):
            for at in range(first, last, size):
                yield at, min(last, at + size)
