"""What is stated to be the cause of what."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from hindsight_server.adapters.sqlite.access import FolderAccess
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_json
from hindsight_server.ports.causes import LinkedFacts
from hindsight_server.ports.records import FactWrite


class CauseRows(FolderAccess):
    """The part of the store that is `CauseStore`."""

    async def causes(self, bank_id: str, fact_ids: Sequence[str]) -> list[tuple[str, str]]:
        return await self._read_bank(causes_of, bank_id, fact_ids)

    async def linked_by_cause(self, bank_id: str, seqs: Sequence[int]) -> LinkedFacts:
        return await self._read_keys(len(seqs), _linked, bank_id, seqs)


def _linked(connection: apsw.Connection, bank_id: str, seqs: Sequence[int]) -> LinkedFacts:
    if one_row(connection, "causes.any", (bank_id,)) is None:
        return LinkedFacts(frozenset(), any=False)
    values = {"bank_id": bank_id, "seqs": to_json(list(seqs))}
    return LinkedFacts(frozenset(column(connection, "causes.linked", values)), any=True)


def causes_of(connection: apsw.Connection, bank_id: str, fact_ids: Sequence[str]) -> list[tuple[str, str]]:
    values = {"bank_id": bank_id, "fact_ids": to_json(list(fact_ids))}
    return [(fact_id, cause_id) for fact_id, cause_id in all_rows(connection, "causes.of_facts", values)]


def insert_causes(connection: apsw.Connection, bank_id: str, facts: Sequence[FactWrite]) -> None:
    """Keep the causes of facts that were just inserted; those that did not come with them are left out."""
    if not any(fact.causes for fact in facts):
        return
    known = {fact.fact_id for fact in facts}
    rows = [(bank_id, fact.fact_id, cause) for fact in facts for cause in fact.causes if cause in known]
    connection.executemany(sql("causes.insert"), [row for row in rows if row[1] != row[2]])
