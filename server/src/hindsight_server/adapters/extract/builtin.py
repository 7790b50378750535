"""The extractor that needs no model: turns become facts as they are."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

from hindsight_server.adapters.extract.chunking import chunk_spans
from hindsight_server.adapters.extract.entities import find_names, speaker_entity
from hindsight_server.adapters.extract.lines import unwrapped
from hindsight_server.adapters.extract.links import find_links
from hindsight_server.adapters.extract.sentences import grouped, sentences
from hindsight_server.adapters.extract.spoken import spoken_names
from hindsight_server.domain.ids import content_hash
from hindsight_server.domain.labels import Label, find_labels, read_labels
from hindsight_server.domain.markdown import Span, comments
from hindsight_server.domain.model import (
    EntityMention,
    ExtractedChunk,
    ExtractedFact,
    Extraction,
    FactType,
    Interval,
    NameLink,
    RetainItem,
    Turn,
)
from hindsight_server.domain.noise import is_noise
from hindsight_server.domain.speakers import ROLES
from hindsight_server.domain.time import Relation, TimeMention, find_times
from hindsight_server.domain.turns import ContentKind, SplitContent, split_turns
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.extractor import ExtractionOptions, Skip

LONG_TURN_TOKENS = 120
"""A turn of more tokens is cut into sentences."""

LONG_TURN_CHARS = 1200
"""So is one of more characters, however few tokens they make: a row of signs is one."""

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
    labels: tuple[Label, ...] = ()
    free_form: bool = True
    skipped: set[int] = field(default_factory=set)

    def chunk_of(self, position: int) -> int:
        return max(0, bisect_right(self.chunks, (position, len(self.item.content) + 1)) - 1)

    @property
    def is_json(self) -> bool:
        return self.split.kind in (ContentKind.JSON, ContentKind.JSONL)

    @property
    def is_prose(self) -> bool:
        return self.split.kind is ContentKind.PROSE and len(self.split.turns) > 1

    def turn_at(self, starts: list[int], position: int) -> int:
        """Index of the turn that a position lies in, else of the one after it."""
        at = max(0, bisect_right(starts, position) - 1)
        return at + 1 if at + 1 < len(starts) and self.split.turns[at].end <= position else at

    def stretches(self, turn: Turn) -> Iterator[Span]:
        """The parts of a turn's words that lie in different chunks, those to skip left out, so that no fact holds
        words of two chunks. The words of a JSON string have no places in the text: they belong to its first chunk."""
        first, last = self.chunk_of(turn.start), self.chunk_of(max(turn.start, turn.end - 1))
        if self.is_json:
            last = first
        offset = turn.end - len(turn.text)
        cuts = [0, *(max(0, self.chunks[at][0] - offset) for at in range(first + 1, last + 1)), len(turn.text)]
        hidden = comments(turn.text) if self.hides(turn) else []
        ends = [stop for _, stop in hidden]
        for at, (start, end) in enumerate(pairwise(cuts), start=first):
            if at in self.skipped:
                continue
            first_hidden, after = bisect_right(ends, start), bisect_left(hidden, (end, 0))
            for begin, stop in (*hidden[first_hidden:after], (end, end)):
                if start < begin:
                    yield start, begin
                start = max(start, stop)

    def hides(self, turn: Turn) -> bool:
        """Whether a turn holds HTML comments that nobody sees: those of prose, since who speaks means what is said."""
        return self.split.kind is ContentKind.PROSE and "<!--" in turn.text and "-->" in turn.text

    def reads(self, start: int, end: int) -> bool:
        """Whether a stretch of the text touches a chunk that is to be read for facts."""
        if not self.skipped:
            return True
        return not self.skipped.issuperset(range(self.chunk_of(start), self.chunk_of(max(start, end - 1)) + 1))


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

    def extract(self, item: RetainItem, options: ExtractionOptions, skip: Skip | None = None) -> Extraction:
        """Turns, chunks and facts of one item. Indexes count from 0 inside the item."""
        split = split_turns(item.content, timestamp=item.timestamp)
        turns = _with_item_role(split.turns, item)
        if turns is not split.turns:
            split = SplitContent(kind=split.kind, turns=turns, units=split.units)
        source = _Source(
            item=item,
            split=split,
            chunks=chunk_spans(item.content, split.units, options.chunk_size, _whole(split, options)),
            known=frozenset(turn.speaker.casefold() for turn in turns if turn.speaker),
            labels=read_labels(options.labels),
            free_form=options.free_form,
        )
        chunks = tuple(self._chunks(source))
        if skip is not None:
            source.skipped.update(chunk.index for chunk in chunks if skip(chunk))
        if options.mode in ("verbatim", "chunks"):
            facts = _chunk_facts(source)
        else:
            facts = self._turn_facts(source, keep_noise=options.mode == "verbose")
        return Extraction(turns=turns, chunks=chunks, facts=tuple(facts))

    def _turn_facts(self, source: _Source, *, keep_noise: bool) -> Iterator[ExtractedFact]:
        for turn in source.split.turns:
            if not source.reads(turn.start, turn.end):
                continue
            if is_noise(turn.text) and not (keep_noise and any(map(str.isalnum, turn.text))):
                continue
            if not source.is_prose and not source.hides(turn) and not self._is_long(turn.text):
                if source.chunk_of(turn.start) not in source.skipped:
                    yield _fact(source, turn, turn.text, (turn.start, turn.end), whole=True)
                continue
            for stretch in source.stretches(turn):
                for start, end in grouped(turn.text, sentences(turn.text, *stretch), LEAST_WORDS):
                    words = turn.text[start:end]
                    yield _fact(source, turn, words, _position(source, turn, start, end), whole=False)

    def _chunks(self, source: _Source) -> Iterator[ExtractedChunk]:
        """The chunks, each with what decides its facts beside its own text."""
        content, turns = source.item.content, source.split.turns
        if len(source.chunks) == 1:
            start, end = source.chunks[0]
            yield ExtractedChunk(
                index=0, text=content[start:end], basis=f"{source.split.kind.value}\0{source.is_prose}"
            )
            return
        starts = [turn.start for turn in turns]
        described: dict[int, str] = {}
        for index, (start, end) in enumerate(source.chunks):
            first = source.turn_at(starts, start)
            last = max(first, bisect_left(starts, end) - 1)
            crossing = {
                at for at in (first, last) if at < len(turns) and not start <= turns[at].start <= turns[at].end <= end
            }
            for at in crossing - described.keys():
                described[at] = self._described(source, turns[at])
            basis = [source.split.kind.value, str(source.is_prose), *(described[at] for at in sorted(crossing))]
            yield ExtractedChunk(index=index, text=content[start:end], first_turn=first, basis="\0".join(basis))

    def _described(self, source: _Source, turn: Turn) -> str:
        """What the facts of a turn that goes over several chunks have in common."""
        is_sliced = not source.is_json and (source.is_prose or self._is_long(turn.text))
        words = "" if is_sliced else content_hash(turn.text)
        return f"{turn.speaker}\0{turn.role}\0{turn.timestamp}\0{words}"

    def _is_long(self, text: str) -> bool:
        if len(text) <= LONG_TURN_TOKENS:
            return False  # a token is a character or more
        return len(text) > LONG_TURN_CHARS or self._count_tokens(text) > LONG_TURN_TOKENS


def _whole(split: SplitContent, options: ExtractionOptions) -> int:
    """Characters up to which a unit is never cut."""
    return options.structured_chunk_size or 0 if split.kind in (ContentKind.JSON, ContentKind.JSONL) else 0


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
    for index, (start, end) in enumerate(source.chunks):
        if index in source.skipped:
            continue
        first = source.turn_at(starts, start)
        inside = turns[first : bisect_left(starts, end, first)]
        if inside and all(is_noise(turn.text) for turn in inside):
            continue
        yield _fact(source, turns[first], content[start:end], (start, end), whole=True, alone=len(inside) <= 1)


def _fact(
    source: _Source, turn: Turn, words: str, position: Span, *, whole: bool, alone: bool | None = None
) -> ExtractedFact:
    as_written = alone is not None  # a chunk keeps its labels
    shown, words = words, unwrapped(words)
    speaker = turn.speaker if alone is not False else None
    role = turn.role if alone is not False else None
    mentions = find_times(words, turn.timestamp or _NO_ANCHOR)
    if turn.timestamp is None:
        mentions = [mention for mention in mentions if not mention.is_relative]
    entities, links = _entities(source, words, speaker)
    return ExtractedFact(
        text=shown if as_written or not speaker else _labelled(source, turn, shown, whole=whole),
        fact_type=_fact_type(source.item.context, speaker, role),
        chunk_index=source.chunk_of(position[0]),
        turn_index=turn.index,
        speaker=speaker,
        role=role,
        occurred=_occurred(words, mentions),
        mentioned_at=turn.timestamp,
        entities=entities,
        name_links=links,
        spoken=spoken_names(words) if source.free_form else (),
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
    if source.is_json:
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


@lru_cache(maxsize=4096)
def _mention(name: str, kind: str) -> EntityMention:
    return EntityMention(name=name, type=kind)


def _entities(
    source: _Source, words: str, speaker: str | None
) -> tuple[tuple[EntityMention, ...], tuple[NameLink, ...]]:
    """The speaker, the names and labels in the words, and what the caller gave, each once; what the words say of names.

    Of a name that the caller gave too, the caller's mention is kept.
    """
    given = source.item.entities
    seen = {entity.name.casefold() for entity in given}
    stated = find_labels(words, source.labels) if source.labels else ()
    labels = [label for label in stated if label.name.casefold() not in seen]
    if not source.free_form:
        return (*labels, *given), ()
    names = find_names(words, known=source.known)
    found = [_mention(name.name, name.type) for name in names]
    said_by = speaker_entity(speaker)
    links, missing = find_links(words, names, said_by.name if said_by is not None else None)
    found += missing
    if said_by is not None:
        found.insert(0, said_by)
    unique = {entity.name.casefold(): entity for entity in reversed(found) if entity.name.casefold() not in seen}
    return (*reversed(unique.values()), *labels, *given), tuple(links)
