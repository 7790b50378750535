"""What a bank's own settings change in a recall."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import BadRequest
from hindsight_server.engine.recall.bank_settings import read_settings
from hindsight_server.engine.recall.types import ArmStatus, Budget, MinScores, RecallQuery

from .conftest import Memory, arm

ALL_OPEN = frozenset({"max_tokens", "prefer_observations", "chunks", "chunks_max_tokens"})


@pytest.fixture
async def filled(memory: Memory) -> Memory:
    await memory.retain(
        *[f"Ann and Boris met Cyrus in Lisbon, number {number}." for number in range(30)],
        timestamp="2024-05-10T12:00:00Z",
    )
    return memory


async def _set(memory: Memory, **settings: Any) -> None:
    await memory.engine.banks.update_config("b", settings)


@pytest.mark.feature("S1")
@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("enable_text_search", "keyword"),
        ("enable_graph_retrieval", "graph"),
        ("enable_temporal_retrieval", "temporal"),
        ("enable_reranking", "reranker"),
    ],
)
async def test_an_arm_can_be_turned_off(filled: Memory, setting: str, name: str) -> None:
    query = "When did Ann meet Boris in Lisbon in May 2024?"
    assert arm(await filled.ask(query), name).status is ArmStatus.OK
    await _set(filled, **{setting: False})
    outcome = await filled.ask(query)
    assert (arm(outcome, name).status, arm(outcome, name).candidates) == (ArmStatus.SKIPPED, 0)
    assert "bank's settings" in (arm(outcome, name).detail or "")
    assert outcome.trace.degraded == ()
    assert outcome.results
    if name == "keyword":
        assert {result.scores.keyword for result in outcome.results} == {None}
        assert outcome.trace.terms == ()
    if name == "temporal":
        assert outcome.trace.time_windows == ()
    if name == "reranker":
        assert {result.scores.reranker for result in outcome.results} == {None}
        with pytest.raises(BadRequest, match="enable_reranking"):
            await filled.ask(query, min_scores=MinScores(reranker=0.1))
    await _set(filled, **{setting: None})
    assert arm(await filled.ask(query), name).status is ArmStatus.OK


@pytest.mark.feature("S2")
async def test_a_budget_of_the_bank_counts_where_the_caller_names_none(filled: Memory) -> None:
    everything = await filled.ask("Lisbon", left_open=ALL_OPEN)
    assert len(everything.results) == 30
    assert everything.chunks is None
    await _set(filled, recall_max_tokens=60, recall_include_chunks=True, recall_chunks_max_tokens=20)
    less = await filled.ask("Lisbon", left_open=ALL_OPEN)
    assert 0 < len(less.results) < 6
    assert less.chunks is not None
    assert less.chunks[-1].truncated
    given = await filled.ask("Lisbon", max_tokens=4096)
    assert (len(given.results), given.chunks) == (30, None)


async def test_candidates_of_an_arm(filled: Memory) -> None:
    await _set(filled, recall_budget_fixed_mid=7)
    outcome = await filled.ask("Ann Lisbon", max_tokens=100)
    assert [arm(outcome, name).candidates for name in ("semantic", "keyword", "context")] == [7, 7, 21]
    assert arm(await filled.ask("Ann Lisbon", budget=Budget.LOW), "keyword").candidates == 30


@pytest.mark.parametrize(
    ("config", "budget", "arm_limit"),
    [
        ({}, Budget.MID, 100),
        ({"recall_budget_fixed_low": 5}, Budget.LOW, 5),
        ({"recall_budget_fixed_low": 5}, Budget.HIGH, 300),
        ({"recall_budget_fixed_high": 10**9}, Budget.HIGH, 2000),
        ({"recall_budget_function": "adaptive"}, Budget.MID, 307),  # 7.5 % of 4,096
        ({"recall_budget_function": "adaptive"}, Budget.LOW, 102),
        ({"recall_budget_function": "adaptive", "recall_budget_max": 50}, Budget.HIGH, 50),
        ({"recall_budget_function": "adaptive", "recall_budget_min": 400}, Budget.LOW, 400),
    ],
)
def test_how_many_candidates_an_arm_brings(config: dict[str, Any], budget: Budget, arm_limit: int) -> None:
    settings, _ = read_settings(config, RecallQuery(query="x", budget=budget))
    assert settings.limits.arm == arm_limit


@pytest.mark.parametrize(
    ("config", "query", "expected"),
    [
        ({"recall_max_tokens": 9}, {"left_open": ALL_OPEN}, {"max_tokens": 9}),
        ({"recall_max_tokens": 9}, {"max_tokens": 50}, {"max_tokens": 50}),
        ({"recall_prefer_observations": True}, {"left_open": ALL_OPEN}, {"prefer_observations": True}),
        ({"recall_prefer_observations": True}, {}, {"prefer_observations": False}),
        ({"recall_include_chunks": True}, {"left_open": ALL_OPEN}, {"chunks_max_tokens": 1000}),
        ({"recall_include_chunks": False}, {"left_open": ALL_OPEN}, {"chunks_max_tokens": None}),
        ({"recall_chunks_max_tokens": 7}, {"left_open": ALL_OPEN}, {"chunks_max_tokens": None}),
        (
            {"recall_chunks_max_tokens": 7},
            {"left_open": frozenset({"chunks_max_tokens"}), "chunks_max_tokens": 8192},
            {"chunks_max_tokens": 7},
        ),
        ({"recall_chunks_max_tokens": 7}, {"chunks_max_tokens": 8192}, {"chunks_max_tokens": 8192}),
    ],
)
def test_what_a_query_left_open_is_filled_in(
    config: dict[str, Any], query: dict[str, Any], expected: dict[str, Any]
) -> None:
    _, filled_in = read_settings(config, RecallQuery(query="x", **query))
    assert {name: getattr(filled_in, name) for name in expected} == expected
