"""Cutting an item's text into the chunks that are kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hindsight_server.adapters.extract.sentences import sentences
from hindsight_server.domain.markdown import Span


def chunk_spans(text: str, units: Iterable[Span], size: int) -> list[Span]:
    """The chunks of a text, each at most `size` characters: whole units joined, longer ones cut between sentences.

    Only the text, its units and `size` decide, from the front on: what is appended changes no chunk but the last.
    """
    if len(text) <= size:
        return [(0, len(text))] if text.strip() else []
    chunks: list[Span] = []
    for start, end in _pieces(text, units, size):
        if chunks and end - chunks[-1][0] <= size:
            chunks[-1] = (chunks[-1][0], end)
        else:
            chunks.append((start, end))
    return chunks


def _pieces(text: str, units: Iterable[Span], size: int) -> Iterator[Span]:
    for start, end in units:
        if end - start <= size:
            yield start, end
            continue
        for first, last in sentences(text, start, end):
            for at in range(first, last, size):
                yield at, min(last, at + size)
