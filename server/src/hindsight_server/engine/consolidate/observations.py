"""Use cases on observations: scopes, versions, clearing, and how far their consolidation is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_server.domain.model import Fact
from hindsight_server.domain.observation_scopes import Scope, is_active, rule_matches, strategy_of
from hindsight_server.engine.consolidate.consolidator import Consolidator
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.observations import (
    CONSOLIDATION,
    ConsolidationCounts,
    ConsolidationState,
    ObservationVersion,
)
from hindsight_server.ports.records import Page
from hindsight_server.ports.store import Store

MOST_SCANNED = 10_000
"""Scopes that a preview looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A version of an observation, with the facts that it added as they are now.

    Args:
        quotes: by fact, the stretch of its text that proves the observation, where one is kept.
    """

    version: ObservationVersion
    previous_text: str | None
    facts: tuple[Fact, ...]
    quotes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSample:
    """A scope in a preview: how many observations it holds, and which strategy applies to it."""

    tags: Scope
    count: int
    handled_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePreview:
    """What a rule matches. `taken`: how many of those an earlier strategy wins."""

    matched: int
    taken: int
    observations: int
    samples: tuple[ScopeSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategiesPreview:
    """What draft strategies would apply to.

    Args:
        strategies: for each one whether it is active, how many scopes it applies to, and its rules.
        default: the scopes that none claims.
        complete: False when the bank has more scopes than were looked at.
    """

    strategies: tuple[tuple[bool, int, tuple[RulePreview, ...]], ...]
    default: RulePreview
    scanned: int
    complete: bool


class Observations:
    """All raise BankNotFound for an unknown bank, and NotFound for an unknown memory."""

    def __init__(self, store: Store, consolidator: Consolidator, clock: Clock) -> None:
        self._store = store
        self._consolidator = consolidator
        self._clock = clock

    async def scopes(self, bank_id: str, limit: int = 100, offset: int = 0) -> Page[tuple[Scope, int]]:
        """The scopes that hold observations, with their numbers; most first."""
        return await self._store.observation_scopes(bank_id, limit, offset)

    async def history(self, bank_id: str, memory_id: str) -> list[Change]:
        """The versions of an observation, newest first; none for another memory."""
        versions = await self._store.observation_history(bank_id, memory_id)
        wanted = dict.fromkeys(fact_id for version in versions for fact_id in version.fact_ids)
        facts = {fact.fact_id: fact for fact in await self._store.facts_by_id(bank_id, list(wanted))} if wanted else {}
        held = await self._store.observations(bank_id, [memory_id]) if wanted else []
        quotes = {source.fact_id: source.quote for one in held for source in one.sources if source.quote}
        return [
            Change(
                version=version,
                quotes=quotes,
                previous_text=before.text if before is not None else None,
                facts=tuple(facts[fact_id] for fact_id in version.fact_ids if fact_id in facts),
            )
            for version, before in zip(versions, [*versions[1:], None], strict=False)
        ]

    async def counts(self, bank_id: str) -> ConsolidationCounts:
        """How far consolidation is. Where nobody will look at facts, none of them waits."""
        counts = await self._store.consolidation_counts(bank_id)
        if counts.pending and not self._consolidator.counts_pending(await self._store.get_bank(bank_id)):
            active = await self._store.list_operations(bank_id, "pending", CONSOLIDATION, 1, 0)
            running = await self._store.list_operations(bank_id, "processing", CONSOLIDATION, 1, 0)
            if not active.total and not running.total:
                return replace(counts, pending=0)
        return counts

    async def states(self, bank_id: str, fact_ids: Sequence[str]) -> Mapping[str, ConsolidationState]:
        """Of facts that were gone through in all of their scopes."""
        return await self._store.consolidation_states(bank_id, fact_ids)

    async def clear(self, bank_id: str) -> int:
        """Delete all observations and let every fact be looked at again; the number deleted."""
        deleted = await self._store.clear_observations(bank_id, self._clock.now())
        await self._consolidator.changed(bank_id)
        return deleted

    async def clear_of(self, bank_id: str, memory_id: str) -> int:
        """Delete the observations that rest on a memory and let it be looked at again; the number deleted."""
        deleted = await self._store.clear_observations_of(bank_id, memory_id, self._clock.now())
        await self._consolidator.changed(bank_id)
        return deleted

    async def recover(self, bank_id: str) -> int:
        """Let facts that failed for good be looked at again; how many."""
        recovered = await self._store.recover_consolidation(bank_id)
        if recovered:
            await self._consolidator.changed(bank_id)
        return recovered

    async def preview(self, bank_id: str, strategies: Sequence[Mapping[str, Any]], samples: int) -> StrategiesPreview:
        """Which existing scopes each of some draft strategies would apply to; nothing is saved."""
        page = await self._store.observation_scopes(bank_id, MOST_SCANNED, 0)
        listed = [
            ScopeSample(tags=scope, count=count, handled_by=strategy_of(scope, strategies))
            for scope, count in page.items
        ]
        previews = []
        for at, strategy in enumerate(strategies):
            rules = tuple(_rule(rule, at, listed, samples) for rule in strategy.get("scopes") or ())
            claimed = sum(one.handled_by == at for one in listed)
            previews.append((is_active(strategy), claimed, rules))
        return StrategiesPreview(
            strategies=tuple(previews),
            default=_previewed([one for one in listed if one.handled_by is None], 0, samples),
            scanned=len(listed),
            complete=page.total <= MOST_SCANNED,
        )


def _rule(rule: Mapping[str, Any], at: int, listed: Sequence[ScopeSample], samples: int) -> RulePreview:
    matching = [one for one in listed if rule_matches(rule, one.tags)]
    taken = sum(one.handled_by is not None and one.handled_by < at for one in matching)
    return _previewed(matching, taken, samples)


def _previewed(scopes: Sequence[ScopeSample], taken: int, samples: int) -> RulePreview:
    return RulePreview(
        matched=len(scopes),
        taken=taken,
        observations=sum(one.count for one in scopes),
        samples=tuple(scopes[:samples]),
    )
