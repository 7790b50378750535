"""What can be read off a question before any fact is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.time import TimeMention
from hindsight_server.engine.recall.fill import cut_to_tokens
from hindsight_server.engine.recall.types import RecallQuery, TimeWindow
from hindsight_server.ports.analyzer import TextAnalyzer

MAX_QUERY_TOKENS = 500

TimeFinder = Callable[[str, datetime], Sequence[TimeMention]]
"""Finds the times that a text names, relative ones seen from the given moment."""

_WORD = re.compile(r"\w")
_NAME_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_QUOTED = re.compile(r"\"([^\"]{2,200})\"|“([^”]{2,200})”|「([^」]{2,200})」|『([^』]{2,200})』|`([^`]{2,200})`")
_CHUNK = re.compile(r"[^\s\"'“”‘’「」『』`()\[\]{}<>,;，。；、！？!?（）【】《》]+")
_TIME_SHAPED = re.compile(
    r"\d{1,4}([-/.:年月])\d{1,2}(?:[-/.:月日]\d{1,4})*(?:[tT日]?\d*.*)?|\d+(?:st|nd|rd|th|s|am|pm|%)", re.I
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_MIXED = re.compile(r"(?=.*\d)(?=.*[^\W\d_])")
_JOINED = re.compile(r"[^\W_][-_/.:#@][^\W_]")
_LONG_NUMBER = re.compile(r"#?\d{5,}")
_WHEN = re.compile(
    r"\b(?:when|how long|how often|(?:what|which) (?:day|date|month|year|week|time|season))\b"
    r"|什么时候|什麼時候|何时|何時|几月|几号|几点|哪天|哪一天|哪年|哪一年|哪个月|多久|多长时间|いつ",
    re.I,
)
_IS = "(?:has|have|had|did|does|do|are|were|is|was)"
_MANY = re.compile(
    rf"\b(?:what|which) (?:[\w'’-]+ )?(?:\w{{3,}}[^\Ws]s|kids|people|children) {_IS}\b"  # which (old) books has ...
    r"|\bhow many (?!(?:more )?(?:years|months|weeks|days|hours|minutes)\b)"
    rf"|\bin (?:what|which) ways\b|\b(?:what|who|which) (?:are|were)\b|\bwhere (?:has|have)\b"
    "|哪些|哪几|都有(?:谁|什么|哪)|多少(?:个|次|种|位|家|项|本|首)|几(?:次|种|位|家|项|本|首|个(?!月|小时|星期|礼拜))",
    re.I,
)
_SHORTEST_CODE = 3
_MAX_NAME_WORDS = 3
_MAX_NAMES = 120
_LONGEST_SPACELESS_NAME = 6


@dataclass(frozen=True, slots=True)
class AskedTime:
    """A time that the question is about.

    Args:
        yearless: whether the words name a day or month but no year ("in May").
        phrase: the words that name it; None for a window given with the query.
        source: ``query`` (its words), ``request`` (its `temporal_window`) or ``event`` (the words name an event).
        event_memory_id: the memory that tells when the event was.
    """

    window: TimeWindow
    yearless: bool = False
    phrase: str | None = None
    source: str = "query"
    event_memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A parsed query.

    Args:
        text: the words, cut to `MAX_QUERY_TOKENS`.
        sought: the words without relative times such as "last week", which facts are compared with.
        terms: distinct index terms of these, in order.
        identifiers: codes and the like, as written.
        quoted: what stands in quotation marks, case folded.
        names: stretches of words that could name an entity.
        times: those named by the words, or the window given with the query.
        asks_when: whether the answer is a time.
        asks_for_many: whether it asks for several things ("which books has she read", "how many times", 哪些).
        now: the moment the question is asked.
        notes: what was cut or went wrong, in plain words.
    """

    text: str
    sought: str
    truncated: bool
    terms: tuple[str, ...]
    identifiers: tuple[str, ...]
    quoted: tuple[str, ...]
    names: tuple[str, ...]
    times: tuple[AskedTime, ...]
    asks_when: bool
    now: datetime
    asks_for_many: bool = False
    notes: tuple[str, ...] = ()


def parse(query: RecallQuery, analyzer: TextAnalyzer, find_times: TimeFinder, now: datetime) -> Question:
    """Read a query. Raises InvalidInput when it holds no word."""
    if not _WORD.search(query.query):
        raise InvalidInput("query holds no word; write what to look for.", field="query")
    whole = query.query.strip()
    text = cut_to_tokens(whole, MAX_QUERY_TOKENS, analyzer)
    truncated = text != whole
    notes = [f"The query was cut to {MAX_QUERY_TOKENS} tokens."] if truncated else []
    times: tuple[AskedTime, ...] = ()
    sought = text
    if query.temporal_window is not None:
        times = (AskedTime(query.temporal_window, source="request"),)
    else:
        try:
            mentions = find_times(text, now)
            times, sought = tuple(map(_asked, mentions)), _without_relative(text, mentions)
        except Exception as problem:  # a date that trips the parser must not stop the recall
            notes.append(f"Times in the query could not be read ({type(problem).__name__}).")
    return Question(
        text=text,
        truncated=truncated,
        sought=sought,
        terms=tuple(dict.fromkeys(analyzer.query_terms(sought))),
        identifiers=_identifiers(text),
        quoted=_quoted(text),
        names=_names(text),
        times=times,
        asks_when=_WHEN.search(text) is not None,
        asks_for_many=_MANY.search(text) is not None,
        now=now,
        notes=tuple(notes),
    )


def _asked(mention: TimeMention) -> AskedTime:
    start, end = mention.bounds
    return AskedTime(TimeWindow(start=start, end=end), mention.is_yearless, mention.text.strip())


def _without_relative(text: str, mentions: Sequence[TimeMention]) -> str:
    """The words without "last week" and the like: in a fact these words mean another week."""
    kept = text
    for mention in reversed(mentions):
        if mention.is_relative and not mention.is_yearless:
            kept = f"{kept[: mention.start].rstrip()} {kept[mention.end :].lstrip()}"
    return kept.strip() if _WORD.search(kept) else text


def _identifiers(text: str) -> tuple[str, ...]:
    """Stretches that look like codes rather than words: letters with digits, several joints, or long numbers."""
    found = []
    for piece in _CHUNK.findall(text):
        for part in _SPACELESS.split(piece):
            part = part.strip(".:-_/#@")
            time_shaped = _TIME_SHAPED.fullmatch(part) and not _ADDRESS.fullmatch(part)
            if len(part) >= _SHORTEST_CODE and not time_shaped and _is_code(part):
                found.append(part)
    return tuple(dict.fromkeys(found))


def _is_code(piece: str) -> bool:
    joints = len(_JOINED.findall(piece))
    return (
        bool(_LONG_NUMBER.fullmatch(piece)) or bool(_MIXED.match(piece)) or "_" in piece or joints >= 2 or "@" in piece
    )


def _quoted(text: str) -> tuple[str, ...]:
    found = (next(part for part in match if part) for match in _QUOTED.findall(text))
    return tuple(dict.fromkeys(part.strip().casefold() for part in found if _WORD.search(part)))


def _names(text: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    words = _NAME_WORD.findall(text)
    for size in range(_MAX_NAME_WORDS, 0, -1):
        for at in range(len(words) - size + 1):
            names[" ".join(words[at : at + size]).removesuffix("'s").removesuffix("’s")] = None
    for run in _SPACELESS.findall(text):
        for size in range(min(_LONGEST_SPACELESS_NAME, len(run)), 1, -1):
            names.update(dict.fromkeys(run[at : at + size] for at in range(len(run) - size + 1)))
    return tuple(names)[:_MAX_NAMES]
