"""Observations, and how far facts are consolidated, as they leave a bank and enter another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.queries import all_rows
from hindsight_server.adapters.sqlite.session import BankSession, micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json
from hindsight_server.ports.observations import ObservationVersion, Source
from hindsight_server.ports.transfer import TransferConsolidation, TransferFact, TransferObservation

_SCOPE, _VERSION = 29, 30  # behind the columns of the fact


def read_observations(
    connection: apsw.Connection, bank_id: str, fact_of: Callable[[tuple[Any, ...]], TransferFact]
) -> list[TransferObservation]:
    """All observations of a bank, the oldest first."""
    found = []
    for row in all_rows(connection, "transfer.observations", (bank_id,)):
        fact = fact_of(row)
        key = (bank_id, fact.fact_id)
        history = [
            ObservationVersion(
                version=version, action=action, text=text, changed_at=moment(at), fact_ids=tuple(from_json(fact_ids))
            )
            for version, action, text, at, fact_ids in all_rows(connection, "observations.history", key)
        ]
        sources = [
            Source(fact_id=fact_id, quote=quote) for fact_id, quote in all_rows(connection, "observations.sources", key)
        ]
        found.append(
            TransferObservation(
                fact=fact,
                scope=tuple(from_json(row[_SCOPE])),
                version=row[_VERSION],
                sources=tuple(sources),
                history=tuple(history),
            )
        )
    return found


def read_consolidation(connection: apsw.Connection, bank_id: str) -> dict[str, TransferConsolidation]:
    """How far each fact is consolidated that was begun with."""
    passes: defaultdict[str, list[tuple[tuple[str, ...], bool]]] = defaultdict(list)
    for fact_id, scope, failed in all_rows(connection, "transfer.passes", (bank_id,)):
        passes[fact_id].append((tuple(from_json(scope)), bool(failed)))
    done = {fact_id: (at, failed) for fact_id, failed, at in all_rows(connection, "transfer.done", (bank_id,))}
    return {
        fact_id: TransferConsolidation(
            passes=tuple(passes.get(fact_id, ())),
            done_at=moment(done[fact_id][0]) if fact_id in done else None,
            failed=fact_id in done and bool(done[fact_id][1]),
        )
        for fact_id in {**passes, **done}
    }


def write_observation(session: BankSession, given: TransferObservation, ids: Mapping[str, str]) -> None:
    """What makes a fact that was just stored an observation.

    Args:
        ids: of facts and observations, by the ids that they had.
    """
    connection, key = session.connection, (session.bank_id, ids[given.fact.fact_id])
    connection.execute(sql("observations.insert"), (session.bank_id, to_json(list(given.scope)), key[1]))
    connection.execute(sql("observations.set_version"), (given.version, *key))
    sources = [(*key, ids[one.fact_id], at, one.quote) for at, one in enumerate(given.sources)]
    connection.executemany(sql("observations.insert_source"), sources)
    connection.executemany(
        sql("observations.insert_version"),
        [
            (*key, one.version, one.action, micros_of(one.changed_at), _mapped(one.fact_ids, ids), one.text)
            for one in given.history
        ],
    )


def write_consolidation(session: BankSession, facts: Iterable[TransferFact], ids: Mapping[str, str]) -> None:
    """Have facts wait no more for what they need not be consolidated in again."""
    connection = session.connection
    for fact in facts:
        held = fact.consolidation
        if held is None:
            continue
        key = (session.bank_id, ids[fact.fact_id])
        connection.executemany(
            sql("observations.add_pass"),
            [(*key, to_json(list(scope)), int(failed)) for scope, failed in held.passes],
        )
        if held.done_at is not None:
            connection.execute(sql("observations.add_done"), (*key, int(held.failed), micros_of(held.done_at)))


def _mapped(fact_ids: Iterable[str], ids: Mapping[str, str]) -> str:
    return to_json([ids.get(fact_id, fact_id) for fact_id in fact_ids])
