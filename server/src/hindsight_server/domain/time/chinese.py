"""Chinese time expressions."""

from __future__ import annotations

import re
from datetime import date, timedelta

from hindsight_server.domain.time import calendar as cal
from hindsight_server.domain.time.calendar import Anchor, Span
from hindsight_server.domain.time.mention import Grain
from hindsight_server.domain.time.rule import Resolver, Rule

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_NUMBER = r"(?:\d{1,3}|[一二三四五六七八九十两百]{1,4}|几|半)"
_DAYS = {"大前天": -3, "前天": -2, "前日": -2, "昨": -1, "今": 0, "明": 1, "后天": 2, "后日": 2, "大后天": 3}
_PARTS = {
    "凌晨": "dawn", "早": "morning", "早上": "morning", "早晨": "morning", "晨": "morning", "上午": "morning",
    "中午": "noon", "下午": "afternoon", "傍晚": "evening", "晚": "night", "晚上": "night", "夜": "night",
    "夜里": "night", "夜晚": "night",
}  # fmt: skip
_STEPS = {"上上": -2, "上": -1, "这": 0, "本": 0, "当前": 0, "下": 1, "下下": 2}
_YEARS = {"大前": -3, "前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_UNITS = {
    "秒": "second", "秒钟": "second", "分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day",
    "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_PORTIONS = {"初": "early", "上旬": "early", "中": "mid", "中旬": "mid", "底": "late", "末": "late", "下旬": "late"}
_HOLIDAYS = {"元旦": (1, 1), "情人节": (2, 14), "劳动节": (5, 1), "儿童节": (6, 1), "国庆": (10, 1), "圣诞": (12, 25)}

_PART = rf"(?:的?(?P<part>{'|'.join(sorted(_PARTS, key=len, reverse=True))}))?"
_STEP = r"(?P<step>上上|上|这|本|下下|下)"
_YEAR_NUMBER = r"(?P<year>\d{4}|[一二][〇零一二三四五六七八九]{3})"
_MONTH_NUMBER = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_DAY_NUMBER = r"(?P<day>3[01]|[12]\d|0?[1-9]|三?十[一二三四五六七八九]?|二十[一二三四五六七八九]?|[一二三四五六七八九])"
_OF_YEAR = (
    rf"(?:的?{_MONTH_NUMBER}月份?(?:{_DAY_NUMBER}[日号]|(?P<of_month>初|底|末|[上中下]旬))?"
    r"|的?(?P<half>[上下])半年|的?第?(?P<quarter>[一二三四1-4])季度"
    r"|年?的?(?P<of_year>初|中(?!国|秋|午|间)|底|末)|的?(?P<season>[春夏秋冬])[天季]?)?"
)


def _rule(pattern: str, resolve: Resolver, triggers: str) -> Rule:
    return Rule(re.compile(pattern), resolve, frozenset(triggers))


def number(text: str) -> int:
    """A number written with digits or as Chinese words up to 999.

    Example:
        >>> number("二十三"), number("12")
        (23, 12)
    """
    if text.isdecimal():
        return int(text)
    if len(text) > 1 and not set(text) & set("十百"):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = digit = 0
    for char in text:
        if char in "十百":
            total += (digit or 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            digit = _DIGITS[char]
    return total + digit


def _near_day(match: re.Match[str], anchor: Anchor) -> Span:
    at = anchor.day + timedelta(days=_DAYS[match["near"]])
    return cal.part_of_day(at, _PARTS[match["part"]]) if match["part"] else cal.day(at)


def _week(match: re.Match[str], anchor: Anchor) -> Span | None:
    step, weekday = match["step"], match["weekday"]
    if step is None:
        if weekday is None:
            return None
        if weekday == "末":
            return cal.weekend(anchor.day)
        span = cal.nearest_weekday(_weekday(weekday), anchor)
    else:
        of_week = anchor.day + timedelta(weeks=_STEPS[step])
        if weekday is None:
            return cal.week(of_week)
        if weekday == "末":
            return cal.weekend(of_week)
        span = cal.day(of_week + timedelta(days=_weekday(weekday) - of_week.weekday()))
    return cal.part_of_day(span.start.date(), _PARTS[match["part"]]) if match["part"] else span


def _weekday(char: str) -> int:
    return 6 if char in "日天" else number(char) - 1


def _month_step(match: re.Match[str], anchor: Anchor) -> Span:
    span = cal.month(anchor.day.year, anchor.day.month + _STEPS[match["step"]])
    if match["day"]:
        return cal.day(span.start.date().replace(day=number(match["day"])))
    return cal.portion(span, _PORTIONS[match["of_month"]]) if match["of_month"] else span


def _year_step(match: re.Match[str], anchor: Anchor) -> Span | None:
    return _of_year(match, anchor.day.year + _YEARS[match["step"]])


def _year_number(match: re.Match[str], _anchor: Anchor) -> Span | None:
    return _of_year(match, number(match["year"])).absolute()


def _of_year(match: re.Match[str], year: int) -> Span:
    if match["month"]:
        return _of_month(match, year)
    if match["half"]:
        return cal.months(year, 1 if match["half"] == "上" else 7, 6, Grain.SEASON)
    if match["quarter"]:
        return cal.quarter(year, number(match["quarter"]))
    if match["season"]:
        return cal.season(year, _SEASONS[match["season"]])
    span = cal.year(year)
    return cal.portion(span, _PORTIONS[match["of_year"]]) if match["of_year"] else span


def _of_month(match: re.Match[str], year: int) -> Span:
    at = number(match["month"])
    if match["day"]:
        return cal.day(date(year, at, number(match["day"])))
    span = cal.month(year, at)
    return cal.portion(span, _PORTIONS[match["of_month"]]) if match["of_month"] else span


def _month_alone(match: re.Match[str], anchor: Anchor) -> Span:
    day = number(match["day"]) if match["day"] else 1
    span = _of_month(match, cal.nearest_year(number(match["month"]), day, anchor))
    return Span(span.start, span.end, span.grain, True, False)


def _day_alone(match: re.Match[str], anchor: Anchor) -> Span:
    day = number(match["day"])
    today = anchor.day
    shift = (1 if day < today.day else 0) if anchor.looks_ahead else (-1 if day > today.day else 0)
    return cal.day(cal.month(today.year, today.month + shift).start.date().replace(day=day))


def _away(match: re.Match[str], anchor: Anchor) -> Span | None:
    """Three days ago, in two weeks; half a year ago."""
    sign = -1 if match["way"].endswith("前") else 1
    unit, count = _UNITS[match["unit"]], match["count"]
    if count == "半":
        half = {"year": ("month", 6), "hour": ("minute", 30), "month": ("day", 15)}.get(unit)
        return cal.shifted(half[0], half[1] * sign, anchor) if half else None
    if count == "几":
        near, far = cal.shifted(unit, 2 * sign, anchor), cal.shifted(unit, 5 * sign, anchor)
        return Span(min(near.start, far.start), max(near.end, far.end), Grain.RANGE)
    return cal.shifted(unit, sign * number(count), anchor)


def _stretch(match: re.Match[str], anchor: Anchor) -> Span | None:
    """The past three days, the coming two weeks."""
    unit, count = _UNITS[match["unit"]], {"几": "5"}.get(match["count"], match["count"])
    size = 1
    if count == "半":
        unit, size, count = {"year": ("month", 6, "1"), "month": ("day", 15, "1")}.get(unit, (unit, 0, "1"))
    amount = number(count) * size * (1 if match["way"] in ("未来", "接下来", "今后") else -1)
    now = anchor.moment.replace(tzinfo=None)
    if unit in ("second", "minute", "hour"):
        far = cal.shifted(unit, amount, anchor).start
    elif unit in ("day", "week"):
        far = cal.day(anchor.day + timedelta(days=amount * (7 if unit == "week" else 1))).start
    else:
        per = {"month": 1, "quarter": 3}.get(unit, 12)
        far = cal.day(cal.months_from(anchor.day, amount * per)).start
    return Span(min(far, now), max(far, now), Grain.RANGE)


def _holiday(match: re.Match[str], anchor: Anchor) -> Span:
    month, day = _HOLIDAYS[match["holiday"]]
    if match["step"]:
        return cal.day(date(anchor.day.year + _YEARS[match["step"]], month, day))
    if match["year"]:
        return cal.day(date(number(match["year"]), month, day)).absolute()
    return cal.day(date(cal.nearest_year(month, day, anchor), month, day))


_NOT_NUMBER = r"(?<![\d一二三四五六七八九十第.\-])"
RULES = (
    _rule(rf"(?P<near>大前天|大后天|前天|前日|后天|后日){_PART}", _near_day, "前后"),
    _rule(rf"(?P<near>[昨今明])(?:天|日|(?=[早晚夜晨])){_PART}", _near_day, "昨今明"),
    _rule(
        rf"(?:{_STEP}(?:个)?)?(?:周|星期|礼拜)(?:的?(?P<weekday>[一二三四五六日天末])(?!年|岁|[个百千]))?{_PART}",
        _week,
        "周期拜",
    ),
    _rule(rf"{_STEP}(?:个)?月(?:的?(?:{_DAY_NUMBER}[号日]|(?P<of_month>初|底|末|[上中下]旬)))?", _month_step, "月"),
    _rule(rf"(?P<step>大前|前|去|今|本|明|后)年{_OF_YEAR}", _year_step, "年"),
    _rule(rf"(?<!\d){_YEAR_NUMBER}年{_OF_YEAR}(?!\d+月)", _year_number, "年"),
    _rule(
        rf"{_NOT_NUMBER}{_MONTH_NUMBER}月(?:{_DAY_NUMBER}[日号]|(?P<of_month>初|底|末|[上中下]旬)|份)?",
        _month_alone,
        "月",
    ),
    _rule(rf"{_NOT_NUMBER}{_DAY_NUMBER}号(?![楼线院店门机厅桌床车选位文房码])", _day_alone, "号"),
    _rule(
        rf"(?<![\d第])(?P<count>{_NUMBER})(?:个)?(?P<unit>秒钟?|分钟|小时|钟头|天|日|周|星期|礼拜|(?<=个)月|季度|年)"
        r"(?P<way>以前|之前|前|以后|之后|后)(?!天|年|面|来|期)",
        _away,
        "前后",
    ),
    _rule(
        rf"(?P<way>过去|最近|近|未来|接下来|今后)的?这?(?P<count>{_NUMBER})个?"
        r"(?P<unit>小时|天|日|周|星期|礼拜|月|季度|年)",
        _stretch,
        "去近来后",
    ),
    _rule(
        rf"(?:(?P<step>前|去|今|明|后)年|{_YEAR_NUMBER}年)?的?(?P<holiday>{'|'.join(_HOLIDAYS)})节?",
        _holiday,
        "节旦庆诞",
    ),
)
"""All rules; a rule's triggers are single characters."""

LOOKS_AHEAD = re.compile(r"将|会在|要去|打算|计划|准备|即将|明天|后天|下周|下个?月|明年|记得|提醒")
"""The text speaks of what is to come."""

LOOKS_BACK = re.compile(r"[了过]|曾|已经|去年|上[周月个]")
"""The text speaks of what has been."""
