"""What rests on facts: their observations, and the note that they were consolidated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_json


def take_observations(session: BankSession, seqs: Sequence[int]) -> list[int]:
    """Take apart the observations that rest on some facts, and those that are among them; their numbers.

    Their rows as facts are left to the caller. What else they rested on waits to be consolidated again in their scope.
    """
    if one_row(session.connection, "observations.exists", (session.bank_id,)) is None:
        return []
    wanted = {"bank_id": session.bank_id, "seqs": to_json(list(seqs))}
    resting = dict(all_rows(session.connection, "observations.resting_on", wanted))
    among = dict(all_rows(session.connection, "observations.among", wanted))
    for observation_id, scope in resting.items():
        _wait_again(session, _sources(session, observation_id), scope)
    taken = []
    for observation_id in (*resting, *(one for one in among.values() if one not in resting)):
        row = one_row(session.connection, "observations.of_id", (session.bank_id, observation_id))
        if row is not None:
            taken.append(int(row[2]))
        drop_bookkeeping(session, observation_id)
    return taken


def wait_anew(session: BankSession, seqs: Sequence[int]) -> None:
    """Let facts wait to be consolidated in all of their scopes."""
    wanted = {"bank_id": session.bank_id, "seqs": to_json(list(seqs))}
    rows = all_rows(session.connection, "observations.ids_of", wanted)
    keys = [(session.bank_id, fact_id) for _, fact_id in rows]
    session.connection.executemany(sql("observations.drop_passes"), keys)
    session.connection.executemany(sql("observations.drop_done"), keys)
    _lower_mark(session, (seq for seq, _ in rows))


def drop_bookkeeping(session: BankSession, observation_id: str) -> None:
    """Forget what makes a fact an observation."""
    key = (session.bank_id, observation_id)
    for statement in ("observations.delete_history", "observations.delete_sources", "observations.delete"):
        session.connection.execute(sql(statement), key)


def _sources(session: BankSession, observation_id: str) -> list[str]:
    return column(session.connection, "observations.sources", (session.bank_id, observation_id))


def _wait_again(session: BankSession, fact_ids: Sequence[str], scope: str) -> None:
    connection, bank_id = session.connection, session.bank_id
    connection.executemany(sql("observations.drop_pass"), [(bank_id, fact_id, scope) for fact_id in fact_ids])
    connection.executemany(sql("observations.drop_done"), [(bank_id, fact_id) for fact_id in fact_ids])
    _lower_mark(session, column(connection, "facts.seqs_of_ids", {"bank_id": bank_id, "ids": to_json(fact_ids)}))


def _lower_mark(session: BankSession, seqs: Iterable[int]) -> None:
    lowest = min(seqs, default=None)
    if lowest is not None:
        session.connection.execute(sql("observations.lower_mark"), (lowest - 1, session.bank_id))
