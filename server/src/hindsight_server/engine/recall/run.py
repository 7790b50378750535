"""One recall while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from hindsight_server.engine.recall.bank_settings import BankSettings
from hindsight_server.engine.recall.cache import Warm
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.ranking import Limits
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.types import Budget, RecallQuery

_SPARE = 1.3  # more candidates than the token budget holds on average, since their lengths differ
_MOST_CANDIDATES = 2000


@dataclass(slots=True, kw_only=True)
class Run:
    """The query, read and completed by the bank's settings; what it may see; and how long each stage took.

    Args:
        warm: what the cache keeps of the bank.
        started: reading of `time.monotonic` when the recall began.
        ready: the same for when the bank was in memory; the deadline counts from then, since the first recall of a big
            bank would otherwise find nothing.
        repeated: whether this is the second try, after the bank changed under the first.
    """

    bank_id: str
    query: RecallQuery
    settings: BankSettings
    question: Question
    warm: Warm
    scope: Scope
    started: float
    ready: float
    repeated: bool = False
    stages: dict[str, float] = field(default_factory=dict)
    _lapped: float = 0.0

    @property
    def until(self) -> float:
        """Reading of `time.monotonic` at which the deadline ends."""
        return self.ready + self.query.deadline_seconds

    @property
    def uncompared(self) -> str | None:
        """Why no candidates are to be compared word by word; None when they are."""
        if self.query.budget is Budget.LOW:
            return "budget 'low' runs none; use 'mid'"
        return None if self.settings.compares else "the bank's settings turn it off (enable_reranking)"

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    def limits_to_fill(self) -> Limits:
        """The budget's limits, with as many candidates as the token budget is likely to hold."""
        view = self.scope.view
        mean = max(float(view.tokens.mean()), 1.0) if len(view) else 1.0
        wanted = min(int(_SPARE * self.query.max_tokens / mean), _MOST_CANDIDATES)
        return replace(self.limits, context=max(self.limits.context, wanted))

    def lap(self, stage: str) -> None:
        """Note that a stage has ended now."""
        seconds = time.monotonic() - self.started
        self.stages[stage] = seconds - self._lapped
        self._lapped = seconds
