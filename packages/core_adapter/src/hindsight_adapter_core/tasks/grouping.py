"""Memories that a search found, put together by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ..outcomes import RecalledMemory
from .model import CONFIDENCE_RULES, TaskMemoryItem
from .summary import ANCHOR_WORDS, CONTEXT_WORDS, anchor_of
from .wording import cut_words, distinctive_terms

__all__ = ["as_items", "linkable", "merge"]

#: The share of a score that confidence decides: a memory of confidence 0.2 keeps 0.68 of it, one of 0.9 keeps 0.96.
_CONFIDENCE_SHARE = 0.4
#: A code or number this long tells its subject apart by itself.
_STRONG_LENGTH = 4


def as_items(
    memories: Sequence[RecalledMemory], *, via: Literal["search", "id", "link"] = "search"
) -> list[TaskMemoryItem]:
    """One item a task, the best first. A memory of no task is an item of its own."""
    groups: dict[str, list[tuple[float, RecalledMemory]]] = {}
    for place, memory in enumerate(memories):
        # Some servers give no score: then the place counts.
        score = memory.score if memory.score is not None else 1 / (1 + place)
        weighed = score * (1 - _CONFIDENCE_SHARE * (1 - _confidence(memory)))
        key = memory.metadata.get("task_id") or f"\x00{place}"
        groups.setdefault(key, []).append((weighed, memory))
    items = [_item(group, via) for group in groups.values()]
    return sorted(items, key=lambda item: -item.relevance_score)


def merge(first: Iterable[TaskMemoryItem], then: Iterable[TaskMemoryItem]) -> list[TaskMemoryItem]:
    """Both lists, in order; a task that is in both counts where it stands first."""
    merged: dict[str, TaskMemoryItem] = {}
    for item in (*first, *then):
        merged.setdefault(item.task_id or f"\x00{id(item)}", item)
    return list(merged.values())


def linkable(terms: frozenset[str], item: TaskMemoryItem) -> bool:
    """Whether an item is about the same thing as these distinctive terms: they share a code or number, or two
    Latin words, of four signs or more, or three pairs of CJK characters."""
    own = distinctive_terms("\n".join((item.anchor, item.context_summary, *(one.text for one in item.memories))))
    shared = terms & own
    codes = [term for term in shared if len(term) >= _STRONG_LENGTH and any(sign.isdigit() for sign in term)]
    latin = [term for term in shared if term.isascii() and len(term) >= _STRONG_LENGTH]
    pairs = [term for term in shared if not term.isascii()]
    return bool(codes) or len(latin) >= 2 or len(pairs) >= 3


def _item(group: list[tuple[float, RecalledMemory]], via: Literal["search", "id", "link"]) -> TaskMemoryItem:
    group = sorted(group, key=lambda pair: -pair[0])
    memories = tuple(memory for _, memory in group)
    summaries = [one for one in memories if one.metadata.get("anchor_summary")]
    newest = max(summaries, key=lambda one: one.metadata.get("timestamp", ""), default=None)
    last_at = max((one.metadata.get("timestamp") or one.mentioned_at or "" for one in memories), default="")
    best = memories[0]
    if newest is not None:
        anchor, context = newest.metadata["anchor_summary"], newest.metadata.get("context_summary", "")
    elif best.metadata.get("task_id"):
        texts = [one.text for one in memories]
        anchor, context = anchor_of(best.context or "", texts), cut_words("; ".join(texts), CONTEXT_WORDS)
    else:
        anchor, context = cut_words(best.text, ANCHOR_WORDS), cut_words(best.text, CONTEXT_WORDS)
    classes = [one.metadata["data_classification"] for one in memories if "data_classification" in one.metadata]
    return TaskMemoryItem(
        task_id=best.metadata.get("task_id"),
        session_id=best.metadata.get("session_id"),
        anchor=anchor,
        context_summary=context,
        # What the query named is not a matter of likeness.
        relevance_score=1.0 if via == "id" else round(min(1.0, max(0.0, group[0][0])), 4),
        confidence=max(_confidence(one) for one in memories),
        data_classification=min(classes, default=None),
        linked_to=tuple(filter(None, newest.metadata.get("linked_to", "").split(","))) if newest else (),
        closed=newest is not None,
        last_at=last_at or None,
        via=via,
        memories=memories,
    )


def _confidence(memory: RecalledMemory) -> float:
    try:
        return min(1.0, max(0.0, float(memory.metadata["confidence"])))
    except (KeyError, ValueError):
        return CONFIDENCE_RULES["other"]
