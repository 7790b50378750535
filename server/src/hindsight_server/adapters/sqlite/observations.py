"""Observations: read, listed and cleared; and which facts wait to be consolidated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite import consolidating
from hindsight_server.adapters.sqlite.facts_read import get_fact, no_fact, read_facts
from hindsight_server.adapters.sqlite.facts_write import delete_facts, forget_what_rests_on
from hindsight_server.adapters.sqlite.forgetting_rows import ForgettingRows
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.values import from_json, from_micros, moment, to_json
from hindsight_server.domain.observation_scopes import Scope
from hindsight_server.ports.observations import (
    ConsolidationCounts,
    ConsolidationState,
    ConsolidationWrite,
    Observation,
    ObservationVersion,
    Source,
    WaitingFact,
)
from hindsight_server.ports.records import Operation, Page


class ObservationRows(ForgettingRows):
    """The part of the store that is `ObservationStore`, but for the write that webhooks are told of."""

    async def request_consolidation(
        self, bank_id: str, payload: Mapping[str, Any], now: datetime, *, needed: bool = False
    ) -> tuple[Operation, bool] | None:
        return await self._write(consolidating.request, bank_id, payload, now, needed=needed)

    async def waiting_facts(self, bank_id: str, after_seq: int, limit: int) -> list[WaitingFact]:
        return await self._read_bank(_waiting_facts, bank_id, after_seq, limit)

    async def scope_specs(self, bank_id: str, seqs: Sequence[int]) -> Mapping[int, object | None]:
        return await self._read_bank(_scope_specs, bank_id, seqs)

    async def banks_waiting(self) -> list[str]:
        return await self._read(column, "observations.banks_waiting")

    async def consolidate(self, write: ConsolidationWrite) -> None:
        await self._write(consolidating.consolidate, write)

    async def recover_consolidation(self, bank_id: str) -> int:
        return await self._write(consolidating.recover, bank_id)

    async def consolidation_counts(self, bank_id: str) -> ConsolidationCounts:
        return await self._read_bank(_counts, bank_id)

    async def consolidation_states(self, bank_id: str, fact_ids: Sequence[str]) -> Mapping[str, ConsolidationState]:
        return await self._read_bank(_states, bank_id, fact_ids)

    async def observations_in(self, bank_id: str, scope: Scope) -> Mapping[str, int]:
        return await self._read_bank(_observations_in, bank_id, scope)

    async def observations(self, bank_id: str, observation_ids: Sequence[str]) -> list[Observation]:
        return await self._read_bank(_observations, bank_id, observation_ids)

    async def observation_scopes(self, bank_id: str, limit: int, offset: int) -> Page[tuple[Scope, int]]:
        return await self._read_bank(_scopes, bank_id, limit, offset)

    async def observation_history(self, bank_id: str, observation_id: str) -> list[ObservationVersion]:
        return await self._read_bank(_history, bank_id, observation_id)

    async def clear_observations(self, bank_id: str, now: datetime) -> int:
        return await self._forget(_clear, bank_id, now)

    async def clear_observations_of(self, bank_id: str, fact_id: str, now: datetime) -> int:
        return await self._forget(_clear_of, bank_id, fact_id, now)


def _waiting_facts(connection: apsw.Connection, bank_id: str, after_seq: int, limit: int) -> list[WaitingFact]:
    values = {"bank_id": bank_id, "after": after_seq, "limit": limit}
    specs = {seq: from_json(spec) for seq, spec in all_rows(connection, "observations.waiting", values)}
    return [
        WaitingFact(fact=fact, spec=specs[fact.seq], passed=_passed(connection, bank_id, fact.fact_id))
        for fact in read_facts(connection, bank_id, list(specs), as_written=True)
    ]


def _scope_specs(connection: apsw.Connection, bank_id: str, seqs: Sequence[int]) -> dict[int, object | None]:
    wanted = {"bank_id": bank_id, "seqs": to_json(list(seqs))}
    return {seq: from_json(spec) for seq, spec in all_rows(connection, "observations.specs", wanted)}


def _passed(connection: apsw.Connection, bank_id: str, fact_id: str) -> frozenset[Scope]:
    return frozenset(tuple(from_json(scope)) for scope in column(connection, "observations.passes", (bank_id, fact_id)))


def _counts(connection: apsw.Connection, bank_id: str) -> ConsolidationCounts:
    last = one_row(connection, "observations.last_at", (bank_id,))
    return ConsolidationCounts(
        pending=scalar(connection, "observations.count_waiting", {"bank_id": bank_id}),
        failed=scalar(connection, "observations.count_failed", (bank_id,)),
        last_at=None if last is None else from_micros(last[0]),
    )


def _states(connection: apsw.Connection, bank_id: str, fact_ids: Sequence[str]) -> dict[str, ConsolidationState]:
    wanted = {"bank_id": bank_id, "ids": to_json(list(fact_ids))}
    return {
        fact_id: ConsolidationState(moment(done_at), bool(failed))
        for fact_id, done_at, failed in all_rows(connection, "observations.states", wanted)
    }


def _observations_in(connection: apsw.Connection, bank_id: str, scope: Scope) -> dict[str, int]:
    return dict(all_rows(connection, "observations.of_scope", (bank_id, to_json(list(scope)))))


def _observations(connection: apsw.Connection, bank_id: str, observation_ids: Sequence[str]) -> list[Observation]:
    found = []
    for observation_id in observation_ids:
        row = one_row(connection, "observations.of_id", (bank_id, observation_id))
        if row is None:
            continue
        scope, version, seq, _ = row
        sources = all_rows(connection, "observations.sources", (bank_id, observation_id))
        found.append(
            Observation(
                fact=read_facts(connection, bank_id, [seq], as_written=True)[0],
                scope=tuple(from_json(scope)),
                version=version,
                sources=tuple(Source(fact_id=fact_id, quote=quote) for fact_id, quote in sources),
            )
        )
    return found


def _scopes(connection: apsw.Connection, bank_id: str, limit: int, offset: int) -> Page[tuple[Scope, int]]:
    rows = [
        (tuple(from_json(scope)), count) for scope, count in all_rows(connection, "observations.scopes", (bank_id,))
    ]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return Page(tuple(rows[offset : offset + limit]), len(rows), limit, offset)


def _history(connection: apsw.Connection, bank_id: str, observation_id: str) -> list[ObservationVersion]:
    get_fact(connection, bank_id, observation_id)
    return [
        ObservationVersion(
            version=version, action=action, text=text, changed_at=moment(at), fact_ids=tuple(from_json(fact_ids))
        )
        for version, action, text, at, fact_ids in all_rows(
            connection, "observations.history", (bank_id, observation_id)
        )
    ]


def _clear(connection: apsw.Connection, bank_id: str, now: datetime) -> int:
    session = BankSession(connection, bank_id, now)
    deleted = delete_facts(session, column(connection, "observations.seqs", (bank_id,)))
    consolidating.all_wait(session)
    session.save()
    return deleted


def _clear_of(connection: apsw.Connection, bank_id: str, fact_id: str, now: datetime) -> int:
    session = BankSession(connection, bank_id, now)
    row = one_row(connection, "facts.seq_of_id", (bank_id, fact_id))
    if row is None:
        raise no_fact(bank_id, fact_id)
    deleted = forget_what_rests_on(session, [row[0]])
    session.save()
    return deleted
