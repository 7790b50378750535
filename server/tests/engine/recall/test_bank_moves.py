"""A recall whose facts are replaced while it ranks them looks again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.bootstrap import build_services
from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.types import RecallQuery
from hindsight_server.engine.retain import ItemInput
from hindsight_server.settings import Settings


@pytest.mark.feature("R1")
async def test_facts_that_a_job_replaces_during_a_recall_are_still_found(tmp_path: Path) -> None:
    services = build_services(Settings(data_dir=tmp_path / "data", embeddings_provider="hashing"))
    store: Any = services.store
    read = store.facts
    replaced = []

    async def replace_then_read(bank_id: str, seqs: Sequence[int]) -> list[Fact]:
        if not replaced:
            replaced.append(True)
            item = ItemInput(content="Ann: I bought a red canoe.", document_id="d")
            await services.retainer.retain(bank_id, [item])
        return list(await read(bank_id, seqs))

    async with services.running():
        await services.retainer.retain("b", [ItemInput(content="Ann: I bought a canoe.", document_id="d")])
        store.facts = replace_then_read
        found = await services.recaller.recall("b", RecallQuery(query="canoe"))
    assert replaced
    assert ["red canoe" in result.fact.text for result in found.results] == [True]


@pytest.mark.feature("R1")
async def test_facts_that_a_job_replaces_before_their_words_are_looked_up_are_still_found(tmp_path: Path) -> None:
    services = build_services(Settings(data_dir=tmp_path / "data", embeddings_provider="hashing"))
    store: Any = services.store
    read = store.postings
    replaced = []

    async def replace_then_read(bank_id: str, marks: Any) -> Any:
        if not replaced:
            replaced.append(True)
            item = ItemInput(content="Ann: I bought a red canoe.", document_id="d")
            await services.retainer.retain(bank_id, [item])
        return await read(bank_id, marks)

    async with services.running():
        # Pending, so that it has no vector and only its words can find it.
        await services.retainer.retain(
            "b", [ItemInput(content="Ann: I bought a canoe.", document_id="d")], run_async=True
        )
        store.postings = replace_then_read
        found = await services.recaller.recall("b", RecallQuery(query="canoe"))
    assert replaced
    assert ["red canoe" in result.fact.text for result in found.results] == [True]
