"""Which facts hold a term, packed in blocks.

A block is little-endian int64 numbers, ``seq * 65536 + frequency``, ascending. Reading the postings of a term with
100,000 facts then takes about a thousand rows instead of 100,000, and each posting 8 bytes instead of a row of 40.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import apsw
import numpy as np

from hindsight_server.adapters.sqlite.queries import column
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_json
from hindsight_server.ports.records import Int32Array, Int64Array

_SHIFT = 16
_MOST = (1 << _SHIFT) - 1
# 768 bytes and the key stay inside one page of the tree; a larger block would spill over into pages of its own.
_BLOCK = 96
_BLOCK_BYTES = _BLOCK * 8


def add_postings(connection: apsw.Connection, bank_id: str, facts: Iterable[tuple[int, Mapping[str, int]]]) -> None:
    """Add facts, given as number and term frequencies. Their numbers ascend and are above all that the bank holds."""
    by_term: dict[str, list[int]] = {}
    for seq, terms in facts:
        high = seq << _SHIFT
        for term, frequency in terms.items():
            packed = high | (frequency if frequency < _MOST else _MOST)
            held = by_term.get(term)
            if held is None:
                by_term[term] = [packed]
            else:
                held.append(packed)
    if not by_term:
        return
    terms_sorted = sorted(by_term)
    rows = connection.execute(sql("postings.last_blocks"), {"bank_id": bank_id, "terms": to_json(terms_sorted)})
    last = {term: (start, block) for term, start, block in rows if len(block) < _BLOCK_BYTES}
    written: list[tuple[str, str, int, bytes]] = []
    for term in terms_sorted:
        packed_list = by_term[term]
        if term in last:
            start, block = last[term]
            room = _BLOCK - len(block) // 8
            written.append((bank_id, term, start, block + _pack(packed_list[:room])))
            packed_list = packed_list[room:]
        for position in range(0, len(packed_list), _BLOCK):
            piece = packed_list[position : position + _BLOCK]
            written.append((bank_id, term, piece[0] >> _SHIFT, _pack(piece)))
    connection.executemany(sql("postings.write"), written)


def remove_postings(connection: apsw.Connection, bank_id: str, facts: Iterable[tuple[int, Mapping[str, int]]]) -> None:
    """Remove facts, given as number and term frequencies, in ascending order."""
    by_term: dict[str, list[int]] = {}
    for seq, terms in facts:
        for term in terms:
            by_term.setdefault(term, []).append(seq)
    written: list[tuple[str, str, int, bytes]] = []
    emptied: list[tuple[str, str, int]] = []
    for term in sorted(by_term):
        seqs = by_term[term]
        span = {"bank_id": bank_id, "term": term, "first": seqs[0], "last": seqs[-1]}
        for start, block in connection.execute(sql("postings.blocks_between"), span):
            packed = np.frombuffer(block, "<i8")
            kept = packed[~np.isin(packed >> _SHIFT, seqs)]
            if not kept.size:
                emptied.append((bank_id, term, start))
            elif kept.size < packed.size:
                written.append((bank_id, term, start, kept.tobytes()))
    connection.executemany(sql("postings.write"), written)
    connection.executemany(sql("postings.delete"), emptied)


def read_postings(
    connection: apsw.Connection, bank_id: str, terms: Mapping[str, int]
) -> dict[str, tuple[Int64Array, Int32Array]]:
    """For each term, the numbers above the given one and the frequencies."""
    found: dict[str, tuple[Int64Array, Int32Array]] = {}
    for term, after in terms.items():
        values = {"bank_id": bank_id, "term": term, "after": after}
        blocks = column(connection, "postings.blocks_after", values)
        packed = np.frombuffer(b"".join(blocks), "<i8")
        seqs = (packed >> _SHIFT).astype(np.int64)
        first = int(np.searchsorted(seqs, after, side="right"))
        found[term] = (seqs[first:], (packed[first:] & _MOST).astype(np.int32))
    return found


def _pack(numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)
