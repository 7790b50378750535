"""What a store keeps of observations: what they rest on, what they said before, and which facts wait to be looked at.

An observation is a fact of type ``observation`` without a document. It lives in one scope, a set of tags that are also
its own. Whatever takes a fact away, or changes what it says, takes the observations that rest on it away in the same
transaction, with all they ever said; what else they rested on then waits to be consolidated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hindsight_server.domain.model import Fact
from hindsight_server.domain.observation_scopes import Scope
from hindsight_server.ports.records import FactWrite, Operation, Page

CONSOLIDATION = "consolidation"  # the type of operations and jobs
MOST_VERSIONS = 50
"""Earlier versions of an observation that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A fact that an observation rests on. `quote` is a stretch of the fact's text, or empty."""

    fact_id: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation with what it rests on. `version` grows with each change of it, from 1."""

    fact: Fact
    scope: Scope
    version: int
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationVersion:
    """What an observation said at a version.

    Args:
        action: ``created``, ``updated``, ``contradicted`` (something newer replaced what was true before) or
            ``supported`` (the words stayed).
        fact_ids: the facts that this version added to what it rests on.
    """

    version: int
    action: str
    text: str
    changed_at: datetime
    fact_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFact:
    """A fact that waits to be consolidated.

    Args:
        spec: the observation scopes given for its document; None when none were.
        passed: scopes in which it was gone through already.
    """

    fact: Fact
    spec: object | None
    passed: frozenset[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationWrite:
    """A new observation, or the next version of one.

    Args:
        fact: what it says now, complete; its `fact_id` is the observation's id.
        sources: facts that it rests on besides those it rests on already.
        expected: the version that the writer saw; None makes a new one.
        action: as in `ObservationVersion`.
    """

    fact: FactWrite
    sources: tuple[Source, ...]
    action: str
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationWrite:
    """What one look at some facts in one scope brought, written in one transaction.

    Args:
        operation: the job that looked; nothing is written when it is not that job's turn any more.
        seen: the facts that were looked at, with the `seq` that they had then.
        scopes: for each of them, all the scopes it is consolidated in; with the last one it waits no more.
        further: facts beside them that the writes rest on anew, likewise with the `seq` that they had.
        failed: those that were looked at for which no usable answer came.
        removed: observations to delete, with the version that the writer saw. Each must rest on nothing that does not
            support another observation of the scope as well.
    """

    bank_id: str
    operation: Operation
    scope: Scope
    seen: Mapping[str, int]
    scopes: Mapping[str, tuple[Scope, ...]]
    now: datetime
    further: Mapping[str, int] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    writes: tuple[ObservationWrite, ...] = ()
    removed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationCounts:
    """How far the consolidation of a bank is. `pending` leaves out those that failed for good."""

    pending: int
    failed: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConsolidationState:
    """When a fact was gone through in all of its scopes, and whether that failed in any."""

    done_at: datetime
    failed: bool


class ObservationStore(Protocol):
    # work
    async def request_consolidation(
        self, bank_id: str, payload: Mapping[str, Any], now: datetime, *, needed: bool = False
    ) -> tuple[Operation, bool] | None:
        """Add a consolidation job, or join the one that is pending or running; and whether it was joined.

        A running job that is joined goes on until nothing waits of what came before. `payload` may hold ``scopes``,
        lists of tags that the facts to look at must bear (all of one list); jobs with and without become one without.

        Args:
            needed: only when a fact waits; None otherwise.

        Raises:
            BankNotFound: there is no such bank.
        """
        ...

    async def end_consolidation(self, operation: Operation, result: Mapping[str, Any], now: datetime) -> bool:
        """Complete a consolidation job, unless it was joined since it looked last: then it has to look again.

        Without ``scopes`` it is not completed while a fact waits.
        """
        ...

    async def waiting_facts(self, bank_id: str, after_seq: int, limit: int) -> list[WaitingFact]:
        """Valid facts with a `seq` above the given one that wait, ascending; no observations."""
        ...

    async def scope_specs(self, bank_id: str, seqs: Sequence[int]) -> Mapping[int, object | None]:
        """For facts, by `seq`, the observation scopes given for their documents; None when none were."""
        ...

    async def banks_waiting(self) -> list[str]:
        """Banks with facts that wait and without a consolidation job that is pending or running."""
        ...

    async def consolidate(self, write: ConsolidationWrite) -> None:
        """Write what a look brought.

        Raises:
            StaleFacts: a fact or an observation is not as the writer saw it, or was gone through meanwhile; look again.
            Conflict: the job is not the one that works on the bank any more.
        """
        ...

    async def recover_consolidation(self, bank_id: str) -> int:
        """Let the facts that failed for good wait again; how many."""
        ...

    # reading
    async def consolidation_counts(self, bank_id: str) -> ConsolidationCounts: ...

    async def consolidation_states(self, bank_id: str, fact_ids: Sequence[str]) -> Mapping[str, ConsolidationState]:
        """Of those facts that don't wait and are no observations."""
        ...

    async def observations_in(self, bank_id: str, scope: Scope) -> Mapping[str, int]:
        """The ids of all observations of a scope, with their `seq`."""
        ...

    async def observations(self, bank_id: str, observation_ids: Sequence[str]) -> list[Observation]:
        """In the order asked for; those that are gone are left out."""
        ...

    async def observation_scopes(self, bank_id: str, limit: int, offset: int) -> Page[tuple[Scope, int]]:
        """The scopes that hold observations, with their numbers; most first, then by tags."""
        ...

    async def observation_history(self, bank_id: str, observation_id: str) -> list[ObservationVersion]:
        """Newest first, the present one included. Empty for another fact; raises NotFound when there is none."""
        ...

    # clearing
    async def clear_observations(self, bank_id: str, now: datetime) -> int:
        """Delete all observations and let every fact wait again; the number deleted."""
        ...

    async def clear_observations_of(self, bank_id: str, fact_id: str, now: datetime) -> int:
        """Delete the observations that rest on a fact and let it wait again; the number. Raises NotFound."""
        ...
