"""The words that may stand around a time expression, as patterns made from the data files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.time.mention import Relation
from hindsight_server.domain.time.words import Words

Expander = Callable[[str], str]
Language = tuple[Mapping[str, Any], Words, Expander]

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The patterns that are looked for around an expression, of one or several languages.

    Args:
        cues: last words and last characters of what may stand before an expression and change it.
        guards: words of which one is in each of "early", "the end of", "the week before" and the like.
        before: phrases that point to a side of the time behind them, by their last word or character, longest first.
        articles: what may stand between.
        counted: endings of times that are counted from now: "ago".
        step_words: the words that end what `step_before` matches, without articles; empty when not told.
        to_the_end: expressions of which all is meant by "before": "the end of May".
        beyond: what makes "two years ago" the time before that, or, as `within`, since then.
        around: tells that a time is only about right.
        open_before, open_behind: what stands on both sides of a time that only begins: "from 2019 on".
        behind: pattern of words that point to a side of the time before them; its first group is in `sides`.
        habit: tells that what comes again is not meant once.
        skipped: phrases in lower case that hold time words and are no times.
        ahead, back: the text speaks of what is to come, of what has been.
    """

    cues: frozenset[str]
    guards: frozenset[str]
    sides: Mapping[str, Relation]
    before: Mapping[str, tuple[str, ...]]
    articles: tuple[str, ...]
    behind: re.Pattern[str]
    recurring: re.Pattern[str]
    portion: re.Pattern[str]
    portion_at: re.Pattern[str]
    portion_behind: re.Pattern[str]
    part_of: re.Pattern[str]
    step_before: re.Pattern[str]
    step_behind: re.Pattern[str]
    step_words: frozenset[str]
    week_of: re.Pattern[str]
    week_behind: re.Pattern[str]
    count_of: re.Pattern[str]
    count_behind: re.Pattern[str]
    counted: tuple[str, ...]
    to_the_end: re.Pattern[str]
    beyond: re.Pattern[str]
    around: re.Pattern[str]
    open_before: re.Pattern[str]
    open_behind: re.Pattern[str]
    clocks: tuple[tuple[re.Pattern[str], Words], ...]
    clock_before: re.Pattern[str]
    link: re.Pattern[str]
    between: re.Pattern[str]
    inside: re.Pattern[str]
    habit: re.Pattern[str]
    skipped: tuple[str, ...]
    ahead_words: tuple[str, ...]
    ahead: re.Pattern[str]
    back: re.Pattern[str]
    words: tuple[Words, ...]


def contexts_of(languages: Sequence[Language]) -> Context:
    """The context of a text that may be in any of the languages."""
    around = [(data.get("around", {}), expand) for data, _, expand in languages]

    def joined(name: str, ending: str = "$") -> re.Pattern[str]:
        return _joined([expand(part[name]) for part, expand in around if name in part], ending)

    def listed(table: str, name: str) -> list[str]:
        return [word for data, _, _ in languages for word in data.get(table, {}).get(name, ())]

    clocks = [(data["around"], words) for data, words, _ in languages if "clock" in data.get("around", {})]
    sides = {word: relation for relation in Relation for word in _sided(listed, relation)}
    ahead = listed("tense", "ahead")
    return Context(
        cues=_cues(listed, [part for part, _ in around]),
        guards=frozenset(word for part, _ in around for word in part.get("guard_words", ())),
        sides=sides,
        before=_by_end(word for relation in Relation for word in listed("around", relation.value)),
        articles=tuple(f" {word}" for word in listed("around", "articles")),
        behind=_behind(listed, languages),
        recurring=re.compile(rf"(?:{_phrases(listed('around', 'recurring'))})\s?$", re.I),
        portion=joined("portion"),
        portion_at=joined("portion", ""),
        portion_behind=joined("portion_behind", ""),
        part_of=joined("part_of"),
        step_before=joined("step_before"),
        step_behind=joined("step_behind", ""),
        step_words=frozenset(listed("around", "step_words")),
        week_of=joined("week_of"),
        week_behind=joined("week_behind", ""),
        count_of=joined("count_of"),
        count_behind=joined("count_behind", ""),
        counted=tuple(listed("around", "counted")),
        to_the_end=joined("to_the_end", ""),
        beyond=joined("beyond"),
        around=joined("around_it"),
        open_before=joined("open_before"),
        open_behind=joined("open_behind", ""),
        clocks=tuple((re.compile(part["clock"], re.I), words) for part, words in clocks),
        clock_before=joined("clock_before"),
        link=_link(listed),
        between=re.compile(rf"(?:{_phrases(listed('around', 'between'))})\s?$", re.I),
        inside=_joined([data["links"]["inside"] for data, _, _ in languages], ""),
        habit=_joined([data["links"]["habit"] for data, _, _ in languages], ""),
        skipped=tuple(phrase for data, _, _ in languages for phrase in data.get("skip", {}).get("phrases", ())),
        ahead_words=tuple(ahead),
        ahead=re.compile(rf"(?:{_phrases(ahead)})", re.I),
        back=_joined([data["tense"]["back"] for data, _, _ in languages], ""),
        words=tuple(words for _, words, _ in languages),
    )


def _sided(listed: Callable[[str, str], list[str]], relation: Relation) -> list[str]:
    return [*listed("around", relation.value), *listed("behind", relation.value)]


def _behind(listed: Callable[[str, str], list[str]], languages: Sequence[Language]) -> re.Pattern[str]:
    refusals = [data["behind"]["not_behind"] for data, _, _ in languages if "not_behind" in data.get("behind", {})]
    words = _phrases(word for relation in Relation for word in listed("behind", relation.value))
    return re.compile(rf"[ 的]?(?!{'|'.join(refusals) or '(?!)'})({words})", re.I)


def _link(listed: Callable[[str, str], list[str]]) -> re.Pattern[str]:
    to, pair = _phrases(listed("links", "to")), _phrases(listed("links", "and"))
    articles = "".join(f"{_escaped(word)} |" for word in listed("around", "articles"))
    return re.compile(rf"\s*(?:(?:{to})|[-–—~〜～]|(?P<and>{pair}))\s*(?:{articles})", re.I)


def _cues(listed: Callable[[str, str], list[str]], parts: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    names = [relation.value for relation in Relation] + ["recurring", "between", "articles"]
    last = {phrase.split()[-1].lower() for name in names for phrase in listed("around", name)}
    return frozenset(word if word.isascii() else word[-1] for word in last) | {
        word for part in parts for word in part.get("cue_words", ())
    }


def _by_end(phrases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Phrases by their last word, those of scripts without spaces by their last character."""
    found: dict[str, tuple[str, ...]] = {}
    for phrase in sorted(set(phrases), key=len, reverse=True):
        end = phrase[-1] if _spaceless(phrase) else phrase.split()[-1]
        found[end] = (*found.get(end, ()), phrase)
    return found


def _escaped(phrase: str) -> str:
    return re.escape(phrase).replace(r"\ ", " ")


def _phrases(words: Iterable[str]) -> str:
    """Alternatives, the longest first, each between word boundaries where it is written with them."""
    found = [
        (r"\b" if word[0].isalnum() and not _spaceless(word) else "")
        + _escaped(word)
        + (r"\b" if word[-1].isalnum() and not _spaceless(word) else "")
        for word in sorted(set(words), key=len, reverse=True)
    ]
    return "|".join(found) or "(?!)"


def _spaceless(word: str) -> bool:
    return any("\u3040" <= char <= "\u9fff" for char in word)


def _joined(patterns: Sequence[str], ending: str) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(patterns)}){ending}", re.I) if patterns else _NEVER
