"""What has to come before an answer: which search is next, and whether an answer may be given yet."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect.searches import Found
from hindsight_server.engine.reflect.tools import (
    DONE,
    RECALL,
    SEARCH_OBSERVATIONS,
    SEARCHES,
)

_ORDERS_ONLY = {"reranker"}  # an arm that finds nothing by itself


class Order:
    """Keeps to the order of the searches of one reflect.

    The first calls are mental models, then observations, then recall, as far as they are offered. With budgets below
    ``high``, a fresh and usable mental model makes the rest a matter of choice. An answer that says "nothing found"
    still needs the last of them, which sees everything.

    Args:
        offered: names of all tools of this reflect.
    """

    def __init__(self, offered: Iterable[str], budget: Budget) -> None:
        names = frozenset(offered)
        self.searches = tuple(name for name in SEARCHES if name in names)
        self._budget = budget
        self._ran: set[str] = set()
        self._released = False
        self._wanted: str | None = None
        self.incomplete: set[str] = set()
        self.found = 0

    @property
    def widest(self) -> str:
        """The search that nothing is hidden from, of those that are offered."""
        return RECALL if RECALL in self.searches else SEARCH_OBSERVATIONS

    def note(self, name: str, found: Found) -> None:
        """Remember that a tool ran, and what it brought."""
        self._ran.add(name)
        self._wanted = None if name == self._wanted else self._wanted
        self.found += found.count
        failed = set(found.incomplete) - _ORDERS_ONLY
        # Only a whole search of what holds everything makes up for the failed parts of an earlier one.
        self.incomplete = failed if name == self.widest else self.incomplete | failed
        if found.releases and self._budget is not Budget.HIGH:
            self._released = True

    def next_search(self) -> str | None:
        """The search that has to come next; None when there is none."""
        if self._wanted:
            return self._wanted
        if self._released:
            return None
        return next((name for name in self.searches if name not in self._ran), None)

    def choice(self, *, last: bool) -> str:
        """What the model is made to do next: a tool's name, or ``required`` for any tool."""
        return DONE if last else self.next_search() or "required"

    def objection(self, *, negative: bool) -> str | None:
        """Why an answer may not be given yet, for the model; None when it may.

        Args:
            negative: whether it says that nothing was found, or cites nothing that was.
        """
        missing = self.next_search()
        if missing is not None:
            return f"Not yet: call {missing} first, and answer from what it finds."
        if negative and self.widest not in self._ran:
            self._wanted = self.widest
            return f"Not yet: {self.widest} has not been asked. Call it before you say that nothing was found."
        return None

    @property
    def searched_everything(self) -> bool:
        """Whether the search ran that a negative answer needs."""
        return self.widest in self._ran
