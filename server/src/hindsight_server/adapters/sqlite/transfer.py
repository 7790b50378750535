"""A whole bank, or some of its documents, read in one transaction and written in one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.attachments import drawn_in
from hindsight_server.adapters.sqlite.banks import get_bank
from hindsight_server.adapters.sqlite.directives import read_directives
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.transfer_models import read_models
from hindsight_server.adapters.sqlite.transfer_observations import read_consolidation, read_observations
from hindsight_server.adapters.sqlite.values import from_json, from_micros, moment, to_json
from hindsight_server.domain.directives import in_order
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.model import FactState, FactType
from hindsight_server.domain.naming.flags import GIVEN, SHOWN
from hindsight_server.ports.records import FLAG_QUESTION, FLAG_TIME_EXPRESSION
from hindsight_server.ports.transfer import (
    NamePair,
    TransferBank,
    TransferChunk,
    TransferDocument,
    TransferFact,
    TransferMention,
    TransferNames,
    TransferPart,
    TransferRecord,
)

_Chunks = dict[str, tuple[int, int]]


def read_transfer(
    connection: apsw.Connection,
    bank_id: str,
    document_ids: Sequence[str] | None,
    take: Callable[[TransferRecord], None],
) -> None:
    """See `Store.read_transfer`."""
    bank = get_bank(connection, bank_id)
    rules = tuple(in_order(read_directives(connection, bank_id, False)))
    take(TransferBank(bank_id=bank_id, name=bank.name, config=bank.config, directives=rules))
    ids = None if document_ids is None else to_json(list(dict.fromkeys(document_ids)))
    wanted = {"bank_id": bank_id, "document_ids": ids}
    # A few documents are found by the index, not by looking through the bank.
    few = ids is not None
    some = wanted if few else {"bank_id": bank_id}
    rows = all_rows(connection, "transfer.documents", wanted)
    missing = set(document_ids or ()) - {row[0] for row in rows}
    if missing:
        raise NotFound(f"Document '{min(missing)}' not found in bank '{bank_id}'.")
    chunks: _Chunks = {}
    for row in rows:
        take(_document(connection, bank_id, row, chunks))
    drawn = drawn_in(connection, bank_id)
    causes = _causes(all_rows(connection, "transfer.causes_of" if few else "transfer.causes", some))
    consolidation = read_consolidation(connection, bank_id) if document_ids is None else {}
    for row in connection.execute(sql("transfer.facts_of" if few else "transfer.facts"), some):
        fact = _fact(connection, bank_id, row, chunks)
        more: dict[str, Any] = {}
        for name, held in (("attachments", drawn), ("causes", causes), ("consolidation", consolidation)):
            if fact.fact_id in held:
                more[name] = held[fact.fact_id]
        take(replace(fact, **more) if more else fact)
    if document_ids is None:
        for observation in read_observations(connection, bank_id, partial(_fact, connection, bank_id, chunks=chunks)):
            take(observation)
        take(_names(connection, bank_id))
    read_models(connection, bank_id, take)


def _document(connection: apsw.Connection, bank_id: str, row: tuple[Any, ...], chunks: _Chunks) -> TransferDocument:
    key = (bank_id, row[0])
    parts = [
        TransferPart(number=number, first_turn=first, turn_count=turns, source=from_json(source), text=text)
        for number, first, turns, source, text in all_rows(connection, "transfer.parts", key)
    ]
    held = []
    for chunk_id, part, position, digest, ordinal, first, complete, created, text in all_rows(
        connection, "transfer.chunks", key
    ):
        chunks[chunk_id] = (part, position)
        held.append(
            TransferChunk(
                part=part,
                position=position,
                content_hash=digest,
                ordinal=ordinal,
                first_turn=first,
                complete=bool(complete),
                created_at=moment(created),
                text=text,
            )
        )
    return TransferDocument(
        document_id=row[0],
        content_hash=row[1],
        context=row[2],
        metadata=from_json(row[3]),
        tags=tuple(from_json(row[4])),
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
        text_length=row[7],
        turn_count=row[8],
        next_part=row[9],
        observation_scopes=from_json(row[10]),
        parts=tuple(parts),
        chunks=tuple(held),
    )


def _fact(connection: apsw.Connection, bank_id: str, row: tuple[Any, ...], chunks: _Chunks) -> TransferFact:
    flags = row[22]
    return TransferFact(
        fact_id=row[1],
        document_id=row[2],
        chunk=chunks.get(row[3] or ""),
        place=None if row[4] is None or row[5] is None else (row[4], row[5]),
        turn_index=row[6],
        fact_type=FactType(row[7]),
        text=row[8],
        state=FactState(row[9]),
        context=row[10],
        session=row[11],
        speaker=row[12],
        role=row[13],
        occurred_start=from_micros(row[14]),
        occurred_end=from_micros(row[15]),
        mentioned_at=from_micros(row[16]),
        created_at=moment(row[17]),
        updated_at=moment(row[18]),
        metadata=from_json(row[19]),
        tags=tuple(from_json(row[20])),
        mentions=_mentions(connection, bank_id, row[0], row[21]),
        name_pairs=_pairs(all_rows(connection, "transfer.links", {"bank_id": bank_id, "seq": row[0]})),
        is_question=bool(flags & FLAG_QUESTION),
        has_time_expression=bool(flags & FLAG_TIME_EXPRESSION),
        proof_count=row[23],
        source_fact_ids=tuple(from_json(row[24])),
        invalidated_at=from_micros(row[25]),
        invalidation_reason=row[26],
        edited_at=from_micros(row[27]),
        fold=row[28],
    )


def _causes(rows: Sequence[tuple[Any, ...]]) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for fact_id, cause_id in rows:
        found[fact_id].append(cause_id)
    return {fact_id: tuple(causes) for fact_id, causes in found.items()}


def _mentions(connection: apsw.Connection, bank_id: str, seq: int, numbers: str) -> tuple[TransferMention, ...]:
    """In the order of the fact."""
    if numbers == "[]":
        return ()
    wanted = {"bank_id": bank_id, "seq": seq, "numbers": numbers}
    found: Mapping[int, TransferMention] = {
        number: TransferMention(name=name, type=kind, flags=flags)
        for number, name, kind, flags in all_rows(connection, "transfer.mentions", wanted)
    }
    return tuple(found[number] for number in from_json(numbers) if number in found)


def _names(connection: apsw.Connection, bank_id: str) -> TransferNames:
    given = all_rows(connection, "transfer.given", {"bank_id": bank_id, "given": GIVEN | SHOWN})
    return TransferNames(
        pairs=_pairs(all_rows(connection, "transfer.rules", (bank_id,))),
        given=tuple(TransferMention(name=name, type=kind, flags=flags) for name, kind, flags in given),
    )


def _pairs(rows: Sequence[tuple[Any, ...]]) -> tuple[NamePair, ...]:
    return tuple(NamePair(one=one, other=other, same=bool(same)) for one, other, same in rows)


def holds_anything(connection: apsw.Connection, bank_id: str) -> bool:
    """Whether the bank has a document; facts have one too."""
    return one_row(connection, "transfer.holds_anything", (bank_id,)) is not None
