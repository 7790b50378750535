"""Found tasks as the block of a prompt that a model may use and may leave."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..rendering import defused
from .model import TaskMemoryItem
from .wording import cut_words, is_chinese, word_count

__all__ = [
    "HIGH_RELEVANCE",
    "ITEM_LENGTH",
    "MEDIUM_RELEVANCE",
    "SNAPSHOT_CLOSE",
    "SNAPSHOT_OPEN",
    "render_snapshot",
    "shown_texts",
]

SNAPSHOT_OPEN, SNAPSHOT_CLOSE = "<MEMORY_SNAPSHOT>", "</MEMORY_SNAPSHOT>"
#: ``relevance_score`` from which an item is called highly, or moderately, relevant; below it is of low relevance.
HIGH_RELEVANCE, MEDIUM_RELEVANCE = 0.75, 0.45
#: The longest an item may be: a CJK character counts one, a Latin word counts one.
ITEM_LENGTH = 200

_LABELS = {True: ("高相关", "中相关", "低相关"), False: ("high relevance", "medium relevance", "low relevance")}
_FACTS = {True: "关键事实：", False: "Key facts: "}
_LABEL = re.compile(rf"^(?:\[[^\]]*\] |{_FACTS[True]}|{_FACTS[False]})")
_OPEN_TASK = {True: "（进行中）", False: " (still open)"}


def render_snapshot(items: Iterable[TaskMemoryItem], *, show_dates: bool = False) -> str:
    """The snapshot block; an empty string when there is nothing to show.

    An item is two lines: its label by relevance with the anchor, and the key facts. No item is longer than
    :data:`ITEM_LENGTH`. Line breaks and marks inside memories are made harmless, so that no memory can end the block or
    pass for another item.

    Example::

        <MEMORY_SNAPSHOT>
        [high relevance] Deploy Flask: failed, port 8000 is taken by nginx
        Key facts: Ubuntu 22.04, Python 3.11; use 8001 instead
        </MEMORY_SNAPSHOT>

    Args:
        items: the best first.
        show_dates: put the day of the newest memory behind the label.
    """
    blocks = [_item(item, show_dates) for item in items]
    return "\n".join((SNAPSHOT_OPEN, *blocks, SNAPSHOT_CLOSE)) if blocks else ""


def shown_texts(snapshot: str) -> list[str]:
    """The anchors and key facts in a snapshot block, without labels: what a model may repeat of it."""
    lines = snapshot.splitlines()[1:-1]
    return [_LABEL.sub("", line) for line in lines]


def _item(item: TaskMemoryItem, show_dates: bool) -> str:
    anchor, facts = _line(item.anchor), _line(item.context_summary)
    chinese = is_chinese(anchor + facts)
    label = _LABELS[chinese][(item.relevance_score < HIGH_RELEVANCE) + (item.relevance_score < MEDIUM_RELEVANCE)]
    day = f" {item.last_at[:10]}" if show_dates and item.last_at else ""
    first = f"[{label}{day}] {anchor}" + ("" if item.closed or item.task_id is None else _OPEN_TASK[chinese])
    if not facts or facts.rstrip("。.") == anchor.rstrip("。."):
        return cut_words(first, ITEM_LENGTH)
    room = ITEM_LENGTH - word_count(first) - word_count(_FACTS[chinese])
    return f"{first}\n{_FACTS[chinese]}{cut_words(facts, room)}"


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", defused(text)).strip()
