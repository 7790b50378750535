"""What recall reads: the changes of a bank since a mark, and token vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from hindsight_server.adapters.sqlite.queries import one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.embedder import Int8Array
from hindsight_server.ports.records import FactRow, Float32Array, Int64Array, Snapshot

_NO_SEQS: Int64Array = np.empty(0, np.int64)
_LAST = 2**63 - 1
_FEW_NEWS = 64


def read_snapshot(
    connection: apsw.Connection, bank_id: str, after_seq: int, after_version: int, *, limit: int | None = None
) -> Snapshot:
    """Raises BankNotFound."""
    mark = one_row(connection, "snapshots.mark", (bank_id,))
    if mark is None:
        raise BankNotFound(bank_id)
    version, removed_since, settings, _ = mark
    config = from_json(settings)
    if after_version == version and limit is None:
        return Snapshot(version=version, rows=(), vectors={}, removed=_NO_SEQS, config=config)
    fresh = (after_seq, after_version) == (0, 0)
    rebuild = not fresh and not removed_since <= after_version <= version
    if fresh or rebuild:
        after_seq, removed = 0, _NO_SEQS
    else:
        gone = connection.execute(sql("snapshots.removed"), (bank_id, after_version, after_seq))
        removed = np.array([seq for (seq,) in gone], np.int64)
    rows = _read_rows(connection, bank_id, after_seq, -1 if limit is None else limit)
    complete = limit is None or len(rows) < limit
    until = _LAST if complete else rows[-1].seq
    vectors = _read_vectors(connection, bank_id, (after_seq, until), rows)
    return Snapshot(
        version=version,
        rows=rows,
        vectors=vectors,
        removed=removed,
        rebuild=rebuild,
        complete=complete,
        config=config,
    )


def read_news(connection: apsw.Connection, bank_id: str, after_seq: int, after_version: int) -> Snapshot | None:
    """The snapshot after a mark if few facts are newer, else None. Raises BankNotFound."""
    mark = one_row(connection, "snapshots.mark", (bank_id,))
    if mark is not None and (mark[3] - after_seq > _FEW_NEWS or not mark[1] <= after_version <= mark[0]):
        return None
    return read_snapshot(connection, bank_id, after_seq, after_version)


def read_token_vectors(
    connection: apsw.Connection, bank_id: str, space: str, seqs: Sequence[int]
) -> dict[int, Int8Array]:
    wanted = {"bank_id": bank_id, "space": space, "seqs": to_json([int(seq) for seq in seqs])}
    return {
        seq: np.frombuffer(vectors, np.int8).reshape(-1, width)
        for seq, width, vectors in connection.execute(sql("snapshots.token_vectors"), wanted)
    }


def _read_rows(connection: apsw.Connection, bank_id: str, after_seq: int, limit: int) -> list[FactRow]:
    # Most facts share their document, speaker, tags and entities with others: one object each keeps the memory small.
    shared: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, tuple[int, ...]] = {}
    rows = []
    for (
        seq, fact_type, document_id, turn_index, context, session, speaker, role,
        mentioned_at, occurred_start, occurred_end, length, tokens, flags, proof_count, tags, entities, fold,
    ) in connection.execute(sql("snapshots.rows"), (bank_id, after_seq, limit)):  # fmt: skip
        tag_tuple = lists.get(tags)
        if tag_tuple is None:
            tag_tuple = lists[tags] = tuple(from_json(tags))
        entity_tuple = numbers.get(entities)
        if entity_tuple is None:
            entity_tuple = numbers[entities] = tuple(from_json(entities))
        rows.append(
            FactRow(
                seq,
                shared.setdefault(fact_type, fact_type),
                shared.setdefault(document_id, document_id),
                turn_index,
                context and shared.setdefault(context, context),
                session and shared.setdefault(session, session),
                speaker and shared.setdefault(speaker, speaker),
                role and shared.setdefault(role, role),
                math.nan if mentioned_at is None else mentioned_at / 1e6,
                math.nan if occurred_start is None else occurred_start / 1e6,
                math.nan if occurred_end is None else occurred_end / 1e6,
                length,
                tokens,
                flags,
                proof_count,
                tag_tuple,
                entity_tuple,
                fold,
            )
        )
    return rows


def read_vectors(
    connection: apsw.Connection, bank_id: str, wanted: Sequence[int]
) -> dict[str, tuple[Int64Array, Float32Array]]:
    values = {"bank_id": bank_id, "seqs": to_json([int(seq) for seq in wanted])}
    return _by_space(connection.execute(sql("snapshots.vectors_of"), values))


def _by_space(rows: Iterable[tuple[int, str, bytes]]) -> dict[str, tuple[Int64Array, Float32Array]]:
    """Vectors as they are stored, as one matrix a space."""
    by_space: dict[str, tuple[list[int], list[bytes]]] = {}
    for seq, space, vector in rows:
        held = by_space.get(space)
        if held is None:
            held = by_space[space] = ([], [])
        held[0].append(seq)
        held[1].append(vector)
    return {
        space: (
            np.array(seqs, np.int64),
            np.frombuffer(b"".join(blobs), "<f2").reshape(len(blobs), -1).astype(np.float32),
        )
        for space, (seqs, blobs) in by_space.items()
    }


def _read_vectors(
    connection: apsw.Connection, bank_id: str, span: tuple[int, int], rows: Sequence[FactRow]
) -> dict[str, tuple[Int64Array, Float32Array]]:
    recallable = np.array([row.seq for row in rows], np.int64)
    found: dict[str, tuple[Int64Array, Float32Array]] = {}
    wanted = {"bank_id": bank_id, "after": span[0], "until": span[1]}
    by_space = _by_space(connection.execute(sql("snapshots.vectors"), wanted))
    for space, (seqs, matrix) in by_space.items():
        # Invalidated facts keep their vectors, in case they are restored.
        kept = np.isin(seqs, recallable, assume_unique=True)
        if not kept.all():
            seqs, matrix = seqs[kept], matrix[kept]
        if seqs.size:
            found[space] = (seqs, matrix)
    return found
