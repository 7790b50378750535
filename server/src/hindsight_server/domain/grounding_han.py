"""The same as `grounding_turned` for Chinese: a 不 or 没 lost or added, and two people exchanged. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

_CLAUSES = re.compile("[^，。！？；：,.!?;:\\n（）()…]+[？?]?")
_HAN = re.compile("[\u3400-\u9fff]")
# Words with a sign of denial that deny nothing, or not the whole.
_NO_DENIAL = re.compile(
    "不但|不仅|不只|不光|不单|不过(?![敏来去期关])|不同(?!意)|不错(?!过)|不久|不少|不断|不得不|差不多|不好意思|不然|不如|不止|不管|不论|"
    "不停(?![车止下])|不妨|不愧|不幸|不安(?![排装])|不满(?!足)|不锈钢|不动产|不良|不一定|不见得|不要紧|不到(?!达)|不足|不等(?!待)|不由|不禁|"
    "要不|说不定|忍不住|了不起|对不起|不客气|没关系|没问题|没想到|没错(?!过)|没事|没准|未来|未婚|未必|无论|无锡|无人机|无线|"
    "别人|别墅|特别|区别|分别|级别|性别|告别|个别|别的|沉没|埋没|淹没|(.)不\\1|(.)没\\2|有没有|能不能|是否"
)
_DENIAL = re.compile(
    "不但|不仅|不只|不光|不单|不过(?!敏)|不同|不错|不久|不少|不断|不得不|差不多|不好意思|不然|不如|不止|不管|不论|不停|不妨|不愧|不幸|"
    "不安|不满|不锈钢|不动产|不良|不一定|不见得|不要紧|不到|不足|不等|不由|不禁|要不|说不定|忍不住|了不起|对不起|不客气|"
    "没关系|没问题|没想到|没错|没事|没准|未来|未婚|未必|无论|无锡|无人机|无线|别人|别墅|特别|区别|分别|级别|性别|告别|个别|别的|"
    "沉没|埋没|淹没|(.)不\\1|(.)没\\2|有没有|能不能|是否"
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
# Shares of a statement that stand in a clause; less where a pronoun stands for a part of it.
_NEAR, _NEAR_WITH_PRONOUN = 0.5, 0.3
_VERY_NEAR, _NEARER_WITH_PRONOUN = 0.75, 0.6
_VERBS = tuple(_VERBS_TEXT.split())
_PASSIVE = re.compile("被|由|让|受")
_OPPOSITES = (
    ("喜欢", "讨厌"),
    ("同意", "拒绝"),
    ("同意", "反对"),
    ("批准", "驳回"),
    ("结婚了", "单身"),
    ("已婚", "单身"),
)
_AFTER_VERB = re.compile("(?:了|过|给|会|到|完)*")


@dataclass(frozen=True)
class HanLine:
    """A line: what was said, and by whom."""

    text: str
    speaker: str | None = None

    @cached_property
    def clauses(self) -> list[str]:
        return _CLAUSES.findall(self.text)

    @cached_property
    def told(self) -> str:
        """The text with its speaker's name for who speaks."""
        return _OWN.sub(self.speaker, self.text) if self.speaker else self.text


def is_turned_in_han(fact: str, seat: int, lines: Sequence[HanLine], speakers: Iterable[str]) -> bool:
    """Whether a statement that was read in line `seat` says the opposite of it, or has its people exchanged.

    Example:
        >>> is_turned_in_han("陈涛会开车。", 0, [HanLine("不过我不会开车", "陈涛")], ["陈涛"])
        True
    """
    names = sorted({*speakers, "用户", "助手"}, key=len, reverse=True)
    for clause in _CLAUSES.findall(fact):
        if _is_denied(clause, lines[seat], lines, names) or _is_opposite(clause, lines[seat], names):
            return True
        if any(_is_exchanged(clause, told) for told in _CLAUSES.findall(lines[seat].told)):
            return True
    return False


def _is_denied(fact: str, line: HanLine, lines: Sequence[HanLine], names: Sequence[str]) -> bool:
    if _HYPOTHETICAL.search(fact):
        return False
    denied = _denied(fact, names)
    for clause in line.clauses:
        if _HYPOTHETICAL.search(clause) or clause.endswith(("？", "?")):
            continue
        lost = [head for head in _denied(clause, names) if _says(fact, head, names)]
        if (
            lost
            and not denied
            and not _has_lexical(fact, lost[0])
            and _share(fact, clause, names) >= (_NEAR_WITH_PRONOUN if _THIRD.search(clause) else _NEAR)
            and not _is_said_elsewhere(fact, clause, lost[0], lines, names)
        ):
            return True
        added = [head for head in denied if _says(clause, head, names)]
        plain = added and not _denials(clause) and not _has_lexical(clause, added[0])
        if plain and _share(fact, clause, names) >= (_NEARER_WITH_PRONOUN if _THIRD.search(clause) else _VERY_NEAR):
            return True
    return False


def _is_said_elsewhere(fact: str, against: str, head: str, lines: Sequence[HanLine], names: Sequence[str]) -> bool:
    """Whether another clause that is as near says it without a denial, of the same one if the denial names somebody."""
    near, subject = _share(fact, against, names), _subject(against, names)
    return any(
        clause != against
        and _says(clause, head, names)
        and not _denials(clause)
        and (subject not in fact or subject in clause)
        and _share(fact, clause, names) >= near
        for line in lines
        for clause in line.clauses
    )


def _subject(clause: str, names: Sequence[str]) -> str:
    """The two signs with which a clause begins that is no more than somebody and a denied verb; else nothing."""
    begun = _plain(_DENIAL.split(clause, maxsplit=1)[0], names)
    return begun if len(begun) == 2 else ""


def _is_opposite(fact: str, line: HanLine, names: Sequence[str]) -> bool:
    for pair in _OPPOSITES:
        for word, against in (pair, pair[::-1]):
            if word in fact and word not in line.text and not _denials(fact):
                for clause in line.clauses:
                    rest = fact.replace(word, "")
                    if against in clause and not _denials(clause) and _share(rest, clause, names) >= _VERY_NEAR:
                        return True
    return False


def _denials(clause: str) -> list[int]:
    """Where the words of denial of a clause end."""
    plain = _NO_DENIAL.sub(lambda match: "□" * len(match[0]), clause)
    return [match.end() for match in _DENIAL.finditer(plain)]


def _denied(clause: str, names: Sequence[str]) -> list[str]:
    """What a clause denies: the two signs after each denial, or the one before it and the one with which it ends."""
    heads = []
    for end in _denials(clause):
        rest = _plain(clause[end:], names)
        helpers = _HELPERS.match(rest)
        rest = rest[helpers.end() :] if helpers is not None else rest
        if rest and _HAN.match(rest):
            heads.append(rest[:2] if len(rest) > 1 else f"{_subject(clause, names)[-1:]}{rest}")
    return heads


def _says(clause: str, head: str, names: Sequence[str]) -> bool:
    return head in _plain(clause, names) if len(head) == 2 else _plain(clause, names).endswith(head)


def _has_lexical(clause: str, head: str) -> bool:
    return any(match[0] not in head for match in _LEXICAL.finditer(clause.replace(head, "")))


def _share(fact: str, clause: str, names: Sequence[str]) -> float:
    """How much of a clause of a statement stands in a clause of a line, by pairs of signs."""
    said, held = (re.sub(_HELPERS_ALONE, "", _plain(text, names)) for text in (fact, clause))
    pairs = {said[at : at + 2] for at in range(len(said) - 1)}
    return sum(pair in held for pair in pairs) / len(pairs) if pairs else 1.0


_HELPERS_ALONE = re.compile(f"{_DENIAL.pattern}|愿意|可以|能够|应该|打算|准备|需要|希望|喜欢|已经|给|对|向|会|能|想|要")


def _plain(clause: str, names: Sequence[str]) -> str:
    """A clause without particles, pronouns and the names of those who speak."""
    for name in names:
        clause = clause.replace(name, "")
    return _PARTICLES.sub("", _PRONOUNS.sub("", "".join(clause.split())))


def _is_exchanged(fact: str, clause: str) -> bool:
    """Whether who stands before a verb in one stands after it in the other, and the other way round."""
    if _PASSIVE.search(fact) or _PASSIVE.search(clause):
        return False
    for verb in _VERBS:
        said, told = fact.find(verb), clause.find(verb)
        if said < 1 or told < 1:
            continue
        after = fact[said + len(verb) :]
        ending = _AFTER_VERB.match(after)
        object_ = after[ending.end() :] if ending is not None else after
        if object_.startswith("的"):
            continue
        behind = _AFTER_VERB.sub("", clause[told + len(verb) :], count=1)
        doers = {fact[at : at + size] for size in (2, 3) for at in range(said - size + 1)}
        return any(_is_name(one) and behind.startswith(one) for one in doers) and any(
            object_[:size] in clause[:told] for size in (2, 3) if len(object_) >= size
        )
    return False


def _is_name(text: str) -> bool:
    return len(text) >= 2 and all(_HAN.match(sign) for sign in text)
