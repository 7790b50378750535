"""Finding tasks: by id first, else by what was said; grouped by task, followed along links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ..errors import SettingsError
from ..operations import MemoryOperations
from ..outcomes import RecalledMemory
from ..requests import Requests
from .grouping import as_items, linkable, merge
from .identity import user_tag
from .model import CLASSIFICATIONS, Classification, TaskMemoryItem, TaskRecall, TaskSummary
from .options import TaskOptions
from .wording import distinctive_terms

__all__ = ["CLOSED_TAG", "SearchScope", "TaskSearch", "is_follow_up", "named_ids", "names_a_time"]

#: On the summary of a closed task.
CLOSED_TAG = "memory:task-summary"
_MOST_LINKS = 5
_FOLLOWED = 2  # of the best tasks, how many are followed along their links

_NAMED = re.compile(r"\b(task|session)(?:[_ -]?id)?\s*[=:：#]\s*['\"“]?([\w][\w.\-/]*\w|\w)", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w-])((task|session)-[0-9a-f]{12})(?![\w-])")
_FOLLOW_UP = re.compile(
    r"\b(?:did|has|have|was|were|is|are)\b.{0,60}\b(?:ever|get|used|applied|adopted|tried|work(?:ed)?"
    r"|happen(?:ed)?|end up|go through|merged|shipped|put to use|taken up|carried out|implemented)\b"
    r"|\b(?:in the end|afterwards?|later on|since then|what (?:became|happened|came)"
    r"|how did .{0,60} (?:go|turn out|end))\b"
    r"|后来|之后怎|最后|最终|结果(?:怎|如何|呢)|用了没|用上|用了吗|采用|采纳|落实|生效了|有没有(?:用|改|执行|采)|还在用|怎么样了",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}/\d{1,2}|\b(?:today|yesterday|tonight|ago|last|previous|past"
    r"|this (?:morning|week|month|year)|since|january|february|march|april|june|july|august"
    r"|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:19|20)\d\d)\b"
    r"|今天|今早|昨天|昨晚|前天|大前天|上个?(?:周|星期|月|礼拜)|这个?(?:周|星期|月)|本(?:周|月)|去年|前年|今年"
    r"|[\d一二两三四五六七八九十]+个?(?:天|周|星期|月|年|小时)之?前|\d{1,2}月(?:\d{1,2}[日号])?|(?:周|星期|礼拜)[一二三四五六日天]|\d{4}年",
    re.IGNORECASE,
)


def named_ids(query: str) -> tuple[str, ...]:
    """Tags of the task and session ids that a query spells out (``task_id=...``, ``session: ...``, ``task-<12 hex>``).

    Example:
        >>> named_ids("what failed in task_id=deploy-flask-v2.3?")
        ('task:deploy-flask-v2.3',)
    """
    found = [f"{kind.lower()}:{one}" for kind, one in _NAMED.findall(query)]
    found += [f"{kind}:{one}" for one, kind in _BARE.findall(query)]
    return tuple(dict.fromkeys(found))


def is_follow_up(query: str) -> bool:
    """Whether a question asks what became of something ("did that fix get used?", "后来用了没")."""
    return bool(_FOLLOW_UP.search(query))


def names_a_time(query: str) -> bool:
    """Whether a query names a date or a relative time of its own."""
    return bool(_TIME.search(query))


@dataclass(frozen=True, kw_only=True)
class SearchScope:
    """How one search is narrowed; see :meth:`TaskMemory.recall`."""

    limit: int = 5
    classifications: Sequence[Classification] | None = None
    task_id: str | None = None
    session_id: str | None = None
    now: datetime
    window: timedelta | None = None


class TaskSearch:
    """Searches of one user's tasks. The coroutines run on the bridge's loop only."""

    def __init__(self, operations: MemoryOperations, user_id: str, options: TaskOptions) -> None:
        self._operations = operations
        self._requests = Requests(operations.package, operations.handle, operations.settings, operations.session_id)
        self._user_id = user_id
        self._options = options

    async def find(self, query: str, scope: SearchScope) -> TaskRecall:
        """The tasks that answer a query, the best first."""
        note: dict[str, str] = {}
        named = named_ids(query)
        fixed = [f"{kind}:{one}" for kind, one in (("task", scope.task_id), ("session", scope.session_id)) if one]
        first: list[TaskMemoryItem] = []
        if named or fixed:
            leaves = [_leaf([tag]) for tag in fixed] or [_leaf(named)]
            first = as_items(await self._recall(query, scope, leaves), via="id")
            note["ids"] = ", ".join(fixed or named)
        if fixed:
            items = first
        else:
            window = scope.window if scope.window and not names_a_time(query) else None
            if window:
                note["window"] = str(window)
            items = merge(first, as_items(await self._recall(query, scope, window=window)))
        if is_follow_up(query) and not fixed:
            items = await self._followed(query, items, scope)
        items = await self._with_summaries(query, items[: scope.limit], scope)
        return TaskRecall(query=query, items=tuple(items), settings_note=note)

    async def linked_to(self, task_id: str, summary: TaskSummary, at: datetime) -> tuple[str, ...]:
        """Earlier tasks that share what is distinctive of this one: a code or number, or several names."""
        words = f"{summary.anchor}\n{summary.context_summary}"
        terms = distinctive_terms(words)
        if not terms:
            return ()
        found = as_items(await self._recall(words[:600], SearchScope(now=at)))
        others = [item for item in found if item.task_id and item.task_id != task_id]
        return tuple(str(item.task_id) for item in others if linkable(terms, item))[:_MOST_LINKS]

    async def running_session(self, at: datetime, idle: timedelta, hint: str) -> str | None:
        """The session in which the user was active within ``idle`` before ``at``, by what the bank holds.

        Args:
            at: when the new event happened.
            idle: how far back to look.
            hint: its words; a search needs some.
        """
        memories = await self._recall(f"{hint[:200]} session task", SearchScope(now=at), window=idle)
        recent = [(_moment(one), one.metadata.get("session_id")) for one in memories]
        within = [(moment, name) for moment, name in recent if moment and name and timedelta(0) <= at - moment <= idle]
        return max(within)[1] if within else None

    async def _recall(
        self,
        query: str,
        scope: SearchScope,
        leaves: Iterable[dict[str, Any]] = (),
        *,
        window: timedelta | None = None,
    ) -> list[RecalledMemory]:
        base = self._requests.recall_call(query, None)
        groups = [*(base.tag_groups or ()), _leaf([user_tag(self._user_id)]), *leaves]
        if base.tags:
            groups.append({"tags": list(base.tags), "match": base.tags_match})
        if scope.classifications is not None:
            groups.append(_leaf([f"class:{one}" for one in scope.classifications]))
        start = (scope.now - window) if window else None
        call = replace(
            base,
            tags=(),
            tag_groups=groups,
            query_timestamp=scope.now.isoformat(),
            time_filter={"start": start.isoformat(), "on": "mentioned"} if start else None,
        )
        found = (await self._requests.recall(call)).memories
        # A server that does not know the filter answers as if there were none.
        return [one for one in found if start is None or (moment := _moment(one)) is None or moment >= start]

    async def _followed(self, query: str, items: list[TaskMemoryItem], scope: SearchScope) -> list[TaskMemoryItem]:
        """Behind each of the best tasks the newest that is linked with it; the other linked ones behind those."""
        best = [str(item.task_id) for item in items[:_FOLLOWED] if item.task_id]
        if not best:
            return items
        known = {item.task_id: item for item in await self._with_summaries(query, items[:_FOLLOWED], scope)}
        links = {task: [f"linked:{task}", *(f"task:{one}" for one in known[task].linked_to)] for task in best}
        tags = [tag for several in links.values() for tag in several]
        reached = as_items(await self._recall(query, scope, [_leaf(tags)]), via="link")
        followed: list[TaskMemoryItem] = []
        others: list[TaskMemoryItem] = []
        for item in items[:_FOLLOWED]:
            wanted = set(links.get(str(item.task_id), ()))
            near = [one for one in reached if wanted & ({f"task:{one.task_id}"} | _tags(one))]
            near.sort(key=lambda one: one.last_at or "", reverse=True)
            followed += [item, *near[:1]]
            others += near[1:]
        return merge((*followed, *others), items)

    async def _with_summaries(
        self, query: str, items: Sequence[TaskMemoryItem], scope: SearchScope
    ) -> list[TaskMemoryItem]:
        """The items, with the summaries of closed tasks that the search itself did not bring."""
        lacking = [f"task:{item.task_id}" for item in items if item.task_id and not item.closed]
        if not lacking:
            return list(items)
        summaries = as_items(await self._recall(query, scope, [_leaf(lacking), _leaf([CLOSED_TAG])]))
        by_task = {item.task_id: item for item in summaries}
        return [
            replace(
                item,
                anchor=found.anchor,
                context_summary=found.context_summary,
                linked_to=found.linked_to,
                closed=True,
            )
            if not item.closed and (found := by_task.get(item.task_id)) is not None
            else item
            for item in items
        ]


def check_classifications(given: Sequence[Classification] | None) -> Sequence[Classification] | None:
    """Refuse anything but a list of P1, P2, P3."""
    if given is not None and (isinstance(given, str) or not set(given) <= set(CLASSIFICATIONS) or not given):
        raise SettingsError(f"classifications must be a list out of P1, P2, P3, not {given!r}")
    return given


def _leaf(tags: Iterable[str]) -> dict[str, Any]:
    return {"tags": list(tags), "match": "any_strict"}


def _tags(item: TaskMemoryItem) -> set[str]:
    return {tag for memory in item.memories for tag in memory.tags}


def _moment(memory: RecalledMemory) -> datetime | None:
    stated = memory.metadata.get("timestamp") or memory.mentioned_at
    try:
        moment = datetime.fromisoformat(stated) if stated else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
