"""The extractor that needs no model: turns become facts as they are."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from hindsight_server.adapters.extract.chunking import chunk_spans
from hindsight_server.adapters.extract.entities import find_entities, speaker_entity
from hindsight_server.adapters.extract.sentences import grouped, sentences
from hindsight_server.domain.markdown import Span
from hindsight_server.domain.model import (
    EntityMention,
    ExtractedChunk,
    ExtractedFact,
    Extraction,
    FactType,
    Interval,
    RetainItem,
    Turn,
)
from hindsight_server.domain.noise import is_noise
from hindsight_server.domain.speakers import ROLES
from hindsight_server.domain.time import Relation, TimeMention, find_times
from hindsight_server.domain.turns import ContentKind, SplitContent, split_turns
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.extractor import ExtractionOptions

LONG_TURN_TOKENS = 120
"""A turn of more tokens is cut into sentences."""

LEAST_WORDS = 15
"""Sentences are joined until a fact has this many words."""

_AGENT_ROLES = frozenset({"assistant", "tool"})
_AGENT_SPEAKS = re.compile(
    r"\b(?:assistant|agent|ai|model|bot)\s+(?:is|was)\s+(?:speaking|talking|the\s+speaker)", re.I
)
_QUESTION = re.compile(r"[?？][\s\"'”’)）]*$")
_SENTENCE_END = re.compile(r"[.!?。！？\n]")
_NO_ANCHOR = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Source:
    """An item and what has been read from it."""

    item: RetainItem
    split: SplitContent
    chunks: list[Span]
    known: frozenset[str]

    def chunk_of(self, position: int) -> int:
        return max(0, bisect_right(self.chunks, (position, len(self.item.content) + 1)) - 1)


class BuiltinExtractor:
    """Facts without a model: a whole turn is a fact, ``Speaker: words``, the words verbatim.

    * A turn of more than about 120 tokens, and prose, is cut into stretches of whole sentences, 15 words at least.
    * Dates in the words are resolved against the turn's time into ``occurred``; a text that names none has none.
    * What an assistant, agent or tool says is ``experience``, all else ``world``.
    * Noise makes no fact. Mode ``verbose`` keeps acknowledgements; ``verbatim`` and ``chunks`` make each chunk a fact.

    Args:
        analyzer: counts tokens.
    """

    def __init__(self, analyzer: TextAnalyzer) -> None:
        self._count_tokens = analyzer.count_tokens

    def extract(self, item: RetainItem, options: ExtractionOptions) -> Extraction:
        """Turns, chunks and facts of one item. Indexes count from 0 inside the item."""
        split = split_turns(item.content, timestamp=item.timestamp)
        turns = _with_item_role(split.turns, item)
        if turns is not split.turns:
            split = SplitContent(kind=split.kind, turns=turns, units=split.units)
        source = _Source(
            item=item,
            split=split,
            chunks=chunk_spans(item.content, split.units, options.chunk_size),
            known=frozenset(turn.speaker.casefold() for turn in turns if turn.speaker),
        )
        if options.mode in ("verbatim", "chunks"):
            facts = _chunk_facts(source)
        else:
            facts = self._turn_facts(source, keep_noise=options.mode == "verbose")
        chunks = (
            ExtractedChunk(index=index, text=item.content[start:end])
            for index, (start, end) in enumerate(source.chunks)
        )
        return Extraction(turns=turns, chunks=tuple(chunks), facts=tuple(facts))

    def _turn_facts(self, source: _Source, *, keep_noise: bool) -> Iterator[ExtractedFact]:
        is_prose = source.split.kind is ContentKind.PROSE and len(source.split.turns) > 1
        for turn in source.split.turns:
            if is_noise(turn.text) and not (keep_noise and any(map(str.isalnum, turn.text))):
                continue
            if not is_prose and not self._is_long(turn.text):
                yield _fact(source, turn, turn.text, (turn.start, turn.end), whole=True)
                continue
            for start, end in grouped(turn.text, sentences(turn.text, 0, len(turn.text)), LEAST_WORDS):
                words = turn.text[start:end]
                yield _fact(source, turn, words, _position(source, turn, start, end), whole=False)

    def _is_long(self, text: str) -> bool:
        return (
            len(text) > LONG_TURN_TOKENS and self._count_tokens(text) > LONG_TURN_TOKENS
        )  # a token is a character or more


def _with_item_role(turns: tuple[Turn, ...], item: RetainItem) -> tuple[Turn, ...]:
    """Metadata `role` says who speaks where the text does not."""
    role = item.metadata.get("role", "").strip().casefold()
    if not role:
        return turns
    role = ROLES.get(role, role)
    return tuple(
        turn
        if turn.role or (turn.speaker and len(turns) > 1)
        else Turn(
            index=turn.index,
            text=turn.text,
            speaker=turn.speaker,
            role=role,
            timestamp=turn.timestamp,
            start=turn.start,
            end=turn.end,
        )
        for turn in turns
    )


def _chunk_facts(source: _Source) -> Iterator[ExtractedFact]:
    """Each chunk as one fact, annotated with its first turn."""
    content, turns = source.item.content, source.split.turns
    if not turns:
        return
    starts = [turn.start for turn in turns]
    for start, end in source.chunks:
        first = max(0, bisect_right(starts, start) - 1)
        if turns[first].end <= start and first + 1 < len(turns):
            first += 1
        inside = turns[first : bisect_left(starts, end, first)]
        if inside and all(is_noise(turn.text) for turn in inside):
            continue
        yield _fact(source, turns[first], content[start:end], (start, end), whole=True, alone=len(inside) <= 1)


def _fact(
    source: _Source, turn: Turn, words: str, position: Span, *, whole: bool, alone: bool | None = None
) -> ExtractedFact:
    as_written = alone is not None  # a chunk keeps its labels
    speaker = turn.speaker if alone is not False else None
    role = turn.role if alone is not False else None
    mentions = find_times(words, turn.timestamp or _NO_ANCHOR)
    if turn.timestamp is None:
        mentions = [mention for mention in mentions if not mention.is_relative]
    return ExtractedFact(
        text=words if as_written or not speaker else _labelled(source, turn, words, whole=whole),
        fact_type=_fact_type(source.item.context, speaker, role),
        chunk_index=source.chunk_of(position[0]),
        turn_index=turn.index,
        speaker=speaker,
        role=role,
        occurred=_occurred(words, mentions),
        mentioned_at=turn.timestamp,
        entities=_entities(source, words, speaker),
        is_question=_QUESTION.search(words) is not None,
        has_time_expression=bool(mentions),
        start=position[0],
        end=position[1],
    )


def _labelled(source: _Source, turn: Turn, words: str, *, whole: bool) -> str:
    """``Speaker: words``; a line that is written that way already stays as it is."""
    if whole and source.split.kind is ContentKind.DIALOGUE:
        written = source.item.content[turn.start : turn.end]
        label = written[: len(written) - len(turn.text)].rstrip()
        if label[:-1] == turn.speaker:
            return written
    return f"{turn.speaker}: {words}"


def _position(source: _Source, turn: Turn, start: int, end: int) -> Span:
    """Where a part of a turn stands in the item; a JSON string is escaped, so there it is the whole element."""
    if source.split.kind in (ContentKind.JSON, ContentKind.JSONL):
        return turn.start, turn.end
    offset = turn.end - len(turn.text)
    return offset + start, offset + end


def _fact_type(context: str | None, speaker: str | None, role: str | None) -> FactType:
    if role is not None or speaker is not None:
        is_agent = role in _AGENT_ROLES or ROLES.get((speaker or "").casefold()) in _AGENT_ROLES
        return FactType.EXPERIENCE if is_agent else FactType.WORLD
    return FactType.EXPERIENCE if context and _AGENT_SPEAKS.search(context) else FactType.WORLD


def _occurred(words: str, mentions: Iterable[TimeMention]) -> Interval | None:
    """When what is told happened: the first time that it names, unless that is only a limit or part of a question."""
    for mention in mentions:
        if mention.relation not in (Relation.AT, Relation.SINCE):
            continue
        sentence_end = _SENTENCE_END.search(words, mention.end)
        if sentence_end is None or sentence_end[0] not in "?？":
            return mention.interval
    return None


def _entities(source: _Source, words: str, speaker: str | None) -> tuple[EntityMention, ...]:
    """The speaker, the names in the words, and those that the caller gave, each once; the caller's win."""
    given = source.item.entities
    seen = {entity.name.casefold() for entity in given}
    found = find_entities(words, known=source.known)
    if (said_by := speaker_entity(speaker)) is not None:
        found.insert(0, said_by)
    unique = {entity.name.casefold(): entity for entity in reversed(found) if entity.name.casefold() not in seen}
    return (*reversed(unique.values()), *given)
