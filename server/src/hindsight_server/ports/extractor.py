"""What turns an item into turns, chunks and facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hindsight_server.domain.model import ExtractedChunk, Extraction, RetainItem

Skip = Callable[[ExtractedChunk], bool]
"""Whether a chunk's facts are known already; asked once for each chunk, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOptions:
    """Settings of a bank that steer extraction.

    Args:
        mode: ``concise``, ``verbose``, ``verbatim``, ``chunks``, or ``custom``, which takes a language model.
        chunk_size: characters of a chunk at most.
        structured_chunk_size: characters up to which an element of a JSON array, or a JSON line, stays in one chunk
            although it is longer than `chunk_size`; None makes no exception.
        labels: the bank's vocabulary of labels as JSON (`domain.labels`), empty for none.
        free_form: whether other names than labels become entities.
        reader: the prompt with which a language model reads the chunks for facts; empty for the built-in extractor.
        mission: what the bank's memory is for; only a language model reads it.
        instructions: what to keep, in mode ``custom``; only a language model reads it.
        attachments_per_chunk: images and files that stand in one chunk at most; 0 sets no limit.
    """

    mode: str = "concise"
    chunk_size: int = 3000
    structured_chunk_size: int | None = None
    labels: str = ""
    free_form: bool = True
    reader: str = field(default="", repr=False)
    mission: str = field(default="", repr=False)
    instructions: str = field(default="", repr=False)
    attachments_per_chunk: int = field(default=8, repr=False)

    @property
    def shape(self) -> str:
        """All of it that shapes facts, as text; without a model the same as before there was any."""
        return f"{self!r}\0{self.reader}\0{self.mission}\0{self.instructions}" if self.reader else repr(self)


class Extractor(Protocol):
    """Blocking; safe to call from several threads; never raises for any text."""

    def extract(self, item: RetainItem, options: ExtractionOptions, skip: Skip | None = None) -> Extraction:
        """Turns, chunks and facts of one item. Indexes count from 0 inside the item.

        Args:
            item: what was retained.
            options: how to extract it.
            skip: chunks for which it says True are not read for facts: they come back without any.
        """
        ...
