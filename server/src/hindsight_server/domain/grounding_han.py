"""The same as `grounding_turned` for Chinese: a 不 or 没 lost or added, and two people exchanged. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindsight_server.domain.grounding_often_han import is_against, is_general, without_frequency
from hindsight_server.domain.remembering import once

_CLAUSES = re.compile("[^，。！？；：,.!?;:\\n（）()…]+[？?]?")
HAN = re.compile("[\u3400-\u9fff]")
"""A Chinese sign."""
# Words with a sign of denial that deny nothing, or not the whole.
_NO_DENIAL = re.compile(
    "不但|不仅|不只|不光|不单|不过(?![敏来去期关])|不同(?!意)|不错(?!过)|不久|不少|不断|不得不|差不多|不好意思|不然|不如|不止|不管|不论|"
    "不停(?![车止下])|不妨|不愧|不幸|不安(?![排装])|不满(?!足)|不锈钢|不动产|不良|不一定|不见得|不要紧|不到(?!达)|不足|不等(?!待)|不由|不禁|"
    "要不|说不定|忍不住|了不起|对不起|不客气|没关系|没问题|没想到|没错(?!过)|没事|没准|未来|未婚|未必|无论|无锡|无人机|无线|"
    "别人|别墅|特别|区别|分别|级别|性别|告别|个别|别的|沉没|埋没|淹没|(.)不\\1|(.)没\\2|有没有|能不能|是否"
)
_DENIAL = re.compile("从来没有|从来没|从来不|没有|从未|从不|从没|未曾|不再|没|不|未|别|勿|无法")
_HELPERS = re.compile(
    "(?:来得及|愿意|可以|能够|应该|打算|准备|需要|必须|希望|喜欢|已经|会|能|想|愿|要|肯|敢|可|该|再|太|怎么|用|让|给|向|对|把|在|去(?=参加|看|做))*"
)
_LEXICAL = re.compile(
    "拒绝|戒|停|取消|缺|失败|免|禁|单身|避免|除了|除非|只|仅|差|忘|尚|代替|改|辞|退|放弃|以前|之前|原来|曾|过去|少|难|反对|"
    "否|才|直到|如果|要是|假如|若|万一|的话|讨厌|恨|是不是|吗|无|除外|离开|断|没收|剩|最多|至少|先|一直到"
)
_HYPOTHETICAL = re.compile("如果|要是|假如|若|万一|的话|吗|是否|是不是|希望|除非|才能")
_PARTICLES = re.compile("[了着的吧啊呢嘛呀哦]|过(?![敏程去来分度期滤年节户])|已经|也|都|还(?!款|钱|给)|就")
_PRONOUNS = re.compile("我们|你们|他们|她们|它们|咱们|[我你您他她它]")
_OWN = re.compile("我(?![们的妹哥弟姐妈爸家表爷奶外舅叔姑姨老儿女太先同妻丈婆公])")
_VERBS_TEXT = (
    "送给 借给 卖给 还给 交给 寄给 发给 嫁给 输给 介绍 打败 战胜 告诉 教会 照顾 推荐 通知 邀请 批评 表扬 代替 接替 "
    "帮助 超过 领导 雇用 感谢 等待 拜访 采访 起诉 资助 教 欠 请 帮 替 送 借 卖 骂 打 求 催 带 陪 接 赢 追 救 爱 管 骗"
)
_THIRD = re.compile("[他她它]")
_QUESTION = re.compile("(.+)吗[？?]?")
_TAKEN_FOR_GRANTED = re.compile("知道|记得|听说|相信|告诉|发现")
# Shares of a statement that stand in a clause; less where a pronoun stands for a part of it.
_NEAR, _NEAR_WITH_PRONOUN = 0.5, 0.3
_VERY_NEAR, _NEARER_WITH_PRONOUN = 0.75, 0.6
_VERBS = tuple(_VERBS_TEXT.split())
# Signs behind a denial that are looked at for what it denies: a text without marks is one clause of thousands.
_AHEAD = 200
_PASSIVE = re.compile("被|由|让|受")
_OPPOSITES = (
    ("喜欢", "讨厌"),
    ("同意", "拒绝"),
    ("同意", "反对"),
    ("批准", "驳回"),
    ("结婚了", "单身"),
    ("已婚", "单身"),
)
# What one buys another sells: they stand against each other where one and the same does both.
_CONVERSES = (("买", "卖"), ("赢", "输"), ("结婚", "离婚"), ("记得", "忘"), ("找到", "丢"))
_SELF = re.compile("我(?!们)")
_ROLES = {"user": "用户", "assistant": "助手"}
_AFTER_VERB = re.compile("(?:了|过|给|会|到|完)*")
_HELPERS_ALONE = re.compile(f"{_DENIAL.pattern}|愿意|可以|能够|应该|打算|准备|需要|希望|喜欢|已经|给|对|向|会|能|想|要")


@dataclass(frozen=True)
class HanClause:
    """A clause. `names` are those of who speaks, longest first."""

    text: str
    names: tuple[str, ...]

    @once
    def plain(self) -> str:
        """Its signs without particles, pronouns and the names of those who speak."""
        return _plain(self.text, self.names)

    @once
    def bare(self) -> str:
        """The same without denials and words that help verbs."""
        return _HELPERS_ALONE.sub("", self.plain)

    @once
    def pairs(self) -> frozenset[str]:
        return frozenset(self.bare[at : at + 2] for at in range(len(self.bare) - 1))

    @once
    def is_open(self) -> bool:
        """Whether it only asks or supposes."""
        return self.text.endswith(("？", "?")) or _HYPOTHETICAL.search(self.text) is not None

    @once
    def denials(self) -> tuple[int, ...]:
        """Where its words of denial end."""
        plain = _NO_DENIAL.sub(lambda match: "□" * len(match[0]), self.text)
        return tuple(match.end() for match in _DENIAL.finditer(plain))

    @once
    def heads(self) -> tuple[str, ...]:
        """What it denies: the two signs after each denial, or the one with which it ends and what stands before it."""
        heads = []
        for end in self.denials:
            rest = _plain(self.text[end : end + _AHEAD], self.names)
            helpers = _HELPERS.match(rest)
            helped, rest = (rest[: helpers.end()], rest[helpers.end() :]) if helpers is not None else ("", rest)
            if not rest or not HAN.match(rest):
                continue
            if len(rest) > 1:
                heads.append(rest[:2])
                continue
            heads.append(f"{self.subject[-1:]}{rest}")
            if helped:
                heads.append(f"{'喜欢' if helped.endswith('喜欢') else helped[-1]}{rest}")
        return tuple(heads)

    @once
    def subject(self) -> str:
        """The two signs with which it begins when it is no more than somebody and a denied verb; else nothing."""
        begun = _plain(_DENIAL.split(self.text, maxsplit=1)[0], self.names)
        return begun if len(begun) == 2 else ""

    @once
    def verbs(self) -> dict[str, int]:
        """The verbs between two people, with their places; none where the doer may stand behind."""
        if _PASSIVE.search(self.text):
            return {}
        return {verb: at for verb in _VERBS if (at := self.text.find(verb)) > 0}

    def says(self, head: str) -> bool:
        return head in self.plain if len(head) == 2 else self.plain.endswith(head)

    def is_lexical(self, head: str) -> bool:
        """Whether it denies by the meaning of another word than the one in question."""
        return any(match[0] not in head for match in _LEXICAL.finditer(self.text.replace(head, "")))

    def without(self, word: str) -> HanClause:
        return HanClause(self.text.replace(word, ""), self.names)

    def share(self, fact: HanClause) -> float:
        """How much of a clause of a statement stands in it, by pairs of signs."""
        return len(fact.pairs & self.pairs) / len(fact.pairs) if fact.pairs else 1.0


class HanLine:
    """A line: what was said, and by whom. `known`: the names of who speaks in the document, longest first."""

    def __init__(self, text: str, speaker: str | None, names: Iterable[str]) -> None:
        self.known = tuple(sorted({*names, "用户", "助手"}, key=len, reverse=True))
        self._text = text
        self.speaker = speaker

    @once
    def clauses(self) -> list[HanClause]:
        return [HanClause(one, self.known) for one in _CLAUSES.findall(self._text)]

    @once
    def told(self) -> list[HanClause]:
        """Its clauses with the speaker's name for who speaks."""
        text = _OWN.sub(self.speaker, self._text) if self.speaker else self._text
        return [HanClause(one, self.known) for one in _CLAUSES.findall(text)]


@dataclass(frozen=True)
class _Read:
    """A statement, the line that it was read in, and all lines."""

    text: str
    line: HanLine
    lines: Sequence[HanLine]

    @once
    def bearing(self) -> list[HanClause]:
        """The clauses that may bear it out: of its line, and of others as far as they may be of the same people."""
        return [
            clause
            for line in self.lines
            for clause in line.clauses
            if line is self.line or self._may_be_of(clause, line.speaker)
        ]

    def _may_be_of(self, clause: HanClause, speaker: str | None) -> bool:
        """Whether a clause may be of who is named; what one says of himself is of nobody else."""
        people = [name for name in clause.names if name in self.text]
        if not people or any(name in clause.text for name in people):
            return True
        if any(name in clause.text for name in clause.names):
            return False
        return not speaker or _ROLES.get(speaker, speaker) in people or _SELF.search(clause.text) is None


def is_turned_in_han(fact: str, seat: int, lines: Sequence[HanLine], speakers: Iterable[str]) -> bool:
    """Whether a statement that was read in line `seat` says the opposite of it, or has its people exchanged.

    Example:
        >>> is_turned_in_han("陈涛会开车。", 0, [HanLine("不过我不会开车", "陈涛", ["陈涛"])], ["陈涛"])
        True
    """
    line = lines[seat]
    read = _Read(fact, line, lines)
    checks = (_is_denied, _is_opposite, _is_of_other_frequency, _is_converse)
    return any(
        any(check(clause, read) for check in checks) or any(_is_exchanged(clause, told) for told in line.told)
        for clause in HanLine(fact, None, speakers).clauses
    )


def is_asked_in_han(fact: str, line: str) -> bool:
    """Whether a statement says what a text asks in its last clause and nowhere tells.

    Example:
        >>> is_asked_in_han("陈涛有船。", "小安问：陈涛有船吗？")
        True
    """
    asked, said = HanLine(line, None, ()).clauses, HanLine(fact, None, ()).clauses
    if not asked or len(said) != 1 or said[0].is_open or asked[-1].denials or _TAKEN_FOR_GRANTED.search(asked[-1].text):
        return False
    question = _QUESTION.fullmatch(asked[-1].plain)
    return question is not None and question[1].endswith(said[0].plain) and len(said[0].plain) > 2


def _is_denied(fact: HanClause, read: _Read) -> bool:
    if fact.is_open:
        return False
    return any(
        not clause.is_open and (_is_lost(fact, clause, read) or _is_added(fact, clause)) for clause in read.line.clauses
    )


def _is_lost(fact: HanClause, clause: HanClause, read: _Read) -> bool:
    """Whether the clause denies what the fact says."""
    head = next((head for head in clause.heads if fact.says(head)), None)
    if head is None or fact.heads or fact.is_lexical(head):
        return False
    least = _NEAR_WITH_PRONOUN if _THIRD.search(clause.text) else _NEAR
    if is_general(clause.text):
        fact = HanClause(without_frequency(fact.text), fact.names)
    return clause.share(fact) >= least and not _is_said_elsewhere(fact, clause, head, read)


def _is_added(fact: HanClause, clause: HanClause) -> bool:
    """Whether the fact denies what the clause says."""
    head = next((head for head in fact.heads if clause.says(head)), None)
    if head is None or clause.denials or clause.is_lexical(head):
        return False
    clause = HanClause(clause.text.replace(f"有{head}", head), clause.names)  # 没有 is the denial of 有
    return clause.share(fact) >= (_NEARER_WITH_PRONOUN if _THIRD.search(clause.text) else _VERY_NEAR)


def _is_said_elsewhere(fact: HanClause, against: HanClause, head: str, read: _Read) -> bool:
    """Whether another clause that is as near says it without a denial, of the same one if the denial names somebody."""
    near, subject = against.share(fact), against.subject
    return any(
        clause is not against
        and clause.says(head)
        and not clause.denials
        and (subject not in fact.text or subject in clause.text)
        and clause.share(fact) >= near
        for clause in read.bearing
    )


def _is_opposite(fact: HanClause, read: _Read) -> bool:
    for pair in _OPPOSITES:
        for word, against in (pair, pair[::-1]):
            if word not in fact.text or fact.denials or any(word in clause.text for clause in read.line.clauses):
                continue
            rest = fact.without(word)
            for clause in read.line.clauses:
                if against not in clause.text or clause.denials:
                    continue
                near = clause.without(against).share(rest)
                if near >= _VERY_NEAR and not _is_told(word, rest, near, read):
                    return True
    return False


def _is_told(word: str, rest: HanClause, near: float, read: _Read) -> bool:
    """Whether a clause plainly has a word beside as much of a statement's rest as is given."""
    return any(
        word in clause.text and not clause.denials and clause.without(word).share(rest) >= near
        for clause in read.bearing
    )


def _is_converse(fact: HanClause, read: _Read) -> bool:
    """Whether a line tells of the very one who does something in a statement that he does the converse."""
    for pair in _CONVERSES:
        for word, against in (pair, pair[::-1]):
            if word not in fact.text or fact.denials or any(word in clause.text for clause in read.line.clauses):
                continue
            doers = [name for name in fact.names if re.search(f"{re.escape(name)}.{{0,2}}{word}", fact.text)]
            rest = fact.without(word)
            for clause in read.line.told:
                if clause.denials or not any(
                    re.search(f"{re.escape(name)}.{{0,2}}{against}", clause.text) for name in doers
                ):
                    continue
                near = clause.without(against).share(rest)
                if near >= _VERY_NEAR and not _is_told(word, rest, near, read):
                    return True
    return False


def _is_of_other_frequency(fact: HanClause, read: _Read) -> bool:
    """Whether a line says that something seldom happens, and a statement that it often does, or the other way round."""
    against = [clause for clause in read.line.clauses if not clause.is_open and is_against(fact.text, clause.text)]
    if not against or fact.is_open:
        return False
    rest = HanClause(without_frequency(fact.text), fact.names)
    shares = [(HanClause(without_frequency(one.text), one.names).share(rest), one) for one in read.bearing]
    near = max(share for share, clause in shares if any(clause is one for one in against))
    if not rest.pairs or near < _VERY_NEAR:
        return False
    return all(share < near or any(clause is one for one in against) for share, clause in shares)


def _plain(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = text.replace(name, "")
    return _PARTICLES.sub("", _PRONOUNS.sub("", "".join(text.split())))


def _is_exchanged(fact: HanClause, clause: HanClause) -> bool:
    """Whether who stands before a verb in one stands after it in the other, and the other way round."""
    for verb, said in fact.verbs.items():
        told = clause.verbs.get(verb)
        if told is None:
            continue
        object_ = _AFTER_VERB.sub("", fact.text[said + len(verb) :], count=1)
        if object_.startswith("的"):
            continue
        behind = _AFTER_VERB.sub("", clause.text[told + len(verb) :], count=1)
        is_doer_behind = any(
            len(behind) >= size and HAN.match(behind[1]) and behind[:size] in fact.text[:said] for size in (2, 3)
        )
        if is_doer_behind and any(object_[:size] in clause.text[:told] for size in (2, 3) if len(object_) >= size):
            return True
    return False
