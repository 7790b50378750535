"""What the numbers of a text count: euros or dollars, kilograms or pounds, below zero or not. Pure functions.

A unit counts where it stands right at its number. A number without one fits all, and so do units that are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from hindsight_server.domain.numerals import Number, find_numbers, readings

# A dimension, and its units: how many of the first one a unit has, and its words. Of two dimensions: "pounds".
_TABLE = """
second 1 second seconds sec secs 秒 秒钟
second 60 minute minutes min mins 分钟
second 3600 hour hours hr hrs h 小时 个小时 钟头 个钟头
second 86400 day days 天
second 604800 week weeks 周 星期 个星期 礼拜 个礼拜
second 1209600 fortnight fortnights
month 1 month months 个月
month 12 year years yr yrs 年
month 120 decade decades
month 1200 century centuries 世纪 个世纪
gram 0.001 mg milligram milligrams 毫克
gram 1 g gram grams gramme grammes 克
gram 1000 kg kgs kilo kilos kilogram kilograms 公斤 千克
gram 500 斤
gram 1000000 tonne tonnes 吨
gram 453.59237 lb lbs pound pounds 磅
gram 28.349523125 oz ounce ounces 盎司
metre 0.001 mm millimetre millimetres millimeter millimeters 毫米
metre 0.01 cm centimetre centimetres centimeter centimeters 厘米 公分
metre 1 metre metres meter meters 米
metre 1000 km kms kilometre kilometres kilometer kilometers 公里 千米
metre 1609.344 mile miles 英里
metre 0.9144 yard yards
metre 0.3048 ft foot feet 英尺
metre 0.0254 inch inches 英寸
litre 0.001 ml millilitre millilitres milliliter milliliters 毫升
litre 1 l litre litres liter liters 升
litre 3.785411784 gallon gallons 加仑
dollar 1 $ us$ dollar dollars buck bucks usd 美元 美金
euro 1 € euro euros eur 欧元
sterling 1 £ pound pounds quid gbp 英镑
yen 1 ¥ yen jpy 日元
yuan 1 ¥ yuan rmb cny 元 块 块钱 人民币 元人民币
rupee 1 ₹ rupee rupees inr 卢比
franc 1 franc francs chf 法郎
hundredth 1 % percent
celsius 1 °c ℃ celsius 摄氏度
fahrenheit 1 °f ℉ fahrenheit 华氏度
celsius 1 ° degree degrees 度
fahrenheit 1 ° degree degrees 度
angle 1 ° degree degrees 度
speed 1 km/h kmh kph
speed 1.609344 mph
"""
_SIGNS = "$€£¥₹%°℃℉"
_BEFORE = re.compile(r"(?:(us\$|[$€£¥₹])|\b(usd|eur|gbp|jpy|cny|rmb|inr|chf))[ ]?\Z", re.I)
_SCALE = re.compile(r"[ ]?(celsius|fahrenheit|[cf]\b)", re.I)
_MINUS = re.compile(
    r"(?:(?:\A|[\s(:：~]|[\u3400-\u9fff](?<![度一二三四五六七八九十]))[-−]|\bminus |\bnegative |零下|负)\Z", re.I
)
_BELOW = re.compile(r"[ ]?(?:degrees?|°)?[ ]?(?:celsius|fahrenheit|[cf]\b)?[ ]?(?:below\b|of frost\b)", re.I)
_COLD = re.compile(r"below|minus|negative|freez|frost|零下|负|[-−]\d", re.I)
_TEMPERATURES = frozenset([("celsius", Decimal(1)), ("fahrenheit", Decimal(1))])
_LATE = re.compile(
    r"\b(?:afternoons?|evenings?|nights?|tonight|dinner|supper|lunch|late|midnight|p\.?m)\b|\dp\.?m\b|下午|晚|夜|中午|傍晚",
    re.I,
)
_EARLY_HOURS = range(1, 7)  # of a clock: "at 3:30" is mostly meant of the afternoon
# A pattern that begins with the letter finds one quickest; what may not stand before it is looked for behind it.
_SINGLE = re.compile(
    r"[Aa](?<!\w[Aa])(?i:(?<!what a)n? (?:whole |full |good )?(hour|day|week|fortnight|month|year|decade|century)\b)"
)
_ALSO = {
    "year": ("annual", "annum"),
    "week": ("fortnight",),
    "fortnight": ("week",),
    "day": ("daily",),
    "century": ("centuries",),
}

Amount = tuple[str, Decimal]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts.

    Args:
        units: each unit that is meant, or may be, as its dimension and size; none when none is told.
        is_below: whether it is told to be below zero.
        is_half_open: whether it is a time of the day of which nothing tells the half.
    """

    value: str
    units: frozenset[Amount] = frozenset()
    is_below: bool = False
    is_half_open: bool = False

    @property
    def amounts(self) -> frozenset[Amount]:
        """What it comes to in the first unit of each dimension; a temperature is not converted."""
        if not self.units or not self.units.isdisjoint(_TEMPERATURES):
            return frozenset()
        return frozenset((dimension, (Decimal(self.value) * size).normalize()) for dimension, size in self.units)

    def fits(self, told: Quantity, line: str) -> bool:
        """Whether a number of a statement may be the same number of a line: of the same kind, and as cold."""
        if self.units and told.units and self.units.isdisjoint(told.units):
            return False
        if told.is_half_open and _is_late(self) and int(told.value[:2]) not in _EARLY_HOURS:
            return _LATE.search(line) is not None
        if self.is_below is told.is_below or (self.units | told.units).isdisjoint(_TEMPERATURES):
            return True
        return self.is_below and _COLD.search(line) is not None


def quantity_of(text: str, number: Number) -> Quantity:
    """A number of a text, with the unit and the sign that stand at it.

    Example:
        >>> number, = find_numbers("about $40")
        >>> quantity_of("about $40", number).units
        frozenset({('dollar', Decimal('1'))})
    """
    if ":" in number.value:
        hour = int(number.value.partition(":")[0])
        return Quantity(number.value, is_half_open=not number.is_half_told and 0 < hour <= 12)
    lead = text[max(0, number.start - 10) : number.start]
    sign = _BEFORE.search(lead)
    words = sign[1] or sign[2] if sign is not None else _word_after(text, number.end)
    return Quantity(
        number.value,
        _units().get(words.casefold(), frozenset()),
        _MINUS.search(lead) is not None or _BELOW.match(text, number.end) is not None,
    )


def quantities(text: str) -> dict[str, frozenset[Quantity]]:
    """The numbers of a text, by all values that they may be meant as."""
    found: dict[str, set[Quantity]] = {}
    for number in find_numbers(text):
        quantity = quantity_of(text, number)
        for value in readings(number):
            found.setdefault(value, set()).add(quantity)
    return {value: frozenset(held) for value, held in found.items()}


def exchanged_span(text: str, lines: Iterable[str], spared: Sequence[tuple[int, int]] = ()) -> str | None:
    """A span such as "a year" in a text, where the lines tell of another one and never speak of years.

    Example:
        >>> exchanged_span("It took a year.", ["It took me a month."])
        'a year'
    """
    spans = [
        match
        for match in _SINGLE.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in spared)
    ]
    if not spans:
        return None
    folded, told = text.casefold(), "\n".join(lines).casefold()
    if all(one[1] in folded for one in _SINGLE.finditer(told)):
        return None
    for match in spans:
        unit = match[1].casefold()
        if not any(word in told for word in (unit, *_ALSO.get(unit, ()))):
            return match[0]
    return None


def _is_late(quantity: Quantity) -> bool:
    hour, colon, _ = quantity.value.partition(":")
    return bool(colon) and not quantity.is_half_open and (int(hour) > 12 or int(hour) == 0)


def _word_after(text: str, end: int) -> str:
    """The unit behind a number, as it is written; empty when none is known there."""
    match = _after().match(text, end)
    if match is None:
        return ""
    word = match["word"] or match["sign"]
    if word.casefold() in ("degree", "degrees", "°"):
        scale = _SCALE.match(text, match.end())
        return f"°{scale[1][0]}" if scale is not None else word
    return word


@lru_cache(maxsize=1)
def _units() -> dict[str, frozenset[Amount]]:
    found: dict[str, set[Amount]] = {}
    for row in _TABLE.strip().splitlines():
        dimension, size, *words = row.split()
        for word in words:
            found.setdefault(word, set()).add((dimension, Decimal(size)))
    return {word: frozenset(units) for word, units in found.items()}


@lru_cache(maxsize=1)
def _after() -> re.Pattern[str]:
    words = sorted(_units(), key=len, reverse=True)
    spelt = "|".join(re.escape(word) for word in words if word.isascii() and word.replace("/", "").isalpha())
    others = "|".join(re.escape(word) for word in words if not word.isascii() or word in _SIGNS)
    return re.compile(rf"[ -]?(?:us )?(?P<word>{spelt})(?!\w)|[ 多几来余]?(?P<sign>{others})", re.I)
