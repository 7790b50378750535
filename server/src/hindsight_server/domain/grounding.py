"""Whether a text says no more than the texts it was drawn from: names, numbers and words. Pure functions.

This is no proof of meaning: it finds what was made up, not what was turned around. What can be checked without doubt is
checked strictly: a name or a number that stands nowhere in the evidence was not read there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from hindsight_server.domain.grounding_units import Quantity, exchanged_span, quantities, quantity_of
from hindsight_server.domain.naming.words import ABBREVIATIONS, HAN_PLACES
from hindsight_server.domain.numerals import NUMBER_WORDS, Number, find_numbers, readings
from hindsight_server.domain.remembering import once, remembered
from hindsight_server.domain.speakers import ROLES

Ordinary = Callable[[str], bool]

_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_LETTER = rf"[^\W_{_SIGNS}]"
_TOKEN = re.compile(rf"{_LETTER}+(?:[-'’.&_/]{_LETTER}+)*")
_PIECE = re.compile(rf"{_LETTER}+")
_CJK = re.compile(f"[{_SIGNS}]")
_CJK_RUN = re.compile(f"[{_SIGNS}]+")
_HAN_RUN = re.compile("[\u3400-\u9fff]+")
_BEGINS = re.compile(r"(?:\A|[.!?…:;|\n\"“(\[*•。！？：；]\s*|[-–—]\s+)[\"“'‘(\[]*\Z")
_OPENING = "\"“'‘(["
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s", "d", "e", "y")

_OPENERS_TEXT = """
a an the this that these those he she it they we i you his her its their our my your who what when where why how
there here one two three four five six seven eight nine ten some many most all both each every another other no not
and but or so as if in on at by for from to with without about after before during since until while because
although though however instead later earlier recently currently now then today yesterday tomorrow soon once
user users assistant agent speaker narrator customer client someone somebody people person everyone team family
parents mother father mom dad brother sister wife husband son daughter friend friends colleague colleagues boss
plans planned planning prefers preferred likes liked loves loved wants wanted needs needed works worked lives lived
uses used has had is was are were will would can could should may might must does did do goes went going
suggested suggests recommended recommends advised explained offered told said asked mentioned confirmed reported
agreed promised decided decides discussed described noted stated stating visiting visited visits moving moved
buying bought selling sold getting got making made taking took meeting met starting started starts finished
learning learned working living using considering feels felt feeling thinks thought believes believed hopes hoped
enjoys enjoyed owns owned bought keeps kept avoids avoided dislikes disliked hates hated attended attends joined
due owing thanks according following approximately around nearly almost only also both either neither
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
october november december spring summer autumn fall winter
"""
_OPENERS = frozenset(_OPENERS_TEXT.split())
_CALENDAR_TEXT = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december jan feb mar apr jun jul aug sep sept oct nov dec am pm bc ad utc gmt
"""
_CALENDAR = frozenset(_CALENDAR_TEXT.split())
_SPOKEN_OF = frozenset(["user", "assistant", "i", "i'm", "i'd", "i'll", "i've", *ROLES])
_NO_CONTENT_TEXT = """
a about after again all also always am an and any are as at be because been before being both but by can could did
do does doing down each ever every few for from further get gets got had has have having he her here hers him his
how i if in into is it its itself just like made make makes many may me might more most much must my no nor not now
of off on once only or other our out over own really said say says same she should so some still such than that the
their them then there these they thing things this those through to too under until up us very was we well went were
what when where which while who whom why will with would yet you your user assistant one two person people someone
"""
_NO_CONTENT = frozenset(_NO_CONTENT_TEXT.split()) | NUMBER_WORDS
_HAN_STOP = frozenset("的了是在和与也都就还很把被对向从到给让说有没不我你他她它们这那个一用户助手")
_HAN_FILLING = re.compile(
    "[的了是在和与及或也都就还很把被对向从到给让说有没不我你他她它们这那个一二两三四五六七八九十百千万亿零〇几多来余约近"
    "要想会能可将应该去来做为以其又再并且而但若如因由自每各本该某所则即时后前上下中里内外间起止年月日号周天点分秒"
    "成到好掉完出进起过着得地们元块角毛人口岁次件只台张条份辆册页盘笔度克斤米盒箱名位家套间层]+"
)
_NARRATING_TEXT = """
通过 建议 推荐 工作 因为 所以 作者 用户 助手 客户 客服 认为 表示 提到 计划 打算 需要 希望 喜欢 正在 已经 将要 可能 可以
应该 必须 进行 完成 开始 结束 参加 负责 安排 购买 买了 拥有 居住 位于 来自 属于 包括 以及 并且 但是 不过 因此 由于
为了 关于 对于 根据 目前 现在 之前 之后 以后 以前 期间 当时 时候 大约 左右 至少 最多 一起 一共 总共 其中 另外 还有 没有
不能 不会 不要 不是 同意 决定 选择 使用 采用 提供 支持 要求 询问 回答 告诉 通知 提醒 确认 说明 解释 指出 讨论 发现 担心
提出 提及 描述 告知 获得 收到 得到 成为 作为 属于 名叫 称为 名为 叫做 记录 讲述 叙述 对方 自己 本人 双方 大家 此外 同时
"""
_NARRATING = re.compile("|".join(_NARRATING_TEXT.split()))


def fold(text: str) -> str:
    """Lower case without accents; full-width letters become plain ones."""
    return text.lower() if text.isascii() else _folded(text)


@remembered(most=16384, longest=80)
def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().replace("’", "'")


@remembered(most=16384)
def stem(word: str) -> str:
    """A folded English word without its ending, so that "planned" and "planning" meet."""
    if not word.isascii() or len(word) <= 4:
        return word.removesuffix("'s")
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


@dataclass(frozen=True)
class Evidence:
    """Texts that a statement may rest on.

    Args:
        words: the texts that were read: what is said, and its numbers, must come of them.
        names: further texts in which names may stand: the rest of the document, its context, known names.
        speakers: who speaks there.
        wider: more evidence for names, made once for all passages of a document.
        ordinary: whether a lower-case word that begins a sentence with a capital is no name by itself.
    """

    words: Sequence[str]
    names: Sequence[str] = ()
    speakers: Sequence[str] = ()
    wider: Evidence | None = None
    ordinary: Ordinary = field(default=lambda word: False)

    def missing_name(self, text: str, names: Iterable[str] = ()) -> str | None:
        """The first name in a text that stands nowhere in the evidence.

        Args:
            names: names in the text that are known to be some, such as those that a model lists; those that don't
                stand in the text are left out.
        """
        for token, at in _capitals(text):
            if not self._is_known(token, text, at):
                return token
        folded = fold(text)
        for name in names:
            if fold(name) in folded and not self.holds(name):
                return name
        return None

    def holds(self, name: str) -> bool:
        """Whether a name stands in the evidence: whatever its case and accents, in its other writing too."""
        folded = fold(name).strip()
        if not folded or folded in _SPOKEN_OF:
            return True
        if _CJK.search(folded):
            compact = "".join(folded.split())
            return self._has_run(compact) or self._has_other_writing(folded)
        pieces = [piece for piece in _PIECE.findall(folded) if piece not in ("the", "of", "and", "s")]
        return all(self._has_piece(piece) for piece in pieces) or self._has_other_writing(folded)

    def missing_number(self, text: str, seat: int, spared: Iterable[tuple[int, int]] = ()) -> str | None:
        """The first number of a text that the evidence does not have, in digits or words.

        It must stand in the text at `seat`, or in another one that speaks of the same.

        Args:
            spared: stretches that are not looked at, such as dates that were checked as dates.
        """
        spans, content = list(spared), content_words(text) - self._of_speakers
        near: list[int] | None = None
        for number in find_numbers(text):
            if not number.is_plain or any(start < number.end and number.start < end for start, end in spans):
                continue
            written = text[number.start : number.end]
            word = text[number.start : number.end + 1]
            if len(written) == 1 and _HAN_RUN.fullmatch(word) and len(word) == 2 and self._has_run(word):
                continue  # a word with a numeral in it, such as 五金
            if _is_part_of_name(text, number.start, number.end) and self._has_piece(fold(written)):
                continue
            if near is None:
                near = self._near(content, seat)
            if not self._is_counted(number, quantity_of(text, number), near):
                return written
        return exchanged_span(text, self._near_lines(content, seat), spans)

    def _near_lines(self, content: frozenset[str], seat: int) -> Iterator[str]:
        for at in self._near(content, seat):
            yield self.words[at]

    def _near(self, content: frozenset[str], seat: int) -> list[int]:
        """The texts that speak of the same as some words, and the one at `seat`."""
        return [at for at, words in enumerate(self._line_words) if at == seat or not content.isdisjoint(words)]

    def _is_counted(self, number: Number, quantity: Quantity, near: Sequence[int]) -> bool:
        """Whether one of some texts has a number, of the same unit where both name one, or what it comes to."""
        lines = [(self.words[at], self._quantities[at]) for at in near]
        values = readings(number)
        if any(quantity.fits(one, line) for line, told in lines for value in values for one in told.get(value, ())):
            return True
        amounts = quantity.amounts
        return bool(amounts) and any(
            not amounts.isdisjoint(one.amounts) for _, told in lines for held in told.values() for one in held
        )

    def shares_words(self, text: str) -> bool:
        """Whether a text says something that was read: a word of content besides the one it is about.

        A paraphrase in wholly other words is not told from an invention.
        """
        content = content_words(text) - self._of_speakers - content_words(_subject(text))
        shared = content & self._content
        if not content or not shared:
            return not content
        plain = content - {stem(fold(token)) for token, _ in _capitals(text)}
        return not plain or not plain.isdisjoint(shared) or len(plain) <= len(shared)

    def foreign_words(self, text: str) -> str | None:
        """The first stretch of Chinese that the evidence does not have; None when it has all but words that tell.

        Chinese has no capitals to know a name by. But a faithful statement is made of the words of its text, and what
        it adds are particles and words such as 建议 or 因为.
        """
        for match in _HAN_RUN.finditer(fold(text)):
            for stretch in self._novel(match[0]):
                for words in _HAN_FILLING.split(_NARRATING.sub("的", stretch)):
                    if words and not self._has_signs(words):
                        return words
        return None

    def _novel(self, run: str) -> Iterable[str]:
        """The stretches of a run of which no two neighbouring signs stand together in the evidence."""
        known = [self._has_run(run[at : at + 2]) for at in range(len(run) - 1)]
        held = [any(known[max(0, at - 1) : at + 1]) for at in range(len(run))]
        return ("".join(signs) for is_held, signs in _grouped(run, held) if not is_held)

    def _has_signs(self, words: str) -> bool:
        """Whether all signs of some words stand in one text: 结婚 is in 结的婚."""
        return any(set(words) <= signs for signs in self._signs)

    def _is_known(self, token: str, text: str, at: int) -> bool:
        """Whether a token that is written like a name, at a place of a text, is a told one or none at all."""
        folded = fold(token)
        if folded in _SPOKEN_OF or folded in _CALENDAR:
            return True
        begins = token[1:].islower() and _begins_sentence(text, at)
        if begins and (folded in _OPENERS or self.ordinary(folded)):
            return True
        return self.holds(token) or (begins and stem(folded) in self._content)

    def _has_piece(self, piece: str) -> bool:
        if piece in self._pieces:
            return True
        if len(piece) > 3 and (piece.removesuffix("s") in self._pieces or f"{piece}s" in self._pieces):
            return True
        return self.wider is not None and self.wider._has_piece(piece)

    def _has_run(self, compact: str) -> bool:
        return compact in self._compact or (self.wider is not None and self.wider._has_run(compact))

    def _has_phrase(self, phrase: str) -> bool:
        return f" {phrase} " in self._spaced or (self.wider is not None and self.wider._has_phrase(phrase))

    def _has_other_writing(self, folded: str) -> bool:
        return any(
            self._has_run(other) if _CJK.search(other) else self._has_phrase(other)
            for other in _writings().get(folded, ())
        )

    @once
    def _folded(self) -> str:
        return fold("\n".join((*self.words, *self.speakers, *self.names)))

    @once
    def _compact(self) -> str:
        return "".join(self._folded.split())

    @once
    def _spaced(self) -> str:
        return f" {' '.join(_TOKEN.findall(self._folded))} "

    @once
    def _pieces(self) -> frozenset[str]:
        tokens = frozenset(_TOKEN.findall(self._folded))
        joined = [token for token in tokens if not token.isalnum()]
        return tokens.union(_PIECE.findall(" ".join(joined)), [token.replace(".", "") for token in joined])

    @once
    def _quantities(self) -> list[dict[str, frozenset[Quantity]]]:
        return [quantities(text) for text in self.words]

    @once
    def _line_words(self) -> list[frozenset[str]]:
        return [content_words(text) for text in self.words]

    @once
    def _signs(self) -> list[frozenset[str]]:
        return [frozenset(fold(text)) for text in (*self.words, *self.speakers)]

    @once
    def _of_speakers(self) -> frozenset[str]:
        return frozenset(word for speaker in self.speakers for word in content_words(speaker))

    @once
    def _content(self) -> frozenset[str]:
        return frozenset().union(*self._line_words)


@remembered(most=256, longest=400)
def content_words(text: str) -> frozenset[str]:
    """The stems of a text's words that carry meaning; of Chinese and the like, pairs of characters."""
    folded = fold(text)
    words = {
        stem(token)
        for token in _TOKEN.findall(folded)
        if token not in _NO_CONTENT and not token.isdigit() and len(token) > 1
    }
    for run in _CJK_RUN.findall(folded) if not folded.isascii() else ():
        words |= {run[at : at + 2] for at in range(len(run) - 1) if not _HAN_STOP.issuperset(run[at : at + 2])}
    return frozenset(words)


def has_content(text: str) -> bool:
    """Whether a text has content words, which the first ones tell of most texts."""
    tokens = (match[0] for match in _TOKEN.finditer(fold(text)))
    plain = any(token not in _NO_CONTENT and not token.isdigit() and len(token) > 1 for token in tokens)
    return plain or bool(content_words(text))


def _subject(text: str) -> str:
    """The name or names that a text begins with."""
    match = _SUBJECT.match(text)
    return match[0] if match else ""


def _grouped(run: str, held: Sequence[bool]) -> Iterable[tuple[bool, list[str]]]:
    for is_held, pairs in groupby(zip(held, run, strict=True), key=lambda pair: pair[0]):
        yield is_held, [sign for _, sign in pairs]


_SUBJECT = re.compile(rf"(?:[A-Z\u00c0-\u00de]{_LETTER}*[.'’-]*\s*)+")


@remembered(most=64, longest=400)
def _capitals(text: str) -> tuple[tuple[str, int], ...]:
    """The tokens that are written like names or codes, and where each begins."""
    return tuple(_find_capitals(text))


def _find_capitals(text: str) -> Iterator[tuple[str, int]]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.isalpha() and token.islower():
            continue
        is_code = any(sign.isdigit() for sign in token) and any(sign.isalpha() and sign.isascii() for sign in token)
        if any(sign.isupper() for sign in token) or (is_code and not _is_quantity(token)):
            yield token, match.start()


def _begins_sentence(text: str, at: int) -> bool:
    """Whether what stands at a place of a text begins a sentence, a line or a quotation."""
    start = at
    while start and (text[start - 1].isspace() or text[start - 1] in _OPENING):
        start -= 1
    return _BEGINS.search(text, max(0, start - 1), at) is not None


_QUANTITY = re.compile(
    r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s|[ap]m|x|k|m|km|kg|cm|mm|mg|g|ml|l|h|min|gb|mb|tb|w|%)?(?:-\w+)*",
    re.I,
)


def _is_quantity(token: str) -> bool:
    return _QUANTITY.fullmatch(token) is not None or bool(_CJK.search(token))


_NAME_SIGN = re.compile("[A-Za-z_-]")


def _is_part_of_name(text: str, start: int, end: int) -> bool:
    """Whether a number stands in a code such as GPT-4 or v2.0."""
    return any(_NAME_SIGN.match(sign) for sign in (text[start - 1 : start], text[end : end + 1]))


@lru_cache(maxsize=1)
def _writings() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for one, other in (*ABBREVIATIONS.items(), *HAN_PLACES.items()):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {name: tuple(sorted(others)) for name, others in found.items()}
