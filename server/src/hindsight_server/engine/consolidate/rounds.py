"""One round: some facts that wait, in batches for each of their scopes."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, StaleFacts
from hindsight_server.domain.model import FactState
from hindsight_server.domain.observation_scopes import SHARED, Scope, scopes_of, settings_of
from hindsight_server.engine.consolidate.candidates import candidates_for
from hindsight_server.engine.consolidate.checking import FULL, Checked, check, facts_without_action
from hindsight_server.engine.consolidate.drafting import Drafter, Drafts
from hindsight_server.engine.consolidate.types import ConsolidatorOptions, Judge, Look, Proposal
from hindsight_server.engine.language import Spent
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.observations import ConsolidationWrite, WaitingFact
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Tally:
    """What a job did so far. `facts` counts a fact once for each of its scopes."""

    facts: int = 0
    failed: int = 0
    removed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    actions: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    spent: Spent = field(default_factory=Spent)

    def progress(self, now: datetime) -> dict[str, Any]:
        """As it is told of a job that goes on; how many facts there will be, nobody knows."""
        counts = {name: value for name, value in self.result().items() if isinstance(value, int)}
        return {"stage": "consolidating", "at": now.isoformat(), "processed": self.facts, "detail": counts}

    def result(self) -> dict[str, Any]:
        """As it is kept with the operation."""
        told: dict[str, Any] = {
            "facts_looked_at": self.facts,
            "facts_failed": self.failed,
            "observations_created": self.actions["created"],
            "observations_updated": self.actions["updated"] + self.actions["supported"],
            "observations_contradicted": self.actions["contradicted"],
            "observations_removed": self.removed,
            "actions_refused": self.refused.total(),
            "input_tokens": self.spent.usage.input_tokens,
            "output_tokens": self.spent.usage.output_tokens,
        }
        return told | ({"refused_actions": dict(sorted(self.refused.items()))} if self.refused else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a round works with."""

    store: Store
    clock: Clock
    judge: Judge
    drafter: Drafter
    options: ConsolidatorOptions


class Round:
    """Takes facts through all scopes that they wait in.

    Scopes are gone through side by side; the batches of one scope one after another, so that each look sees what the
    one before wrote and no two make the same observation.
    """

    def __init__(self, tools: Tools, operation: Operation, config: Mapping[str, Any], tally: Tally) -> None:
        self._tools = tools
        self._operation = operation
        self._config = config
        self._tally = tally
        self._free = asyncio.Semaphore(config["consolidation_llm_parallelism"])
        self._scopes: dict[str, tuple[Scope, ...]] = {}
        self._failed = False

    async def run(self, waiting: Sequence[WaitingFact]) -> None:
        """Raises what any of the looks raised, when all have ended."""
        by_scope: defaultdict[Scope, list[WaitingFact]] = defaultdict(list)
        homeless: list[WaitingFact] = []
        for one in waiting:
            spec = self._config["default_observation_scopes"] if one.spec is None else one.spec
            scopes = self._scopes[one.fact.fact_id] = scopes_of(spec, one.fact.tags)
            left = [scope for scope in scopes if scope not in one.passed]
            for scope in left:
                by_scope[scope].append(one)
            if not left:
                homeless.append(one)
        if homeless:
            await self._write(Look(operation=self._operation, scope=_unused(homeless), facts=homeless, candidates=()))
        tasks = [asyncio.create_task(self._through(scope, facts)) for scope, facts in by_scope.items()]
        try:
            done = await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _through(self, scope: Scope, facts: Sequence[WaitingFact]) -> None:
        size = self._config["consolidation_llm_batch_size"]
        for start in range(0, len(facts), size):
            async with self._free:
                if self._failed:
                    return
                try:
                    await self._batch(scope, facts[start : start + size])
                except BaseException:
                    self._failed = True
                    raise

    async def _batch(self, scope: Scope, facts: Sequence[WaitingFact]) -> None:
        for _ in range(self._tools.options.stale_tries):
            facts = await self._as_read(facts)
            if not facts:
                return
            try:
                await self._look(scope, facts)
            except StaleFacts:
                _log.debug("facts changed while they were being consolidated; looking again")
                facts = await self._still_waiting(scope, facts)
            else:
                return

    async def _look(self, scope: Scope, facts: Sequence[WaitingFact]) -> None:
        look = await self._prepared(scope, facts)
        try:
            proposal = await self._tools.judge.propose(look)
            checked = check(look, proposal, self._tools.options.ordinary)
            notes = [one.why.told for one in checked.refused if one.why != FULL]
            if notes:
                proposal, checked = await self._better(look, proposal, checked, notes)
        except (BadModelAnswer, AnswerTooLong) as problem:
            if len(facts) > 1:
                half = len(facts) // 2
                await self._batch(scope, facts[:half])
                await self._batch(scope, facts[half:])
                return
            _log.warning("memory %s could not be consolidated: %s", facts[0].fact.fact_id, problem)
            await self._write(look, failed=frozenset({facts[0].fact.fact_id}))
            return
        drafts = await self._tools.drafter.draft(look, checked.accepted, proposal.further)
        self._tally.refused.update(one.why.name for one in checked.refused)
        further = {fact.fact_id: fact.seq for fact in proposal.further}
        await self._write(look, drafts, facts_without_action(checked), further)

    async def _better(
        self, look: Look, proposal: Proposal, checked: Checked, notes: Sequence[str]
    ) -> tuple[Proposal, Checked]:
        """A second answer, told what was wrong with the first; whichever is refused less."""
        try:
            again = await self._tools.judge.propose(look, notes)
        except (BadModelAnswer, AnswerTooLong):
            return proposal, checked
        second = check(look, again, self._tools.options.ordinary)
        return (again, second) if len(second.refused) < len(checked.refused) else (proposal, checked)

    async def _prepared(self, scope: Scope, facts: Sequence[WaitingFact]) -> Look:
        store, bank_id = self._tools.store, self._operation.bank_id
        candidates, held = await candidates_for(store, bank_id, scope, facts, self._tools.options.candidates)
        settings = settings_of(scope, self._config)
        limit = settings["max_observations_per_scope"]
        return Look(
            operation=self._operation,
            scope=scope,
            facts=facts,
            candidates=candidates,
            settings=settings,
            usual_scopes=self._config["default_observation_scopes"],
            room=None if limit is None or limit < 0 else max(0, limit - held),
            spent=self._tally.spent,
        )

    async def _as_read(self, facts: Sequence[WaitingFact]) -> list[WaitingFact]:
        """Those that are as they were read: words that were forgotten since are shown to nobody."""
        known = await self._tools.store.facts_by_id(self._operation.bank_id, [one.fact.fact_id for one in facts])
        current = {fact.fact_id: fact.seq for fact in known if fact.state is FactState.VALID}
        return [one for one in facts if current.get(one.fact.fact_id) == one.fact.seq]

    async def _still_waiting(self, scope: Scope, facts: Sequence[WaitingFact]) -> list[WaitingFact]:
        """Those that are as they were; the others are found again by their new number, or wait no more."""
        found = []
        for one in facts:
            now = await self._tools.store.waiting_facts(self._operation.bank_id, one.fact.seq - 1, 1)
            if now and now[0].fact.seq == one.fact.seq and scope not in now[0].passed:
                found.append(now[0])
        return found

    async def _write(
        self,
        look: Look,
        drafts: Drafts | None = None,
        failed: frozenset[str] = frozenset(),
        further: Mapping[str, int] | None = None,
    ) -> None:
        wanted = drafts or Drafts()
        seen = {one.fact.fact_id: one.fact.seq for one in look.facts}
        rested_on = {source.fact_id for write in wanted.writes for source in write.sources}
        await self._tools.store.consolidate(
            ConsolidationWrite(
                bank_id=look.bank_id,
                operation=look.operation,
                scope=look.scope,
                seen=seen,
                scopes={fact_id: self._scopes[fact_id] for fact_id in seen},
                now=self._tools.clock.now(),
                further={one: seq for one, seq in (further or {}).items() if one in rested_on and one not in seen},
                failed=failed,
                writes=wanted.writes,
                removed=wanted.removed,
            )
        )
        self._tally.facts += len(seen)
        self._tally.failed += len(failed)
        self._tally.removed += len(wanted.removed)
        for write in wanted.writes:
            self._tally.actions[write.action] += 1


def _unused(facts: Sequence[WaitingFact]) -> Scope:
    """A scope that none of the facts has passed."""
    passed = {scope for one in facts for scope in one.passed}
    scope = SHARED
    while scope in passed:
        scope = (*scope, "-")
    return scope
