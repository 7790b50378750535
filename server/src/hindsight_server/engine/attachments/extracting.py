"""Extraction from texts with attachments: what is read from a picture makes facts of its own, line by line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hindsight_server.domain.attachments import Region, drawn_from, regions, says_nothing, shown
from hindsight_server.domain.forgetting import chunk_starts
from hindsight_server.domain.model import ExtractedChunk, ExtractedFact, Extraction, RetainItem
from hindsight_server.ports.extractor import ExtractionOptions, Extractor, Skip


class AttachmentExtractor:
    """`Extractor` that hands texts without attachments on as they are.

    Of a text with attachments, what was read from them is kept from the prose around it: each line of it is extracted
    by itself, so that a row of a table is a fact, and is drawn from its attachment.

    Args:
        inner: extracts prose and lines.
    """

    def __init__(self, inner: Extractor) -> None:
        self._inner = inner

    def extract(self, item: RetainItem, options: ExtractionOptions, skip: Skip | None = None) -> Extraction:
        """Turns, chunks and facts of one item. Indexes count from 0 inside the item."""
        # By the text alone: what was forgotten has left its place, and is none of the item's attachments any more.
        places = regions(item.content)
        if not places:
            return self._inner.extract(item, options, skip)
        asked = _Asked(item.content, skip)
        hidden = replace(item, content=_hidden(item.content, places))
        extraction = self._inner.extract(hidden, options, asked.skip if skip else None)
        chunks = tuple(
            replace(chunk, text=item.content[start : start + len(chunk.text)])
            for chunk, start in zip(extraction.chunks, _starts(hidden.content, extraction.chunks), strict=True)
        )
        chunks, pieces = _limited(chunks, options.attachments_per_chunk)
        extraction = replace(extraction, chunks=chunks)
        if options.mode in ("verbatim", "chunks"):
            facts = tuple(_whole(fact, chunks[at]) for fact in extraction.facts for at in pieces[fact.chunk_index])
        else:
            extraction = replace(extraction, facts=tuple(_placed(item.content, extraction, pieces)))
            facts = tuple(sorted(self._all_facts(item, options, extraction, asked), key=lambda fact: fact.start))
        return attributed(replace(extraction, facts=facts), item)

    def _all_facts(
        self, item: RetainItem, options: ExtractionOptions, extraction: Extraction, asked: _Asked
    ) -> Iterator[ExtractedFact]:
        yield from extraction.facts
        starts = chunk_starts(item.content, [chunk.text for chunk in extraction.chunks])
        for region in regions(item.content):
            turn = _turn_at(extraction, region.start)
            for start, line in _lines(item.content, region):
                if asked.knows(start):
                    continue
                chunk = max(0, bisect_right(starts, start) - 1)
                read = replace(item, content=line, attachments=())
                for fact in self._inner.extract(read, options).facts:
                    yield replace(
                        fact,
                        chunk_index=chunk,
                        turn_index=turn,
                        start=start + fact.start,
                        end=start + max(fact.end, fact.start),
                        attachments=(region.attachment_id,),
                    )


class _Asked:
    """Passes the question on whether a chunk is known, with the text that it will have."""

    def __init__(self, content: str, skip: Skip | None) -> None:
        self._content = content
        self._hidden = _hidden(content, regions(content))
        self._skip = skip
        self._at = 0
        self._known: list[tuple[int, int]] = []

    def skip(self, chunk: ExtractedChunk) -> bool:
        start = max(self._hidden.find(chunk.text, self._at), 0)
        self._at = start + len(chunk.text)
        if self._skip is None or not self._skip(replace(chunk, text=self._content[start : self._at])):
            return False
        self._known.append((start, self._at))
        return True

    def knows(self, position: int) -> bool:
        """Whether a position of the text lies in a chunk that is known."""
        return any(start <= position < end for start, end in self._known)


def attributed(extraction: Extraction, item: RetainItem) -> Extraction:
    """Facts of an item with attachments as people read them, each with those that it was drawn from.

    Facts that say nothing besides a placeholder are left out.
    """
    if not regions(item.content):
        return extraction
    known = {one.attachment_id: one for one in item.attachments}
    starts = chunk_starts(item.content, [chunk.text for chunk in extraction.chunks])
    places = {
        chunk.index: (start, start + len(chunk.text)) for chunk, start in zip(extraction.chunks, starts, strict=True)
    }
    facts = []
    for fact in extraction.facts:
        text = shown(fact.text, known)
        if says_nothing(text, item.attachments):
            continue
        drawn = fact.attachments or drawn_from(
            text, (fact.start, fact.end), item.content, places.get(fact.chunk_index, (0, 0))
        )
        facts.append(replace(fact, text=text, attachments=tuple(one for one in drawn if one in known)))
    return replace(extraction, facts=tuple(facts))


def _limited(chunks: Sequence[ExtractedChunk], most: int) -> tuple[tuple[ExtractedChunk, ...], dict[int, list[int]]]:
    """Chunks that hold more than so many attachments, cut before the first that is too many; the pieces of each."""
    made: list[ExtractedChunk] = []
    pieces: dict[int, list[int]] = {}
    for chunk in chunks:
        pieces[chunk.index] = []
        for start, end in pairwise([0, *_cuts(chunk.text, most), len(chunk.text)]):
            pieces[chunk.index].append(len(made))
            made.append(replace(chunk, index=len(made), text=chunk.text[start:end]))
    return tuple(made), pieces


def _placed(content: str, extraction: Extraction, pieces: Mapping[int, Sequence[int]]) -> Iterator[ExtractedFact]:
    """The facts with the pieces in which they begin."""
    starts = chunk_starts(content, [chunk.text for chunk in extraction.chunks])
    for fact in extraction.facts:
        held = pieces[fact.chunk_index]
        begun = [at for at in held if fact.end > fact.start and starts[at] <= fact.start]
        yield replace(fact, chunk_index=begun[-1] if begun else held[0])


def _cuts(text: str, most: int) -> list[int]:
    starts = [region.start for region in regions(text)]
    return starts[most::most] if most > 0 else []


def _hidden(content: str, places: Sequence[Region]) -> str:
    """The text without the words that were read from attachments, every other one in its place."""
    pieces, at = [], 0
    for place in places:
        if place.inner is None:
            continue
        behind = place.start + content[place.start : place.end].index("⟧") + 1
        pieces += [content[at:behind], " " * (place.end - behind)]
        at = place.end
    return "".join([*pieces, content[at:]])


def _starts(hidden: str, chunks: Sequence[ExtractedChunk]) -> list[int]:
    return chunk_starts(hidden, [chunk.text for chunk in chunks])


def _whole(fact: ExtractedFact, chunk: ExtractedChunk) -> ExtractedFact:
    """In the modes that keep chunks as they are, a chunk is its fact."""
    return replace(fact, text=chunk.text, chunk_index=chunk.index)


def _lines(content: str, region: Region) -> Iterator[tuple[int, str]]:
    """The lines that were read from an attachment, with their places."""
    if region.inner is None:
        return
    at, end = region.inner
    for line in content[at:end].split("\n"):
        if line.strip():
            yield at, line
        at += len(line) + 1


def _turn_at(extraction: Extraction, position: int) -> int:
    before = [turn.index for turn in extraction.turns if turn.start <= position]
    return max(before, default=0)
