"""From what a model says to facts that the lines bear out. Pure and blocking."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC

from hindsight_server.domain.attachments import says_nothing
from hindsight_server.domain.grounding import Evidence, Ordinary, content_words, fold, has_content
from hindsight_server.domain.grounding_hedged import Hedged
from hindsight_server.domain.grounding_rows import row_times
from hindsight_server.domain.grounding_times import (
    as_claimed,
    claimed,
    happened,
    is_date,
    matching,
    times_told,
    untold,
    written_out,
)
from hindsight_server.domain.grounding_turned import Said, Told, near_sentence
from hindsight_server.domain.labels import LABEL_TYPE, read_labels
from hindsight_server.domain.model import EntityMention, ExtractedFact, Extraction, FactType, Interval, RetainItem
from hindsight_server.domain.remembering import once
from hindsight_server.domain.time import TimeMention
from hindsight_server.engine.extract.answers import ModelFact
from hindsight_server.engine.extract.dating import Dating, stands_in
from hindsight_server.engine.extract.orders import gives_orders
from hindsight_server.engine.extract.passages import Line, Passage
from hindsight_server.engine.extract.types import Dropped
from hindsight_server.ports.extractor import ExtractionOptions

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SUBJECT = re.compile(r"\A(?:[A-Z][^\W_]*[.'’-]*\s*)+")
_LETTER, _DIGITS = re.compile(r"[^\W\d_]"), re.compile(r"\d+")
_AGENT_ROLES = frozenset({"assistant", "tool"})
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|our|us)\b|我", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:you|your|yours|he|she|they|him|her|his|their|them)\b|你|您|他|她", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """An item, its turns and chunks, and the facts that the built-in extractor made of it."""

    item: RetainItem
    extraction: Extraction
    options: ExtractionOptions
    ordinary: Ordinary

    @once
    def document(self) -> Evidence:
        """Where the names of a fact may stand besides its own passage."""
        item = self.item
        told = [item.content, item.context or "", *item.metadata.values(), *(one.name for one in item.entities)]
        return Evidence(words=(), names=told, speakers=self.speakers, ordinary=self.ordinary)

    @once
    def speakers(self) -> tuple[str, ...]:
        return tuple({turn.speaker: None for turn in self.extraction.turns if turn.speaker})

    @once
    def builtin(self) -> dict[tuple[int, int], list[ExtractedFact]]:
        """The built-in facts of each chunk and turn."""
        found: defaultdict[tuple[int, int], list[ExtractedFact]] = defaultdict(list)
        for fact in self.extraction.facts:
            found[fact.chunk_index, fact.turn_index].append(fact)
        return dict(found)


@dataclass(slots=True)
class Checked:
    """The facts of a passage that hold, with their numbers in the model's answer, and what does not hold.

    Args:
        lost_turns: turns of which something that the model told was dropped, so that their own words are to stay.
        missing_names: names that stand nowhere in the evidence.
    """

    facts: list[tuple[int, ExtractedFact]] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    lost_turns: set[int] = field(default_factory=set)
    missing_names: set[str] = field(default_factory=set)


class PassageCheck:
    """Checks the facts that a model read in one passage.

    Args:
        known: further names that may stand in facts: other names of somebody who is named.

    Attributes:
        evidence: what the facts may rest on.
    """

    def __init__(self, source: Source, passage: Passage, known: Iterable[str] = ()) -> None:
        self._source = source
        self._passage = passage
        self._ordered = [gives_orders(line.text) for line in passage.lines]
        usable = ["" if orders else line.text for line, orders in zip(passage.lines, self._ordered, strict=True)]
        self.evidence = Evidence(
            words=usable,
            names=[passage.before, *known],
            speakers=source.speakers,
            wider=source.document,
            ordinary=source.ordinary,
        )
        self._read_times: dict[tuple[str, int], list[TimeMention]] = {}
        self._dating = Dating(passage.lines, self._ordered)

    @property
    def turns_with_orders(self) -> set[int]:
        return {line.turn.index for line, orders in zip(self._passage.lines, self._ordered, strict=True) if orders}

    def check(self, given: Iterable[ModelFact | None]) -> Checked:
        """The facts that hold, and why the others don't."""
        checked = Checked()
        seen: set[str] = set()
        for fact in given:
            if fact is None:
                checked.dropped.append(Dropped("empty", ""))
                continue
            at = self._seat(fact)
            made = self._fact(fact, at, checked)
            if isinstance(made, Dropped):
                checked.dropped.append(made)
                checked.lost_turns.add(self._passage.lines[at].turn.index)
            elif fold(made.text) in seen:
                checked.dropped.append(Dropped("repeated", made.text))
            else:
                seen.add(fold(made.text))
                checked.facts.append((fact.number, made))
        checked.lost_turns -= _told_turns(checked, self._passage.lines, self._line_words)
        return checked

    def _seat(self, fact: ModelFact) -> int:
        """The line that a fact was read in: the one that the model names, unless another bears much more of it."""
        if len(self._passage.lines) == 1:
            return 0
        parts = (part for part in (fact.what, fact.where, fact.why) if part)
        said = content_words(" ".join(parts)) - self._speaker_words
        shares = [len(said & words) for words in self._line_words]
        best = max(range(len(shares)), key=lambda at: (shares[at], -at))
        at = fact.line - 1
        return at if 0 <= at < len(shares) and 2 * shares[at] >= shares[best] else best

    @once
    def _told_lines(self) -> Told:
        said = [
            Said("" if orders else line.text, line.turn.speaker or line.turn.role)
            for line, orders in zip(self._passage.lines, self._ordered, strict=True)
        ]
        return Told(said, self._source.speakers)

    @once
    def _hedged(self) -> Hedged:
        return Hedged(self._told_lines.lines, self._source.speakers)

    @once
    def _line_words(self) -> list[frozenset[str]]:
        return [content_words(line.text) for line in self._passage.lines]

    @once
    def _speaker_words(self) -> set[str]:
        return {word for speaker in self._source.speakers for word in content_words(speaker)}

    def _fact(self, fact: ModelFact, at: int, checked: Checked) -> ExtractedFact | Dropped:
        if self._ordered[at]:
            return Dropped("orders", fact.what)
        if not _says_something(fact.what) or says_nothing(fact.what, self._source.item.attachments):
            return Dropped("empty", fact.what)
        problem = self._problem(fact.what, at, fact.entities, checked) or self._turned(fact, at)
        if problem is None and fact.who and self._missing_name(fact.who, fact.entities, checked) is not None:
            problem = "name"
        if problem is not None:
            return Dropped(problem, fact.what)
        occurred = self._occurred(fact, at, checked)
        text = self._text(fact, at, occurred, checked)
        return self._made(fact, at, text, occurred)

    def _problem(
        self, text: str, at: int, entities: Sequence[EntityMention], checked: Checked, *, optional: bool = False
    ) -> str | None:
        """What of a text the lines don't bear out; None when they bear it all out."""
        if self._missing_name(text, entities, checked) is not None:
            return "name"
        said = self._passage.lines[at].turn.timestamp
        stated = self._times(text, at)
        if (
            untold(stated, said, self._dating.all_told) is not None
            and untold(stated, said, self._with_rows) is not None
        ):
            return "date"
        dates = [(one.start, one.end) for one in stated if is_date(one, said)]
        if self.evidence.missing_number(text, at, dates) is not None:
            return "number"
        if self.evidence.foreign_words(text) is not None:
            return "words"
        if not self.evidence.shares_words(text) and not (optional and dates):
            return "words"
        return None

    @once
    def _with_rows(self) -> list[TimeMention]:
        """The times that the lines name, those that stand as values in a row among them."""
        told = zip(self._passage.lines, self._ordered, strict=True)
        rows = [one for line, orders in told if not orders for one in row_times(line.text, line.turn.timestamp)]
        return [*self._dating.all_told, *rows]

    def _times(self, text: str, at: int) -> list[TimeMention]:
        """The times that a text names, said when line `at` was; a fact's words are looked at several times."""
        if (text, at) not in self._read_times:
            self._read_times[text, at] = times_told(text, self._passage.lines[at].turn.timestamp)
        return self._read_times[text, at]

    def _missing_name(self, text: str, entities: Sequence[EntityMention], checked: Checked) -> str | None:
        missing = self.evidence.missing_name(text, [mention.name for mention in entities])
        if missing is not None:
            checked.missing_names.add(missing)
        return missing

    def _turned(self, fact: ModelFact, at: int) -> str | None:
        """Whether a fact has it from the wrong speaker, says the opposite of its line, or is surer than it."""
        said = Said(fact.what)
        if self._has_wrong_speaker(fact, said, at) or self._told_lines.is_asked(said, at):
            return "speaker"
        return self._twisted(said, at)

    def _twisted(self, said: Said, at: int) -> str | None:
        if self._told_lines.is_turned(said, at):
            return "turned"
        return "hedged" if self._hedged.is_firmer(said, at) else None

    def _has_wrong_speaker(self, fact: ModelFact, statement: Said, at: int) -> bool:
        """Whether a fact tells of one speaker what another said of himself."""
        line = self._passage.lines[at]
        own = line.turn.speaker
        others = [speaker for speaker in self._source.speakers if speaker != own]
        if own is None or not others or not _OWN.search(line.text):
            return False
        told, said = fold(f"{fact.what} {fact.who}"), fold(line.text)
        if stands_in(own, told) or not any(stands_in(one, told) and not stands_in(one, said) for one in others):
            return False
        text = near_sentence(self._told_lines.lines[at], statement)
        return _OWN.search(text) is not None and _OTHERS.search(text) is None

    def _occurred(self, fact: ModelFact, at: int, checked: Checked) -> Interval | None:
        """When it happened, worked out by our calendar from words of the passage; the model's date only chooses among
        the readings that those words have."""
        line = self._passage.lines[at]
        said = line.turn.timestamp
        interval = claimed(fact.start, fact.end, said.tzinfo if said and said.tzinfo else UTC)
        mention = self._dating.mention(fact, at, interval, self._times)
        words = fact.time_words if fold(fact.time_words) in fold(line.text) else ""
        if interval is not None and (mention is None or matching(interval, [mention]) is None):
            read = as_claimed(interval, words, mention, said)
            if read is not None:
                return read
            checked.dropped.append(Dropped("part_date", f"{fact.start} {fact.end}".strip()))
        return happened(mention)

    def _text(self, fact: ModelFact, at: int, occurred: Interval | None, checked: Checked) -> str:
        """The parts that hold, joined; a time is written out where the fact only has a relative one."""
        line = self._passage.lines[at]
        parts = [fact.what]
        for name, part in (("when", fact.when), ("where", fact.where), ("who", fact.who), ("why", fact.why)):
            if not part:
                continue
            problem = self._problem(part, at, (), checked, optional=name == "when")
            if problem is None and name == "why":
                problem = self._twisted(Said(part), at)
            relative = name == "when" and any(one.is_relative for one in self._times(part, at))
            if problem is not None:
                checked.dropped.append(Dropped(f"part_{problem}", part))
                if content_words(part) & self._line_words[at] - content_words(fact.what):
                    checked.lost_turns.add(line.turn.index)
            elif not relative and not _is_within(part, parts):
                parts.append(part)
        if occurred is not None and line.turn.timestamp is not None:
            said = self._times(" | ".join(parts), at)
            if not any(not one.is_relative and _lies_within(one.interval, occurred) for one in said):
                parts.insert(1, written_out(occurred, fact.what))
        return " | ".join(parts)

    def _made(self, fact: ModelFact, at: int, text: str, occurred: Interval | None) -> ExtractedFact:
        line, chunk = self._passage.lines[at], self._passage.chunk_index
        turn = line.turn
        builtin = self._source.builtin.get((chunk, turn.index), [])
        entities = self._entities(fact, text, turn.speaker, builtin)
        held = {mention.name.casefold() for mention in entities}
        return ExtractedFact(
            text=text,
            fact_type=builtin[0].fact_type if builtin else _type_of(turn.role),
            chunk_index=chunk,
            turn_index=turn.index,
            speaker=turn.speaker,
            role=turn.role,
            occurred=occurred,
            mentioned_at=turn.timestamp,
            entities=entities,
            name_links=tuple(
                link
                for one in builtin
                for link in one.name_links
                if {link.one.casefold(), link.other.casefold()} <= held
            ),
            is_question=text.rstrip().endswith(("?", "？")),
            has_time_expression=bool(self._times(text, at)),
            start=line.start,
            end=line.end,
        )

    def _entities(
        self, fact: ModelFact, text: str, speaker: str | None, builtin: Sequence[ExtractedFact]
    ) -> tuple[EntityMention, ...]:
        """What the caller gave, the labels, and the names that stand in the fact, each once."""
        options, given = self._source.options, self._source.item.entities
        found: list[EntityMention] = []
        if options.free_form:
            told = fold(text)
            found += [one for one in fact.entities if fold(one.name) in told and self.evidence.holds(one.name)]
            found += [
                mention
                for one in builtin
                for mention in one.entities
                if mention.type != LABEL_TYPE and (mention.name == speaker or fold(mention.name) in told)
            ]
        found += [mention for one in builtin for mention in one.entities if mention.type == LABEL_TYPE]
        found += _labels(fact, options.labels, self._passage.text)
        by_name = {mention.name.casefold(): mention for mention in reversed(found)}
        return (*reversed(by_name.values()), *(one for one in given if one.name.casefold() not in by_name))


def _told_turns(checked: Checked, lines: Sequence[Line], words_of: Sequence[frozenset[str]]) -> set[int]:
    """The turns whose words and numbers all stand in facts that held."""
    told: defaultdict[int, list[str]] = defaultdict(list)
    for _, fact in checked.facts:
        told[fact.turn_index].append(fact.text)
    untold = {
        line.turn.index
        for line, words in zip(lines, words_of, strict=True)
        if not words <= content_words(text := "\n".join(told[line.turn.index]))
        or not set(_DIGITS.findall(line.text)) <= set(_DIGITS.findall(text))
    }
    return told.keys() - untold


def _labels(fact: ModelFact, vocabulary: object, text: str) -> Iterable[EntityMention]:
    """The labels that the bank's vocabulary has; one of free text must stand in the passage."""
    labels = {label.path.casefold(): label for label in read_labels(vocabulary)}
    used: set[str] = set()
    for key, value in fact.labels:
        label = labels.get(key.casefold())
        if label is None or (label.path in used and not label.type.startswith("multi")):
            continue
        if label.values:
            known = next((one for one in label.values if one.casefold() == value.casefold()), None)
        else:
            known = value if fold(value) in fold(text) else None
        if known is not None:
            used.add(label.path)
            yield EntityMention(name=f"{label.path}:{known}", type=LABEL_TYPE, literal=True, tag=label.is_tag)


def _says_something(text: str) -> bool:
    """Whether a text is more than a bare number or the name that it is about."""
    told = _SUBJECT.sub("", text, count=1)
    return has_content(told) or bool(_LETTER.search(text) and _DIGITS.search(told))


def _lies_within(inner: Interval, outer: Interval) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _is_within(part: str, parts: Sequence[str]) -> bool:
    """Whether a part says nothing that the others don't say."""
    told = fold(" ".join(parts))
    if fold(part).strip(" .。") in told:
        return True
    words = re.findall(r"[^\W_]+", fold(part))
    return not _CJK.search(part) and set(words) <= set(re.findall(r"[^\W_]+", told))


def _type_of(role: str | None) -> FactType:
    return FactType.EXPERIENCE if role in _AGENT_ROLES else FactType.WORLD
