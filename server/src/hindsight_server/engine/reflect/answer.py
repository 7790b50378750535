"""An answer made of quotations. Pure functions; English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from hindsight_server.domain.model import Fact, FactState

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_MAX_QUOTE = 600  # characters of one memory in an answer
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences around the quotations, in one language."""

    found: str
    weak: str
    nothing: str
    incomplete: str
    pending: str
    said: str
    about: str
    separator: str
    until: str


ENGLISH = Phrases(
    found=(
        "No language model is configured, so this is not a reasoned answer: "
        "these are the stored memories that fit the question best, in their own words."
    ),
    weak=(
        "No language model is configured, and no stored memory clearly answers the question. "
        "These lie nearest to it, in their own words:"
    ),
    nothing=(
        "The memories were searched, and nothing in them fits the question. "
        "(No language model is configured; this answer was made by search alone.)"
    ),
    incomplete="Part of the search was not available ({names}), so something may be missing.",
    pending="not processed yet",
    said="said {date}",
    about="about {date}",
    separator="; ",
    until="{start} to {end}",
)
CHINESE = Phrases(
    found="没有配置语言模型，因此这不是推理得出的回答：以下是记忆中与问题最相关的原文。",
    weak="没有配置语言模型，也没有哪条记忆明确回答这个问题。以下是最接近的原文：",
    nothing="已检索全部记忆，没有找到与问题相关的内容。（没有配置语言模型，此回答仅由检索得出。）",
    incomplete="部分检索不可用（{names}），结果可能不完整。",
    pending="尚未处理",
    said="记录于{date}",
    about="所指时间：{date}",
    separator="；",
    until="{start}至{end}",
)


def phrases_for(query: str) -> Phrases:
    """Chinese for a question in Chinese, else English."""
    return CHINESE if _HAN.search(query) and not _KANA.search(query) else ENGLISH


def opening(phrases: Phrases, *, clear: bool, degraded: Sequence[str]) -> str:
    """What is said before the evidence: how well it fits, and whether part of the search was left out."""
    said = phrases.found if clear else phrases.weak
    return said if not degraded else f"{said}\n\n{phrases.incomplete.format(names=', '.join(degraded))}"


def compose(
    before: str, facts: Sequence[Fact], phrases: Phrases, max_tokens: int, count_tokens: Callable[[str], int]
) -> tuple[str, tuple[Fact, ...]]:
    """The answer, and the facts it cites: as many as `max_tokens` allow, at least one."""
    lines = [before, ""]
    used = count_tokens("\n".join(lines))
    cited: list[Fact] = []
    for fact in facts:
        line = f"- “{quoted(fact)}”{_when(fact, phrases)} [{len(cited) + 1}]"
        used += count_tokens(line) + 1
        if cited and used > max_tokens:
            break
        lines.append(line)
        cited.append(fact)
    return "\n".join(lines), tuple(cited)


def quoted(fact: Fact) -> str:
    """The words of a fact, verbatim but on one line, cut when they are very long."""
    words = " ".join(fact.text.split())
    return words if len(words) <= _MAX_QUOTE else words[: _MAX_QUOTE - 1].rstrip() + "…"


def written_date(start: date, end: date, phrases: Phrases) -> str:
    """A day, a whole month or a whole year by its name; anything else from day to day."""
    after = end + timedelta(days=1) if end < date.max else end
    if (start.month, start.day, after.month, after.day) == (1, 1, 1, 1) and after.year == start.year + 1:
        return f"{start.year}年" if phrases is CHINESE else str(start.year)
    if start.day == 1 and after.day == 1 and 28 <= (after - start).days <= 31:
        return f"{start.year}年{start.month}月" if phrases is CHINESE else f"{_MONTHS[start.month - 1]} {start.year}"
    if start == end:
        return _day(start, phrases)
    return phrases.until.format(start=_day(start, phrases), end=_day(end, phrases))


def _day(day: date, phrases: Phrases) -> str:
    if phrases is CHINESE:
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _when(fact: Fact, phrases: Phrases) -> str:
    notes = []
    if fact.mentioned_at:
        said = fact.mentioned_at.date()
        notes.append(phrases.said.format(date=_day(said, phrases)))
    if fact.occurred_start:
        start = fact.occurred_start.date()
        end = fact.occurred_end.date() if fact.occurred_end else start
        notes.append(phrases.about.format(date=written_date(start, max(start, end), phrases)))
    if fact.state is FactState.PENDING:
        notes.append(phrases.pending)
    return f" ({phrases.separator.join(notes)})" if notes else ""
