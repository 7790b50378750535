"""The same as `grounding_often` for Chinese: 经常 and 每天, 很少, and a 从不 that is lost. Pure functions."""

from __future__ import annotations

import re

_OFTEN = re.compile(
    "经常|常常|时常|总是|老是|天天|频繁|时不时|(?<![非平正日通])常(?=[去来吃喝看玩做用抽打跑骑游])|每(?:一?个?)(?:天|日|晚|早|周|星期)(?:早上|晚上)?"
)
_SOMETIMES = re.compile("有时候?|偶尔|每个?[月年]")
_SELDOM = re.compile("(?<!不是)很少|极少|甚少|难得|不经常|不常|不怎么|几乎不|几乎没")
_NEVER = re.compile("从来?[不没未]|不|未曾")
_BOUND = re.compile("[今昨明当那前后]天|[今昨明]晚|[这那]次|[上下这]个?[周月]|今年|去年|以前|之前|到现在|至今")


def without_frequency(text: str) -> str:
    """A text without what tells how often something happens.

    Example:
        >>> without_frequency("陈涛每天都喝酒"), without_frequency("陈涛很少喝酒")
        ('陈涛都喝酒', '陈涛喝酒')
    """
    return _SOMETIMES.sub("", _OFTEN.sub("", _SELDOM.sub("", text)))


def is_general(clause: str) -> bool:
    """Whether a clause that denies something denies it of all times, and names no times itself."""
    if _NEVER.search(clause) is None or _BOUND.search(clause) is not None:
        return False
    return not any(one.search(clause) for one in (_OFTEN, _SOMETIMES, _SELDOM))


def is_against(fact: str, clause: str) -> bool:
    """Whether one of two texts says that something happens often, and the other that it seldom does."""
    seldom = (_SELDOM.search(fact) is not None, _SELDOM.search(clause) is not None)
    if seldom == (False, True):
        return _OFTEN.search(fact) is not None
    return seldom == (True, False) and _OFTEN.search(clause) is not None
