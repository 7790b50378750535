"""A view that followed its bank step by step equals one built afresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.records import FactRow, Snapshot

from .conftest import NO_SEQS, fact_row

ROWS = st.builds(
    fact_row,
    seq=st.just(0),
    document_id=st.sampled_from(["a", "b", "c", "d"]),
    turn_index=st.integers(0, 3),
    context=st.sampled_from([None, " ", "chat", "talk", "haystack"]),
    session=st.sampled_from([None, None, "session:1", "task:2"]),
    speaker=st.sampled_from([None, "Ann", "Bo"]),
    mentioned_at=st.sampled_from([float("nan"), 0.0, 600.0, 1200.0, 4000.0, 5000.0]),
    fact_type=st.sampled_from(["world", "experience", "observation"]),
    tags=st.sampled_from([(), ("x",), ("x", "y")]),
    entities=st.sampled_from([(), (1,), (2, 3)]),
)
STEPS = st.lists(st.tuples(st.lists(ROWS, max_size=5), st.lists(st.integers(0, 20), max_size=4)), max_size=6)


def snapshot(version: int, rows: Sequence[FactRow], removed: Sequence[int] = ()) -> Snapshot:
    seqs = np.array([row.seq for row in rows if row.seq % 3], np.int64)  # some facts have no vector
    matrix = np.array([[seq, 1.0] for seq in seqs], np.float32).reshape(-1, 2)
    return Snapshot(version=version, rows=rows, vectors={"s": (seqs, matrix)}, removed=np.array(removed, np.int64))


def described(view: BankView) -> dict[int, object]:
    """All that is known of each living fact, in terms of `seq`s instead of rows."""

    def seq(row: int) -> int | None:
        return int(view.seq[row]) if row >= 0 else None

    members: dict[int, frozenset[int]] = {}
    alive = np.flatnonzero(view.alive).tolist()
    for row in alive:
        session = int(view.neighbours.session[row])
        if session >= 0:
            members[session] = members.get(session, frozenset()) | {int(view.seq[row])}
    held = view.vectors.get("s")
    vectors = {int(row): tuple(code) for row, code in zip(held.rows, held.codes.tolist(), strict=True)} if held else {}
    buffers = view.buffers
    return {
        int(view.seq[row]): (
            seq(int(view.neighbours.previous[row])),
            seq(int(view.neighbours.following[row])),
            members.get(int(view.neighbours.session[row])),
            buffers.documents.values[view.document[row]],
            buffers.tagsets.values[view.tagset[row]],
            buffers.speakers.values[view.speaker[row]] if view.speaker[row] >= 0 else None,
            tuple(view.entities_of(row)),
            vectors.get(row),
            int(view.fact_type[row]),
        )
        for row in alive
    }


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_followed_view_equals_a_fresh_one(steps: list[tuple[list[FactRow], list[int]]]) -> None:
    view = BankView.built(snapshot(1, []))
    held: dict[int, FactRow] = {}
    last = 0
    for version, (rows, removals) in enumerate(steps, start=2):
        removed = [seq for seq in dict.fromkeys(removals) if seq in held]
        added = [replace(row, seq=last + 1 + at) for at, row in enumerate(rows)]
        last += len(added)
        held = {seq: row for seq, row in held.items() if seq not in removed} | {row.seq: row for row in added}
        view = view.advanced(snapshot(version, added, removed))
        assert view.version == version
    assert described(view) == described(BankView.built(snapshot(99, list(held.values()))))


def test_older_view_is_untouched_by_newer_ones() -> None:
    old = BankView.built(snapshot(1, [fact_row(1, document_id="d"), fact_row(2, document_id="d", turn_index=1)]))
    before = described(old)
    newer = old
    for step in range(200):  # enough to make every buffer grow
        newer = newer.advanced(snapshot(2 + step, [fact_row(3 + step, document_id="d", turn_index=2 + step)], []))
    newest = newer.advanced(snapshot(999, [], [1, 2]))
    assert described(old) == before
    assert set(described(newest)) == set(range(3, 203))


def test_a_snapshot_that_starts_anew_replaces_everything() -> None:
    old = BankView.built(snapshot(1, [fact_row(1), fact_row(2)]))
    anew = replace(snapshot(7, [fact_row(5)]), rebuild=True)
    assert set(described(old.advanced(anew))) == {5}


def test_empty_bank() -> None:
    view = BankView.built(Snapshot(version=1, rows=[], vectors={}, removed=NO_SEQS))
    assert (len(view), view.last_seq) == (0, 0)
    assert len(view.rows_of(np.array([1, 2]))) == 0
