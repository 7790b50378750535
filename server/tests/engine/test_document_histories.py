"""Whatever is done to a document, in whatever order: it holds what the last replacement and later appends brought."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FLAG_PENDING, FactFilter

from .conftest import SteppingClock, build

# What is retained (how, at once or by a job, how many turns), or None to let the jobs be done.
STEP = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(["replace", "append"]), st.booleans(), st.integers(min_value=1, max_value=3)),
)


@pytest.mark.feature("R4")
@settings(max_examples=40, deadline=None)
@given(st.lists(STEP, max_size=8))
def test_no_history_loses_or_keeps_a_turn_wrongly(steps: list[tuple[str, bool, int] | None]) -> None:
    asyncio.run(_play(steps))


async def _play(steps: list[tuple[str, bool, int] | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder))
        await store.open()
        try:
            engine = build(store, SteppingClock())
            expected: list[str] = []
            for number, step in enumerate(steps):
                if step is None:
                    await engine.jobs.run_until_idle()
                    continue
                mode, run_async, count = step
                lines = [f"Ann: step {number} says line {line}." for line in range(count)]
                item = ItemInput(content="\n".join(lines), document_id="d", update_mode=mode)
                await engine.retain("b", [item], run_async=run_async)
                expected = lines if mode == "replace" else [*expected, *lines]
                assert sorted(await engine.texts("b")) == sorted(expected)
            await engine.jobs.run_until_idle()
            if not expected:
                return
            assert (await engine.documents.get("b", "d")).text == "\n".join(expected)
            facts = (await engine.memories.list("b", FactFilter(state="valid"), 100)).items
            by_turn = sorted(facts, key=lambda fact: fact.turn_index)
            assert [fact.text for fact in by_turn] == expected
            assert [fact.turn_index for fact in by_turn] == list(range(len(expected)))
            snapshot = await store.snapshot("b", 0, 0)
            assert len(snapshot.vectors["hashing-384"][0]) == len(expected)
            assert not any(row.flags & FLAG_PENDING for row in snapshot.rows)
        finally:
            await store.close()
