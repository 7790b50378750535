"""Consolidation as transactions: jobs that join, and what a look at some facts brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.banks import require_bank
from hindsight_server.adapters.sqlite.facts_write import NewFact, delete_facts, insert_facts, remove_rows
from hindsight_server.adapters.sqlite.names import EntityNumbers
from hindsight_server.adapters.sqlite.operations import Outcome, finish_operation, get_operation, insert_operation
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession, micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, mapping_json, to_json
from hindsight_server.domain.errors import Conflict, StaleFacts
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import FactState
from hindsight_server.ports.observations import CONSOLIDATION, MOST_VERSIONS, ConsolidationWrite, ObservationWrite
from hindsight_server.ports.records import Operation

_AGAIN = "again"  # in a running job's payload: what it was asked for since it began


def request(
    connection: apsw.Connection, bank_id: str, payload: Mapping[str, Any], now: datetime, *, needed: bool
) -> tuple[Operation, bool] | None:
    """See `ObservationStore.request_consolidation`."""
    require_bank(connection, bank_id)
    if needed and not _anything_waits(connection, bank_id):
        return None
    running = one_row(connection, "observations.running", (bank_id,))
    if running is not None:
        operation = get_operation(connection, bank_id, running[0])
        assert operation is not None
        _join(connection, operation, payload, now)
        return operation, True
    operation = Operation(
        bank_id=bank_id,
        operation_id=new_id(),
        type=CONSOLIDATION,
        status="pending",
        payload=dict(payload),
        items_count=0,
        created_at=now,
        updated_at=now,
    )
    return insert_operation(connection, operation, now), False


def end(connection: apsw.Connection, operation: Operation, result: Mapping[str, Any], now: datetime) -> bool:
    """See `ObservationStore.end_consolidation`."""
    stored = _held(connection, operation)
    asked = dict(stored.payload or {})
    again = asked.pop(_AGAIN, None)
    if again is not None:
        _set_payload(connection, stored, _merged(asked, again), now)
        return False
    everything = not asked.get("scopes")
    if everything and _anything_waits(connection, operation.bank_id):
        return False
    connection.execute(
        sql("observations.raise_mark"), {"bank_id": operation.bank_id, "all": everything, "now": micros_of(now)}
    )
    finish_operation(connection, stored, Outcome("completed", result, None), now)
    return True


def consolidate(connection: apsw.Connection, write: ConsolidationWrite) -> None:
    """See `ObservationStore.consolidate`."""
    _held(connection, write.operation)
    scope = to_json(list(write.scope))
    _check_seen(connection, write, scope)
    session = BankSession(connection, write.bank_id, write.now)
    numbers = EntityNumbers(session)
    for one in write.writes:
        _write_observation(session, numbers, scope, one)
    for observation_id, version in write.removed.items():
        _remove(session, scope, observation_id, version)
    for fact_id in write.seen:
        key = (write.bank_id, fact_id)
        connection.execute(sql("observations.add_pass"), (*key, scope, int(fact_id in write.failed)))
        passed = {tuple(from_json(held)) for held in column(connection, "observations.passes", key)}
        if passed.issuperset(write.scopes[fact_id]):
            failed = bool(scalar(connection, "observations.count_failed_passes", key))
            connection.execute(sql("observations.add_done"), (*key, int(failed), session.now))
    if write.writes or write.removed:
        session.save()


def recover(connection: apsw.Connection, bank_id: str) -> int:
    """See `ObservationStore.recover_consolidation`."""
    require_bank(connection, bank_id)
    fact_ids = column(connection, "observations.failed", (bank_id,))
    keys = [(bank_id, fact_id) for fact_id in fact_ids]
    connection.executemany(sql("observations.drop_failed_passes"), keys)
    connection.executemany(sql("observations.drop_done"), keys)
    seqs = column(connection, "facts.seqs_of_ids", {"bank_id": bank_id, "ids": to_json(fact_ids)})
    if seqs:
        connection.execute(sql("observations.lower_mark"), (min(seqs) - 1, bank_id))
    return len(fact_ids)


def all_wait(session: BankSession) -> None:
    """Let every fact of the bank wait."""
    for statement in ("observations.all_passes", "observations.all_done"):
        session.connection.execute(sql(statement), (session.bank_id,))
    session.connection.execute(sql("observations.lower_mark"), (0, session.bank_id))


def _anything_waits(connection: apsw.Connection, bank_id: str) -> bool:
    return bool(all_rows(connection, "observations.waiting", {"bank_id": bank_id, "after": 0, "limit": 1}))


def _join(connection: apsw.Connection, operation: Operation, payload: Mapping[str, Any], now: datetime) -> None:
    held = dict(operation.payload or {})
    if operation.status == "pending":
        _set_payload(connection, operation, _merged(held, payload), now)
        return
    before = held.get(_AGAIN)
    held[_AGAIN] = dict(payload) if before is None else _merged(before, payload)
    _set_payload(connection, operation, held, now)


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What covers both requests; without scopes, everything is covered."""
    if not one.get("scopes") or not other.get("scopes"):
        return {}
    return {"scopes": [*one["scopes"], *(scope for scope in other["scopes"] if scope not in one["scopes"])]}


def _set_payload(connection: apsw.Connection, operation: Operation, payload: Mapping[str, Any], now: datetime) -> None:
    values = (mapping_json(payload), micros_of(now), operation.bank_id, operation.operation_id)
    connection.execute(sql("observations.set_payload"), values)


def _held(connection: apsw.Connection, operation: Operation) -> Operation:
    """The job as stored. Raises Conflict when somebody else has taken it up, or it was cancelled."""
    stored = get_operation(connection, operation.bank_id, operation.operation_id)
    if stored is None or stored.status != "processing" or stored.lease != operation.lease:
        raise Conflict(f"Operation '{operation.operation_id}' was cancelled, or taken up by another worker.")
    return stored


def _check_seen(connection: apsw.Connection, write: ConsolidationWrite, scope: str) -> None:
    for fact_id, seq in write.seen.items():
        values = {"bank_id": write.bank_id, "fact_id": fact_id, "scope": scope}
        row = one_row(connection, "observations.seen", values)
        if row is None or row[0] != seq or row[1] != FactState.VALID or row[2]:
            raise StaleFacts(f"Memory '{fact_id}' changed while it was being consolidated.")
    for fact_id, seq in write.further.items():
        row = one_row(connection, "observations.seen", {"bank_id": write.bank_id, "fact_id": fact_id, "scope": scope})
        if row is None or row[:2] != (seq, FactState.VALID):
            raise StaleFacts(f"Memory '{fact_id}' changed while others were being consolidated.")


def _write_observation(session: BankSession, numbers: EntityNumbers, scope: str, one: ObservationWrite) -> None:
    connection, key = session.connection, (session.bank_id, one.fact.fact_id)
    row = one_row(connection, "observations.of_id", key)
    if (row is None) != (one.expected is None) or (row is not None and row[:2] != (scope, one.expected)):
        raise StaleFacts(f"Observation '{one.fact.fact_id}' changed while facts were being consolidated.")
    created_at = session.now if row is None else row[3]
    if row is None:
        connection.execute(sql("observations.insert_document"), {"bank_id": session.bank_id, "now": session.now})
        version = 1
    else:
        remove_rows(session, [row[2]])
        version = row[1] + 1
    fact = replace(one.fact, extracted=replace(one.fact.extracted, chunk_index=0, turn_index=0))
    named = numbers.of(fact.extracted.entities)
    seq = insert_facts(session, [NewFact(fact, "", None, 0, None, "{}", scope, named)])[0]
    if row is None:
        connection.execute(sql("observations.insert"), (session.bank_id, scope, one.fact.fact_id))
    else:
        connection.execute(sql("observations.set_version"), (version, *key))
    _add_sources(session, one)
    fact_ids = to_json([source.fact_id for source in one.sources])
    values = (*key, version, one.action, session.now, fact_ids, fact.extracted.text)
    connection.execute(sql("observations.insert_version"), values)
    connection.execute(sql("observations.forget_versions"), (*key, version - MOST_VERSIONS))
    sources = column(connection, "observations.sources", key)
    connection.execute(sql("observations.set_fact"), (len(sources), to_json(sources), created_at, session.bank_id, seq))


def _add_sources(session: BankSession, one: ObservationWrite) -> None:
    key = (session.bank_id, one.fact.fact_id)
    held = len(column(session.connection, "observations.sources", key))
    session.connection.executemany(
        sql("observations.insert_source"),
        [(*key, source.fact_id, held + at, source.quote) for at, source in enumerate(one.sources)],
    )


def _remove(session: BankSession, scope: str, observation_id: str, version: int) -> None:
    row = one_row(session.connection, "observations.of_id", (session.bank_id, observation_id))
    if row is None or row[:2] != (scope, version):
        raise StaleFacts(f"Observation '{observation_id}' changed while facts were being consolidated.")
    for fact_id in column(session.connection, "observations.sources", (session.bank_id, observation_id)):
        values = {"bank_id": session.bank_id, "fact_id": fact_id, "observation_id": observation_id, "scope": scope}
        if one_row(session.connection, "observations.has_other_support", values) is None:
            raise StaleFacts(f"Observation '{observation_id}' is all that rests on memory '{fact_id}'; it stays.")
    delete_facts(session, [row[2]])
