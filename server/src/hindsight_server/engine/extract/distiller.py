"""Asking the model chunk by chunk, and putting its facts in the places of the built-in ones."""

from __future__ import annotations

import asyncio
import copy
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, BankNotFound, ModelError, ModelUnavailable
from hindsight_server.domain.grounding import Ordinary
from hindsight_server.domain.model import ExtractedFact, Extraction, RetainItem
from hindsight_server.engine.extract.answers import Given, ModelFact, facts_schema, read_facts
from hindsight_server.engine.extract.asking import messages, prompt_version, question_id
from hindsight_server.engine.extract.checking import Checked, PassageCheck, Source
from hindsight_server.engine.extract.passages import Passage, passages
from hindsight_server.engine.extract.types import ChunkFailure, Distilled, Dropped, Outage
from hindsight_server.engine.language import CallAbout, LanguageModel, Spent
from hindsight_server.engine.offload import offloaded
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.ports.llm import ChatReply, ChatRequest, Usage

Aliases = Callable[[str, Sequence[str]], Awaitable[Iterable[Sequence[str]]]]
"""For a bank and some names: all names of each entity that is known by one of them."""

_CHARS = 500  # of content that are as much work to look through as an item of a list is
_FACT_WORK = 10  # and a fact to check


@dataclass(slots=True)
class _Chunk:
    """What became of a chunk.

    Args:
        given: how many facts the model gave of it.
        kept_turns: turns whose built-in facts stay.
    """

    facts: list[tuple[int, ExtractedFact]] = field(default_factory=list)
    given: int = 0
    dropped: list[Dropped] = field(default_factory=list)
    kept_turns: set[int] = field(default_factory=set)
    failure: ChunkFailure | None = None


class Distiller:
    """Has a model read items for facts.

    Args:
        model: the model to ask; it bounds how many chunks are read at the same time.
        ordinary: whether a lower-case word that begins a sentence with a capital is no name by itself.
        aliases: other names of those who are named; None when none are known.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        ordinary: Ordinary = lambda word: False,
        aliases: Aliases | None = None,
    ) -> None:
        self._model = model
        # The model bounds this too; but who waits there would not see that it has gone away meanwhile.
        # Twice as many as the model takes: the next question waits ready, and goes out as soon as one is answered.
        self._turns = asyncio.Semaphore(2 * model.max_concurrent)
        self._ordinary = ordinary
        self._aliases = aliases
        self._answers: Mapping[str, ChatReply] = {}

    def answered(self, answers: Mapping[str, ChatReply]) -> Distiller:
        """The same, with answers of before to some of its `questions`, which are not asked again."""
        made = copy.copy(self)
        made._answers = answers
        return made

    def reader(self, mode: str) -> str:
        """The prompt with which chunks are read in a mode; empty for the mode in which no model reads them."""
        return "" if mode == "chunks" else prompt_version(mode)

    async def questions(
        self, item: RetainItem, options: ExtractionOptions, extraction: Extraction, *, before: str = ""
    ) -> dict[str, ChatRequest]:
        """What `distil` would ask first, one question for each chunk, by their ids."""
        asked = [messages(item, options, passage) for passage in await _read_for(item, extraction, before)]
        return {question_id(one): self._model.question(one, facts_schema()) for one in asked}

    async def distil(
        self,
        item: RetainItem,
        options: ExtractionOptions,
        extraction: Extraction,
        about: CallAbout,
        outage: Outage | None = None,
        *,
        before: str = "",
    ) -> Distilled:
        """Read an item's chunks, all at once as far as the model allows. Never raises for anything that a model does.

        Chunks without built-in facts (noise, or known already) are not read.

        Args:
            extraction: the built-in extractor's.
            about: for the request log.
            before: what was said before the item, to understand it by.
        """
        outage = outage or Outage()
        about = replace(about, spent=Spent())
        source = Source(item, extraction, options, self._ordinary)
        read = await _read_for(item, extraction, before)
        chunks = await asyncio.gather(*(self._chunk(source, passage, about, outage) for passage in read))
        by_index = {passage.chunk_index: chunk for passage, chunk in zip(read, chunks, strict=True)}
        usage = about.spent.usage
        return Distilled(
            extraction=await offloaded(len(extraction.facts), lambda: _joined(source, by_index, usage)),
            dropped=tuple(dropped for chunk in chunks for dropped in chunk.dropped),
            failures=tuple(chunk.failure for chunk in chunks if chunk.failure is not None),
            unsupported=frozenset(
                index for index, chunk in by_index.items() if chunk.given and not chunk.facts and chunk.failure is None
            ),
            usage=usage,
        )

    async def _chunk(self, source: Source, passage: Passage, about: CallAbout, outage: Outage) -> _Chunk:
        chunk = _Chunk()
        try:
            await self._read(source, passage, about, outage, chunk)
        except ModelError as error:
            chunk.facts.clear()
            passes = isinstance(error, ModelUnavailable | BadModelAnswer)
            chunk.failure = ChunkFailure(passage.chunk_index, str(error), passes)
        return chunk

    async def _read(self, source: Source, passage: Passage, about: CallAbout, outage: Outage, chunk: _Chunk) -> None:
        """Read a passage, in halves when the answer gets too long."""
        try:
            given = await self._ask(source, passage, about, outage)
        except AnswerTooLong:
            halves = passage.halves()
            if halves is None:
                raise
            for half in halves:
                await self._read(source, half, about, outage, chunk)
            return
        checked, orders = await self._checked(source, passage, about.bank_id, given.facts)
        first = max((number for number, _ in chunk.facts), default=-1) + 1
        chunk.facts += [
            (first + number, replace(fact, caused_by=tuple(first + cause for cause in _causes(given.facts, number))))
            for number, fact in checked.facts
        ]
        chunk.given += len(given.facts)
        chunk.dropped += checked.dropped + [Dropped("too_many", "")] * given.left_out
        chunk.kept_turns |= checked.lost_turns | orders
        if given.left_out or (given.facts and not checked.facts):
            # What is not told of these turns was not judged to be nothing.
            told = {fact.turn_index for _, fact in checked.facts}
            chunk.kept_turns |= {line.turn.index for line in passage.lines} - told

    async def _ask(self, source: Source, passage: Passage, about: CallAbout, outage: Outage) -> Given:
        asked = messages(source.item, source.options, passage)
        given = self._answers.get(question_id(asked)) if self._answers else None
        async with self._turns:
            if outage.lasts and given is None:
                raise ModelUnavailable("The model did not answer several times in a row; the chunk was not sent.")
            try:
                answer = await self._model.structured(asked, facts_schema(), about=about, given=given)
            except ModelUnavailable:
                outage.failures += 1
                raise
            if given is None:
                outage.failures = 0
        await asyncio.sleep(0)  # the next question goes out before this answer is checked
        return read_facts(answer.value)

    async def _checked(
        self, source: Source, passage: Passage, bank_id: str, given: Sequence[ModelFact | None]
    ) -> tuple[Checked, set[int]]:
        """What of the answer holds, and the turns with orders in them."""

        def check(known: Sequence[str] = ()) -> tuple[Checked, set[int]]:
            checks = PassageCheck(source, passage, known)
            return checks.check(given), checks.turns_with_orders

        size = len(passage.lines) + len(given) + len(source.item.content) // _CHARS
        checked, orders = await offloaded(size * _FACT_WORK, check)
        if checked.missing_names and self._aliases is not None:
            known = await self._known(source, passage, bank_id, sorted(checked.missing_names))
            if known:
                return await asyncio.to_thread(check, known)
        return checked, orders

    async def _known(self, source: Source, passage: Passage, bank_id: str, missing: Sequence[str]) -> list[str]:
        """Names of those who are named in the passage or its document by another name."""
        assert self._aliases is not None
        near = PassageCheck(source, passage).evidence
        known: list[str] = []
        try:
            named = await self._aliases(bank_id, missing)
        except BankNotFound:  # its first memory, or a preview for a bank that there is not
            return []
        for names in named:
            if any(near.holds(name) for name in names if name not in missing):
                known += names
        return known


async def _read_for(item: RetainItem, extraction: Extraction, before: str) -> list[Passage]:
    """The passages of the chunks in which there is something."""
    wanted = frozenset(fact.chunk_index for fact in extraction.facts)
    return await offloaded(len(item.content) // _CHARS, lambda: passages(item, extraction, wanted, before))


def _causes(given: Sequence[ModelFact | None], number: int) -> tuple[int, ...]:
    fact = given[number]
    return () if fact is None else tuple(cause for cause in fact.caused_by if cause != number)


def _joined(source: Source, chunks: dict[int, _Chunk], usage: Usage) -> Extraction:
    """The facts of all chunks in the order of the text."""
    made: list[ExtractedFact] = []
    of_chunk: defaultdict[int, list[ExtractedFact]] = defaultdict(list)
    for fact in source.extraction.facts:
        of_chunk[fact.chunk_index].append(fact)
    for index, builtin in sorted(of_chunk.items()):
        chunk = chunks.get(index)
        if chunk is None or chunk.failure is not None:
            made += builtin
        elif source.options.mode == "verbatim":
            made += _annotated(builtin, [fact for _, fact in chunk.facts])
        else:
            made += _of_chunk(chunk, builtin, len(made))
    return replace(
        source.extraction, facts=tuple(made), input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
    )


def _annotated(facts: Sequence[ExtractedFact], noted: Sequence[ExtractedFact]) -> list[ExtractedFact]:
    """The facts of a chunk that is kept word for word, with the names, labels and time that the model read in it."""
    made = []
    for fact in facts:
        names = {mention.name.casefold(): mention for one in noted for mention in one.entities}
        names |= {mention.name.casefold(): mention for mention in fact.entities}
        told = next((one.occurred for one in noted if one.occurred is not None), None)
        made.append(replace(fact, entities=tuple(names.values()), occurred=fact.occurred or told))
    return made


def _of_chunk(chunk: _Chunk, builtin: Sequence[ExtractedFact], before: int) -> list[ExtractedFact]:
    """A chunk's facts, the model's and the built-in ones that stay, with their causes as places in the extraction."""
    kept = [(None, fact) for fact in builtin if fact.turn_index in chunk.kept_turns]
    every = sorted((*chunk.facts, *kept), key=lambda one: (one[1].turn_index, one[1].start))
    place = {number: before + at for at, (number, _) in enumerate(every) if number is not None}
    return [
        replace(fact, caused_by=tuple(place[cause] for cause in fact.caused_by if cause in place)) for _, fact in every
    ]
