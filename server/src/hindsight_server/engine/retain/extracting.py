"""The facts of items: by the built-in extractor, and by a language model where there is one."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hindsight_server.domain.model import FactState
from hindsight_server.engine.attachments.attaching import Attaching
from hindsight_server.engine.extract import Distilled, Outage
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.language import CallAbout
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.prepare import (
    Extracted,
    Part,
    add_encodings,
    extract,
    index,
    stored_chunks,
    texts_to_encode,
)
from hindsight_server.ports.extractor import Extractor
from hindsight_server.ports.llm import ChatReply, ChatRequest, Usage
from hindsight_server.ports.records import DocumentWrite

if TYPE_CHECKING:
    from hindsight_server.engine.extract.distiller import Distiller

_AT_ONCE = 200  # items; between two such slices a cancelled request stops
_SHORT = 2_000  # characters, such as a turn of a conversation has; more are encoded a slice at a time


@dataclass(frozen=True, slots=True)
class Unread:
    """A document with chunks that the model could not be used for. `passes`: a later try may succeed."""

    document_id: str
    chunks: int
    error: str
    passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Documents ready to be stored, and how their facts were come by.

    Args:
        dropped: facts of the model that were not kept, by reason.
        unsupported: chunks whose words stay because none of the model's facts could be kept.
        unread: documents whose words stand in for facts that the model did not give.
        unencoded: facts without a vector, because no model could encode them.
    """

    documents: tuple[DocumentWrite, ...]
    usage: Usage = field(default_factory=Usage)
    dropped: Mapping[str, int] = field(default_factory=dict)
    unsupported: int = 0
    unread: tuple[Unread, ...] = ()
    unencoded: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """Parts that have been read, by a model or without, but not yet indexed."""

    extracted: tuple[Extracted, ...]
    distilled: tuple[Distilled | None, ...]


class Extracting:
    """Turns parts into documents with facts.

    Attributes:
        distiller: reads chunks with a language model; None leaves all to the extractor.
        attaching: checks, keeps and reads attachments; None refuses them.
    """

    def __init__(self, extractor: Extractor, indexer: Indexer) -> None:
        self._extractor = extractor
        self._indexer = indexer
        self.distiller: Distiller | None = None
        self.attaching: Attaching | None = None

    def answered(self, answers: Mapping[str, ChatReply]) -> Extracting:
        """The same, with answers of before to some of its `questions`."""
        made = copy.copy(self)
        made.distiller = None if self.distiller is None else self.distiller.answered(answers)
        return made

    async def questions(self, parts: Sequence[Part]) -> dict[str, ChatRequest]:
        """What a model would be asked about the parts, by the questions' ids."""
        asked: dict[str, ChatRequest] = {}
        if self.distiller is not None:
            for one in [one async for found in self._found(parts) for one in found]:
                item, options = one.part.checked.item, one.part.options
                if options.reader:
                    before = one.part.before
                    asked |= await self.distiller.questions(item, options, one.extraction, before=before)
        return asked

    def reader(self, mode: str) -> str:
        """The prompt with which chunks are read in a mode; empty where no model reads them."""
        return self.distiller.reader(mode) if self.distiller else ""

    def is_read(self, part: Part) -> bool:
        """Whether a model reads the part."""
        return self.distiller is not None and bool(part.options.reader)

    def possible(self, part: Part) -> Part:
        """The part as it can be extracted now: without the model, if there is none any more."""
        if self.distiller is not None or not part.options.reader:
            return part
        return replace(part, options=replace(part.options, reader="", mission="", instructions=""))

    async def filled(self, bank_id: str, parts: Sequence[Part], operation_id: str | None = None) -> list[Part]:
        """The parts with what can be read in their attachments."""
        return list(parts) if self.attaching is None else await self.attaching.filled(bank_id, parts, operation_id)

    async def pending(self, parts: Sequence[Part]) -> Prepared:
        """The parts' own words, without vectors, which hold the place until a job extracts them."""
        documents: list[DocumentWrite] = []
        async for found in self._found(parts):
            documents += await asyncio.to_thread(index, found, self._indexer, FactState.PENDING)
        return Prepared(documents=tuple(documents))

    async def prepared(
        self, bank_id: str, parts: Sequence[Part], *, operation_id: str | None = None, outage: Outage | None = None
    ) -> Prepared:
        """The parts with facts and vectors."""
        short = sum(len(part.checked.item.content) for part in parts) <= _SHORT
        if short and self._indexer.is_ready and not any(map(self.is_read, parts)):
            # One way to a thread and back, not three: waking an idle processor takes as long as some of the work.
            return await asyncio.to_thread(self._prepared_short, parts)
        about = CallAbout(bank_id=bank_id, purpose="retain", operation_id=operation_id)
        return await self.indexed(iter([await self.read(parts, about, outage or Outage())]))

    def _prepared_short(self, parts: Sequence[Part]) -> Prepared:
        documents = [*index(extract(parts, self._extractor, stored_chunks(parts)), self._indexer)]
        encodings = self._indexer.encode_few(texts_to_encode(documents))
        add_encodings(documents, encodings)
        spent = sum((part.spent for part in parts), Usage())
        unencoded = sum(encoding is None for encoding in encodings)
        return Prepared(documents=tuple(documents), usage=spent, unencoded=unencoded)

    async def read(self, parts: Sequence[Part], about: CallAbout, outage: Outage) -> Read:
        """The parts with facts: extracted in worker threads a slice at a time, then read by the model, all at once."""
        return await self.distilled([one async for found in self._found(parts) for one in found], about, outage)

    async def extracted(self, parts: Sequence[Part]) -> list[Extracted]:
        """What the built-in extractor finds in a few parts."""
        return await asyncio.to_thread(extract, parts, self._extractor, stored_chunks(parts))

    async def distilled(self, extracted: Sequence[Extracted], about: CallAbout, outage: Outage) -> Read:
        """What the model reads in them, all at once; parts that it is not to read stay as they are."""
        if self.distiller is None or not any(one.part.options.reader for one in extracted):
            return Read(tuple(extracted), (None,) * len(extracted))
        distilled = await asyncio.gather(*(self._distilled(one, about, outage) for one in extracted))
        return Read(tuple(extracted), tuple(distilled))

    async def indexed(self, reads: Iterable[Read]) -> Prepared:
        """What was read, with words and vectors to be found by.

        Where nobody else holds what was read, each slice is freed by itself: freeing all of it would take too long.
        """
        extracted, prepared = _as_read(reads)
        documents: list[DocumentWrite] = []
        while extracted:
            some = extracted[:_AT_ONCE]
            del extracted[:_AT_ONCE]
            documents += await asyncio.to_thread(index, some, self._indexer)
        unencoded = await self._encode(documents)
        return replace(prepared, documents=tuple(documents), unencoded=unencoded)

    async def _found(self, parts: Sequence[Part]) -> AsyncIterator[list[Extracted]]:
        stored = await offloaded(len(parts), lambda: stored_chunks(parts))
        for start in range(0, len(parts), _AT_ONCE):
            yield await asyncio.to_thread(extract, parts[start : start + _AT_ONCE], self._extractor, stored)

    async def _distilled(self, one: Extracted, about: CallAbout, outage: Outage) -> Distilled | None:
        options = one.part.options
        if self.distiller is None or not options.reader:
            return None
        return await self.distiller.distil(
            one.part.checked.item, options, one.extraction, about, outage, before=one.part.before
        )

    async def _encode(self, documents: list[DocumentWrite]) -> int:
        """Give the documents' facts vectors; the number of facts that got none because the model is away."""
        count = sum(len(document.facts) for document in documents)
        texts = await offloaded(count, lambda: texts_to_encode(documents))
        encodings = await self._indexer.encode(texts)
        await offloaded(count, lambda: add_encodings(documents, encodings))
        return sum(encoding is None for encoding in encodings)


def _as_read(reads: Iterable[Read]) -> tuple[list[Extracted], Prepared]:
    """The parts with what the model found in them, and what is to be told of that."""
    extracted: list[Extracted] = []
    unread: list[Unread] = []
    dropped: Counter[str] = Counter()
    unsupported, usage = 0, Usage()
    for read in reads:
        for one, distilled in zip(read.extracted, read.distilled, strict=True):
            usage += one.part.spent
            if distilled is None:
                extracted.append(one)
                continue
            extracted.append(replace(one, extraction=distilled.extraction, unread=distilled.failed_chunks))
            dropped.update(loss.reason for loss in distilled.dropped)
            unsupported += len(distilled.unsupported)
            usage += distilled.usage
            if distilled.failures:
                unread.append(_unread(one, distilled))
    prepared = Prepared(documents=(), usage=usage, dropped=dropped, unsupported=unsupported, unread=tuple(unread))
    return extracted, prepared


def _unread(one: Extracted, distilled: Distilled) -> Unread:
    failures = distilled.failures
    return Unread(
        one.part.checked.item.document_id,
        len(failures),
        failures[0].error,
        any(failure.passes for failure in failures),
    )
