"""The same as `grounding_hedged` for Chinese: a 可能, 打算 or 听说 that a statement has lost. Pure functions.

Chinese verbs have no tense: a plan counts as told as a fact only where a word such as 了 or 已经 says that it was done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_server.domain.grounding_han import HanClause, HanLine

_DOUBT = (
    "(?<!不)(?:有)?可能(?!性)|也许|或许|大概|说不定|没准儿?|恐怕|好像|似乎|估计|(?:在|再|正在)?考虑(?!到)|犹豫|不确定|拿不准|"
    "差点儿?(?!没)|险些|本来(?:是)?(?:想|打算|要|计划|准备)|原本(?:想|打算|要|计划|准备)|如果|要是|假如|万一|是否|"
    "应该(?=是|会|在|已|没|快|到|有)|应该(?=.{1,20}[了吧]$)"
)
_HEARSAY = "听说|据说|听人说|有人说"
_PLAN = (
    "(?<!不)(?:打算|计划|准备|希望|想要)|(?<![联理思没猜梦回幻设感不])想(?![起到念法象家着来必问说知告请谢提跟和要])"
)
_HEDGE = re.compile(f"(?P<doubt>{_DOUBT})|(?P<hearsay>{_HEARSAY})|(?P<plan>{_PLAN})")
_IF = re.compile("的话$")
_NUMERAL = "(?:[0-9]|[一二两三四五六七八九十几百千万]+(?![月号日些起直般定]))"
_COUNTED = re.compile(f"(?:有|是|要|花|需要|会|得|来了|在)?{_NUMERAL}")
_ABOUT_A_NUMBER = re.compile(_NUMERAL)
# Words of a statement that keep a hedge.
_KEEPS = re.compile(
    "可能|也许|或许|大概|说不定|没准|恐怕|好像|似乎|疑似|像|听说|据|传闻|传言|差点|险些|几乎|考虑|犹豫|不确定|是否|如果|要是|"
    "假如|若|万一|的话|估计|预计|应该|应当|想|打算|计划|准备|希望|愿|意向|意愿|有意|期望|期待|渴望|拟|需|建议|推荐|提议|"
    "询问|请求|要求|感兴趣|兴趣|认为|觉得|讨论|尝试|梦|目标|未|推测|猜|怀疑|本来|原本|曾想|就|待"
)
_RETOLD = re.compile("说|表示|告诉|提到|称")
_AHEAD = re.compile("会(?![议员计])|将|要|即将")
_DONE = re.compile("(?<!为)了(?!解|不起)|(?<![不超通难经])过(?![敏程去来年节期渡夜])|已|曾|正在")
_CONDITION = re.compile("如果|要是|假如|万一|的话$")
_CONSEQUENCE = re.compile("就|会|才")
_LONGEST = 200  # signs of a clause that is looked at: without marks, a text is one of thousands
# Shares of what a statement says, by pairs of signs, that stand in a clause, and behind the hedge in it.
_NEAR, _BEHIND = 0.5, 0.3


@dataclass(frozen=True, slots=True)
class _Hedge:
    """A stretch of a clause that is hedged, and how: ``doubt``, ``hearsay`` or ``plan``."""

    kind: str
    clause: HanClause
    words: HanClause

    @property
    def told(self) -> HanClause:
        """Its clause without the hedge."""
        begun = self.clause.text[: -len(self.words.text)] if self.clause.text.endswith(self.words.text) else ""
        return HanClause(_HEDGE.sub("", begun) + self.words.text, self.clause.names)


def is_firmer_in_han(fact: str, seat: int, lines: Sequence[str], speakers: Sequence[str]) -> bool:
    """Whether a statement that was read in line `seat` tells as a fact what the line only plans or supposes.

    Example:
        >>> is_firmer_in_han("小安搬去了上海。", 0, ["我可能搬去上海"], ["小安"])
        True
        >>> is_firmer_in_han("小安可能搬去上海。", 0, ["我可能搬去上海"], ["小安"])
        False
    """
    text = lines[seat]
    if (_HEDGE.search(text) is None and "的话" not in text) or _KEEPS.search(fact):
        return False
    hedges = list(_hedges(HanLine(text, None, speakers)))
    if seat + 1 < len(lines):  # who is spoken to may have answered
        hedges = [one for one in hedges if "你" not in one.clause.text and "您" not in one.clause.text]
    return any(
        _is_of(clause, hedge) and not _is_said(clause, hedge, lines, speakers)
        for hedge in hedges
        for clause in HanLine(fact, None, speakers).clauses
        if clause.pairs and not clause.is_open
    )


def _hedges(line: HanLine) -> Iterator[_Hedge]:
    before = ""
    for clause in line.clauses:
        condition, before = _CONDITION.search(before), clause.text
        if len(clause.text) > _LONGEST or clause.text.endswith(("?", "？", "吗")):
            continue
        if condition and (match := _CONSEQUENCE.search(clause.text)):
            yield _Hedge("plan", clause, HanClause(clause.text[match.end() :], clause.names))
        if (end := _IF.search(clause.text.rstrip())) is not None:
            yield _Hedge("doubt", clause, HanClause(clause.text[: end.start()], clause.names))
        for match in _HEDGE.finditer(clause.text):
            kind, rest = match.lastgroup or "", clause.text[match.end() :]
            is_number = _COUNTED.match(rest) or (match[0] in ("大概", "估计") and _ABOUT_A_NUMBER.search(rest))
            if rest and not is_number:
                yield _Hedge(kind, clause, HanClause(rest, clause.names))


def _is_of(fact: HanClause, hedge: _Hedge) -> bool:
    """Whether a clause of a statement tells what is hedged as a fact."""
    if bool(fact.denials) != bool(hedge.words.denials):
        return False
    if hedge.kind == "plan" and (_DONE.search(fact.text) is None or _AHEAD.search(fact.text)):
        return False
    if hedge.kind == "hearsay" and _RETOLD.search(fact.text):
        return False
    return hedge.told.share(fact) >= _NEAR and hedge.words.share(fact) >= _BEHIND


def _is_said(fact: HanClause, hedge: _Hedge, lines: Sequence[str], speakers: Sequence[str]) -> bool:
    """Whether a clause without a hedge says as much of it."""
    near = hedge.told.share(fact)
    return any(
        clause.share(fact) >= near
        and not clause.text.endswith(("?", "？", "吗", "的话"))
        and clause.text != hedge.clause.text
        and _HEDGE.search(clause.text) is None
        for text in lines
        for clause in HanLine(text, None, speakers).clauses
    )
