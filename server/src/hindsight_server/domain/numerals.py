"""Numbers as texts write them: digits, English and Chinese words, clock times. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_ONES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: value for value, word in enumerate(_ONES.split())} | {
    word: 20 + 10 * at for at, word in enumerate(_TENS.split())
}
_ORDINALS = {
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "eleventh": 11, "twelfth": 12, "thirteenth": 13, "twentieth": 20, "thirtieth": 30, "fiftieth": 50, "hundredth": 100,
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}

NUMBER_WORDS = frozenset([*_WORDS, *_ORDINALS, *_SCALES, "dozen"])
"""English words that are numbers."""

_LETTERS = re.compile("[a-z]+")
_FIRST = "".join(sorted({word[0] for word in NUMBER_WORDS}))
_WORD = "|".join((*_WORDS, *_ORDINALS))
_ROUND = "|".join(_SCALES)
_SCALE = f"{_ROUND}|dozen"
# No number is longer than these bounds; what is counted without end would take minutes and overflow.
_SPELT = re.compile(rf"\b(?=[{_FIRST}])(?:{_WORD}|{_SCALE})(?:(?:[ -]|[ ]and[ ])(?:{_WORD}|{_SCALE})){{0,40}}\b", re.I)
# A pattern that begins with a digit finds one quickest; what may not stand before it is looked for behind it.
_DIGITS = re.compile(
    r"(\d(?<![\d.]\d)(?:\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d*(?:\.\d+)?))"
    rf"(?:(?P<short>[kKmM](?![\w])|[wW](?=[^\w]|$))|[ ]?(?P<scale>(?:{'|'.join(_SCALES)})\b|[百千万亿]{{1,8}}))?",
    re.I,
)
_CLOCK = re.compile(
    r"(?P<hour>\d(?<![\d:.]\d)(?:(?<=[01])\d|(?<=2)[0-3])?)"
    r"(?:[:：](?P<minute>[0-5]\d)(?::[0-5]\d)?(?:[ ]?(?P<half>[ap])\.?m\b\.?)?"
    r"|[ ]?(?P<only>[ap])\.?m\b\.?)",
    re.I,
)
_HAN_DIGITS = {
    "零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
}  # fmt: skip
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_HAN = re.compile(r"[零〇一二两兩三四五六七八九十百千万萬亿億]{1,40}")
_MEASURE = re.compile(
    r"[ ]?[多几来余]?(?:个|人|口|年|天|日|岁|次|块|元|毛|角|公里|里|小时|分钟|分|秒|名|位|本|册|件|只|头|台|斤|吨|杯|"
    r"张|家|套|间|层|点|号|周|星期|遍|条|份|辆|部|场|门|篇|页|米|厘米|克|公斤|种|倍|届|路|班|楼|期|季|集|首|颗|棵|朵|瓶|箱|盒|把|双|顿|"
    r"趟|座|款|轮|折|成|度|盘|笔|根|段|项|组|队|支|艘|架|亩|平|晚|世纪|万|亿)"
)
_IN_WEEK = re.compile(r"(?:周|星期|礼拜)\Z")
_POINT = re.compile(r"点([零〇一二三四五六七八九]+)(?![分钟零〇一二三四五六七八九])")
_SHORT = {"k": 1000, "m": 10**6, "w": 10**4}


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text: where it stands and what it is worth.

    `is_plain` is False for words that need not be a number at all ("one", 一 in 一些): such a number is evidence, but
    nothing that has to be proved. Of two or more Chinese numerals, 四百六 is 460, as it is said. `is_half_told` is True
    for a time of the day with am or pm.
    """

    start: int
    end: int
    value: str
    is_plain: bool = True
    is_half_told: bool = False


def find_numbers(text: str) -> list[Number]:
    """The numbers of a text. A clock time has the value ``HH:MM``.

    Example:
        >>> [number.value for number in find_numbers("twenty-five kids, 1,200 pages, 三百二十元, 3 pm")]
        ['25', '1200', '320', '15:00']
    """
    clocks = list(_clocks(text))
    others = list(_digits(text))
    if _may_be_spelt(text):
        others += _spelt(text)
    if not text.isascii():
        others += _han(text)
    if not clocks and not others:
        return []
    found: list[Number] = []
    taken = bytearray(len(text))  # by character: a text may hold a hundred thousand numbers
    for number in clocks:
        taken[number.start : number.end] = b"\1" * (number.end - number.start)
    for number in others:
        if not taken[number.start]:
            found.append(number)
            taken[number.start : number.end] = b"\1" * (number.end - number.start)
    return sorted((*clocks, *found), key=lambda number: number.start)


def readings(number: Number) -> frozenset[str]:
    """All values that a number may be meant as: ``3:30`` without am or pm is also ``15:30``, which is not ``3:30``."""
    hour, colon, minute = number.value.partition(":")
    if not colon or number.is_half_told or not 0 < int(hour) <= 12:
        return frozenset([number.value])
    other = (int(hour) + 12) % 24
    return frozenset([number.value, f"{other:02d}:{minute}"])


def _may_be_spelt(text: str) -> bool:
    """Whether a number in words may stand in a text; one in plain letters is looked through for that more quickly."""
    return not text.isascii() or not NUMBER_WORDS.isdisjoint(_LETTERS.findall(text.lower()))


def _clocks(text: str) -> Iterator[Number]:
    for match in _CLOCK.finditer(text):
        hour, half = int(match["hour"]), (match["half"] or match["only"] or "").lower()
        if half and hour > 12:
            continue
        if half == "p" and hour < 12:
            hour += 12
        elif half == "a" and hour == 12:
            hour = 0
        yield Number(*match.span(), f"{hour:02d}:{match['minute'] or '00'}", is_half_told=bool(half))


def _digits(text: str) -> Iterator[Number]:
    for match in _DIGITS.finditer(text):
        value = Decimal(match[1].replace(",", ""))
        if match["short"]:
            value *= _SHORT[match["short"].lower()]
        for part in (match["scale"] or "").lower().split() or ():
            value *= _scale(part)
        yield Number(*match.span(), _written(value))


def _scale(word: str) -> int:
    if word in _SCALES:
        return _SCALES[word]
    scale = 1
    for sign in word:
        scale *= (_HAN_UNITS | _HAN_SCALES).get(sign, 1)
    return scale


def _spelt(text: str) -> Iterator[Number]:
    for match in _SPELT.finditer(text):
        words = [word for word in re.split(r"[ -]+", match[0].lower()) if word != "and"]
        total = current = 0
        for word in words:
            if word == "dozen":
                current = max(current, 1) * 12
            elif word == "hundred":
                current = max(current, 1) * 100
            elif word in _SCALES:
                total, current = total + max(current, 1) * _SCALES[word], 0
            else:
                current += _WORDS.get(word, _ORDINALS.get(word, 0))
        yield Number(*match.span(), str(total + current), is_plain=words not in (["one"], ["zero"]))


def _han(text: str) -> Iterator[Number]:
    end = 0
    for match in _HAN.finditer(text):
        value = _han_value(match[0])
        if value is None or match.start() < end:
            continue
        measured = _MEASURE.match(text, match.end()) is not None
        if not measured and (_IN_WEEK.search(text, 0, match.start()) or text[match.end() : match.end() + 1] == "月"):
            continue  # a day of the week or a month is no number of anything
        end, written = match.end(), str(value)
        if point := _POINT.match(text, end):
            end, written = point.end(), f"{value}.{''.join(str(_HAN_DIGITS[sign]) for sign in point[1])}"
        plain = len(match[0]) > 1 or (value not in (0, 1) and match[0] not in "百千万亿")
        yield Number(match.start(), end, written, is_plain=plain)


def _han_value(text: str) -> int | None:
    if all(sign in _HAN_DIGITS for sign in text):
        return int("".join(str(_HAN_DIGITS[sign]) for sign in text))
    total = section = current = 0
    for sign in text:
        if sign in _HAN_DIGITS:
            current = _HAN_DIGITS[sign]
        elif sign in _HAN_UNITS:
            section, current = section + (current or 1) * _HAN_UNITS[sign], 0
        else:
            whole = section + current
            if not whole and not total:
                return None
            total, section, current = (total + whole) * _HAN_SCALES[sign], 0, 0
    return total + section + current * _last_scale(text)


def _last_scale(text: str) -> int:
    """What the last numeral counts where its unit is left unsaid: 三万五 is 35,000."""
    unit = (_HAN_UNITS | _HAN_SCALES).get(text[-2:-1], 1)
    return unit // 10 if unit >= 100 and text[-1] in _HAN_DIGITS else 1


def _written(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
