"""The real `hindsight-client` against the real server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from hindsight_client import Hindsight


@pytest.fixture
async def client(server_url: str) -> Any:
    client = Hindsight(base_url=server_url, timeout=60)
    yield client
    await client.aclose()


async def test_what_is_retained_is_recalled(client: Any, bank: str) -> None:
    stored = await client.aretain(
        bank, "Alice joined Google in March 2024 as a Senior ML Engineer", timestamp=datetime(2024, 4, 1, tzinfo=UTC)
    )
    assert stored.success
    assert stored.items_count == 1
    found = await client.arecall(bank, "Where does Alice work?")
    assert "Google" in found.results[0].text
    assert found.results[0].type == "world"
    assert found.results[0].scores.final > 0
    assert found.results[0].mentioned_at.startswith("2024-04-01")


@pytest.mark.feature("S2")
async def test_every_option_of_recall_is_taken(client: Any, bank: str) -> None:
    await client.aretain_batch(
        bank,
        [
            {"content": "Alice: I moved to Oslo.", "timestamp": "2024-03-01T10:00:00Z", "tags": ["a"]},
            {"content": "Alice: I moved to Lisbon.", "timestamp": "2023-03-01T10:00:00Z", "tags": ["b"]},
        ],
    )
    found = await client.arecall(
        bank,
        "Where did Alice move last spring?",
        types=["world", "experience"],
        max_tokens=200,
        budget="high",
        trace=True,
        query_timestamp="2024-06-01T00:00:00Z",
        include_entities=True,
        include_chunks=True,
        include_source_facts=True,
        tags=["a"],
        tags_match="all_strict",
        prefer_observations=False,
        min_scores={"final": 0.0},
        temporal_window={"start": "2024-01-01T00:00:00Z", "end": "2024-12-31T00:00:00Z"},
    )
    assert ["Oslo" in result.text for result in found.results] == [True]
    assert found.results[0].chunk_id in found.chunks
    assert found.trace["num_results"] == 1


@pytest.mark.feature("S2")
async def test_the_time_filter_leaves_out_other_times(api: Any, bank: str) -> None:
    for year, town in ((2023, "Lisbon"), (2024, "Oslo")):
        api.retain(bank, {"content": f"Alice: I moved to {town}.", "timestamp": f"{year}-03-01T10:00:00Z"})
    window = {"start": "2024-01-01", "end": "2024-12-31", "on": "mentioned"}
    found = api.recall(bank, "Where did Alice move?", time_filter=window).body["results"]
    assert ["Oslo" in result["text"] for result in found] == [True]


@pytest.mark.feature("F8")
async def test_reflect_answers_from_evidence_and_says_how(client: Any, bank: str) -> None:
    await client.aretain(bank, "Alice: I moved to Oslo.")
    answer = await client.areflect(bank, "Where does Alice live?", include_facts=True, include_tool_calls=True)
    assert "Oslo" in answer.text
    assert [fact.text for fact in answer.based_on.memories]
    assert answer.trace.tool_calls
    assert "language model" in answer.text.lower()


async def test_reflect_creates_a_bank_and_recall_does_not(client: Any, bank: str) -> None:
    assert (await client.areflect(bank, "Where does Alice live?")).text
    assert (await client.arecall(bank, "Alice")).results == []


async def test_a_schema_without_a_language_model_says_why(client: Any, bank: str) -> None:
    await client.aretain(bank, "Alice: I moved to Oslo.")
    schema = {"type": "object", "properties": {"town": {"type": "string"}}}
    answer = await client.areflect(bank, "Where does Alice live?", response_schema=schema)
    assert answer.structured_output is None
    assert "language model" in answer.structured_output_error


async def test_banks_through_the_client(client: Any, bank: str) -> None:
    made = await client.acreate_bank(bank, name="Alice", mission="Help", disposition_skepticism=5)
    assert made.disposition.skepticism == 5
    assert (await client.aget_bank_config(bank))["config"]["retain_chunk_size"] == 3000
    changed = await client.aupdate_bank_config(bank, retain_chunk_size=1000)
    assert changed["overrides"]["retain_chunk_size"] == 1000
    assert (await client.areset_bank_config(bank))["overrides"] == {}
    listed = await client.banks.list_banks(q=bank)
    assert [row.bank_id for row in listed.banks] == [bank]
    assert (await client.adelete_bank(bank)).success


@pytest.mark.feature("R1")
async def test_what_is_retained_in_the_background_is_readable_at_once(client: Any, bank: str) -> None:
    stored = await client.aretain(bank, "Alice: I moved to Oslo.", retain_async=True)
    assert stored.var_async
    assert stored.operation_id
    assert "Oslo" in (await client.arecall(bank, "Alice Oslo")).results[0].text
    for _ in range(200):
        status = await client.operations.get_operation_status(bank, stored.operation_id)
        if status.status == "completed":
            break
        await asyncio.sleep(0.05)
    assert status.status == "completed"
    assert len((await client.arecall(bank, "Alice Oslo")).results) == 1


async def test_many_clients_at_once_lose_nothing(server_url: str, bank: str) -> None:
    async def work(number: int) -> None:
        client = Hindsight(base_url=server_url, timeout=60)
        try:
            for step in range(5):
                await client.aretain(bank, f"Agent{number} wrote the word code{number}x{step}.")
                found = await client.arecall(bank, f"code{number}x{step}")
                assert f"code{number}x{step}" in found.results[0].text
        finally:
            await client.aclose()

    await asyncio.gather(*(work(number) for number in range(8)))
    client = Hindsight(base_url=server_url, timeout=60)
    listed = await client.alist_memories(bank, limit=100)
    await client.aclose()
    assert listed.total == 40
