"""Recall as a whole, over the real store."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import BadRequest, BankNotFound, EmbeddingUnavailable, InvalidInput
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import ArmStatus, Budget, MinScores, TimeWindow
from hindsight_server.ports.embedder import Encoding

from .conftest import Memory, arm, talk, texts

DIARY = [
    "Ann adopted a grey cat from the shelter.",
    "Bo repaired the old bicycle in the garage.",
    "The quarterly budget was approved by the board.",
    "Dana plays the violin in a string quartet.",
    "Emil moved to Lisbon because of a new job.",
    "Farah grows tomatoes and basil on her balcony.",
    "The deployment key is called shopify-prod-key-2024 and expires in June.",
    "The staging key is called shopify-test-key-2024.",
]


@pytest.fixture
async def diary(memory: Memory) -> Memory:
    await memory.retain(*DIARY)
    return memory


@pytest.mark.feature("S1")
@pytest.mark.parametrize("budget", list(Budget))
async def test_the_fact_that_answers_comes_first(diary: Memory, budget: Budget) -> None:
    outcome = await diary.ask("Who adopted a cat?", budget=budget)
    first = outcome.results[0]
    assert first.fact.text == DIARY[0]
    assert first.arms[:2] == ("semantic", "keyword")
    assert outcome.trace.degraded == ()
    final = [result.scores.final for result in outcome.results]
    assert final == sorted(final, reverse=True)
    assert all(0 <= score <= 1 for score in final)


@pytest.mark.feature("S5")
async def test_scores_tell_which_stage_found_a_result(diary: Memory) -> None:
    outcome = await diary.ask("violin quartet")
    best, last = outcome.results[0].scores, outcome.results[-1].scores
    assert best.keyword is not None
    assert best.keyword > 0
    assert best.semantic is not None
    assert 0 < best.semantic <= 1
    assert best.reranker is not None
    assert 0 <= best.reranker <= 1
    assert last.keyword is None
    low = await diary.ask("violin quartet", budget=Budget.LOW)
    assert {result.scores.reranker for result in low.results} == {None}


@pytest.mark.feature("S8")
async def test_an_identifier_is_found_exactly(diary: Memory) -> None:
    outcome = await diary.ask("When does shopify-prod-key-2024 expire?")
    assert outcome.results[0].fact.text == DIARY[6]
    assert outcome.results[0].arms[0] == "exact"
    assert outcome.results[0].scores.final > 0.9 > outcome.results[1].scores.final


async def test_a_quotation_is_found_word_by_word(diary: Memory) -> None:
    await diary.retain("Gina said the plan is good enough for now.", "For now, is the plan good? Enough said by Gina.")
    outcome = await diary.ask('Who said "plan is good enough"?')
    assert outcome.results[0].fact.text == "Gina said the plan is good enough for now."
    assert ["exact" in result.arms for result in outcome.results].count(True) == 2  # both hold the words,
    assert outcome.results[1].scores.final < 0.9  # but one of them in another order


async def test_ids_of_documents_and_sessions_name_their_facts(memory: Memory) -> None:
    await memory.retain(
        {"content": "Nothing of note was said.", "document_id": "doc-77x"}, "doc or note, all the same."
    )
    await memory.retain({"content": "We waited.", "tags": ["task:build-9"]}, "We waited long.")
    assert (await memory.texts("summarise doc-77x"))[0] == "Nothing of note was said."
    assert (await memory.texts("what about build-9"))[0] == "We waited."


A31 = 'don\'t use a & b (ratio > 1.0), Cruise / En route: x-y "z" 100% AND OR NOT * ^ ~'


@pytest.mark.feature("S6")
async def test_punctuation_is_no_query_syntax(memory: Memory) -> None:
    await memory.retain(*DIARY, "Cruise control: use ratio 1.0 en route.", "a & b")
    asked = await memory.ask(A31)
    plain = await memory.ask(re.sub(r"[&(>),/:\"%*^~]", " ", A31))
    assert asked.trace.degraded == ()
    assert texts(asked)[0] == "Cruise control: use ratio 1.0 en route."
    assert set(texts(asked)) == set(texts(plain))


@pytest.mark.feature("S6")
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("她对什么过敏？", "小红对花生过敏，不能吃花生酱。"),
        ("ลูกค้าสั่งกาแฟ", "ลูกค้าสั่งกาแฟเย็นสองแก้ว"),
        ("東京の会議", "東京で会議が開かれた。"),
        ("민수는 김치찌개를 좋아하니?", "민수는 김치찌개를 좋아한다."),
        ("🎉 party 🎂", "The party 🎉 had a cake 🎂."),
        ("小红的API key是什么", "小红把API key放在了保险箱里。"),
    ],
)
async def test_any_script(memory: Memory, query: str, wanted: str) -> None:
    await memory.retain(
        "小红对花生过敏，不能吃花生酱。",
        "小明昨天去了图书馆。",
        "ลูกค้าสั่งกาแฟเย็นสองแก้ว",
        "東京で会議が開かれた。",
        "민수는 김치찌개를 좋아한다.",
        "The party 🎉 had a cake 🎂.",
        "小红把API key放在了保险箱里。",
        *DIARY,
    )
    assert (await memory.texts(query))[0] == wanted


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=80))
async def test_no_text_breaks_a_recall(diary: Memory, query: str) -> None:
    try:
        outcome = await diary.ask(query, trace=True)
    except InvalidInput:
        assert not re.search(r"\w", query)
    else:
        assert outcome.trace.degraded == ()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 120))
async def test_results_stay_within_the_token_budget(diary: Memory, max_tokens: int) -> None:
    outcome = await diary.ask("key", max_tokens=max_tokens)
    counted = sum(Analyzer().count_tokens(result.fact.text) for result in outcome.results)
    assert counted == outcome.result_tokens <= outcome.listed_tokens <= max_tokens
    assert outcome.results or max_tokens < 25
    assert outcome.truncated == (len(outcome.results) < len((await diary.ask("key")).results))


@pytest.mark.feature("S7")
async def test_a_time_in_the_question_is_an_arm_of_its_own(memory: Memory) -> None:
    for month in (3, 5, 7):
        await memory.retain(f"We met number {month} for lunch.", timestamp=f"2024-0{month}-10T12:00:00Z")
    outcome = await memory.ask("what lunch was in May 2024", trace=True)
    assert outcome.results[0].fact.text == "We met number 5 for lunch."
    assert [entry.fact_id for entry in arm(outcome, "temporal").ranked] == [outcome.results[0].fact.fact_id]
    # A month without a year is the last one that has facts, however long ago that is.
    late = await memory.ask("what lunch was in July", query_timestamp=datetime(2026, 11, 1, tzinfo=UTC))
    assert late.results[0].fact.text == "We met number 7 for lunch."
    assert arm(await memory.ask("lunch"), "temporal").status is ArmStatus.SKIPPED


@pytest.mark.feature("S2")
async def test_a_temporal_window_ranks_and_leaves_nothing_out(memory: Memory) -> None:
    for month in (3, 5, 7):
        await memory.retain(f"We met number {month} for lunch.", timestamp=f"2024-0{month}-10T12:00:00Z")
    window = TimeWindow(start=datetime(2024, 3, 1, tzinfo=UTC), end=datetime(2024, 3, 31, tzinfo=UTC))
    found = await memory.texts("lunch", temporal_window=window)
    assert found[0] == "We met number 3 for lunch."
    assert len(found) == 3


async def test_newer_facts_win_between_equals(memory: Memory) -> None:
    await memory.retain("The office is in Bergen.", timestamp="2026-02-20T12:00:00Z")
    await memory.retain("The office is in Lisbon.", timestamp="2025-02-20T12:00:00Z")
    found = await memory.texts("where is the office", query_timestamp=datetime(2026, 3, 1, tzinfo=UTC))
    assert found[0] == "The office is in Bergen."


async def test_an_answer_is_found_by_the_question_before_it(memory: Memory) -> None:
    words = talk(
        ("Ann", "Which instrument did you learn as a child?"),
        ("Bo", "The oboe, for six years."),
        ("Ann", "Lovely weather today in the park."),
        ("Bo", "Yes, the ducks were out in numbers."),
    )
    await memory.retain({"content": words, "document_id": "talk"})
    found = await memory.texts("Which instrument did Bo learn as a child?")
    assert "Bo: The oboe, for six years." in found[:2]


async def test_facts_that_share_an_entity_are_reached(memory: Memory) -> None:
    await memory.retain(*DIARY, "Project Zephyr uses a Kestrel engine.", "The Kestrel overheated twice at sea level.")
    outcome = await memory.ask("tell me of Project Zephyr")
    graph = {result.fact.text for result in outcome.results if "graph" in result.arms}
    assert "The Kestrel overheated twice at sea level." in graph


@pytest.mark.feature("S2")
async def test_floors(diary: Memory) -> None:
    everything = await diary.ask("violin quartet")
    reranked = sorted(result.scores.reranker or 0 for result in everything.results)[-2:]
    kept = await diary.ask("violin quartet", min_scores=MinScores(reranker=reranked[0]))
    assert len(kept.results) == 2
    final = everything.results[2].scores.final
    assert len((await diary.ask("violin quartet", min_scores=MinScores(final=final))).results) == 3  # inclusive
    assert (await diary.ask("violin quartet", min_scores=MinScores(final=1.0))).results == ()
    for field in ("final", "reranker"):
        assert (await diary.ask("violin quartet", min_scores=MinScores(**{field: 1e308}))).results == ()
    unreached = await diary.ask("violin quartet", min_scores=MinScores(semantic=1e308, keyword=1e308))
    assert [arm(unreached, name).candidates for name in ("semantic", "keyword")] == [0, 0]
    assert unreached.trace.degraded == ()
    floored = await diary.ask("violin quartet", min_scores=MinScores(semantic=0.3, keyword=1.0))
    for result in floored.results:
        assert result.scores.semantic is None or result.scores.semantic >= 0.3
        assert result.scores.keyword is None or result.scores.keyword >= 1.0
    assert len(floored.results) >= 1


async def test_a_reranker_floor_without_a_reranker_is_refused(diary: Memory) -> None:
    floor = MinScores(reranker=0.2)
    with pytest.raises(BadRequest, match="budget 'low'") as refused:
        await diary.ask("violin", budget=Budget.LOW, min_scores=floor)
    assert refused.value.field == "min_scores.reranker"
    plain = Recaller(diary.engine.store, HashingEmbedder(tokens=False), Analyzer(), diary.engine.clock)
    with pytest.raises(BadRequest, match="none for the script"):
        await Memory(diary.engine, plain).ask("violin", min_scores=floor)


async def test_unknown_bank_and_unknown_type(diary: Memory) -> None:
    with pytest.raises(BankNotFound):
        await diary.ask("cat", bank_id="nobody")
    with pytest.raises(InvalidInput, match="'dream' is no fact type"):
        await diary.ask("cat", types=("world", "dream"))
    assert await diary.texts("cat", types=("opinion",)) == []
    assert DIARY[0] in await diary.texts("cat", types=("world", "opinion"))


async def test_an_empty_bank_answers_nothing(memory: Memory) -> None:
    await memory.engine.store.ensure_bank("b", memory.engine.clock.now())
    assert (await memory.ask("anything at all?")).results == ()


async def test_banks_do_not_see_each_other(memory: Memory) -> None:
    await memory.retain("Ann's secret is a zebra.", bank_id="ann")
    await memory.retain("Bo likes trains.", bank_id="bo")
    assert await memory.texts("zebra secret", bank_id="bo") == ["Bo likes trains."]
    outcome = await memory.ask("Ann zebra secret", bank_id="bo", trace=True, entities_max_tokens=500)
    assert "Ann" not in str(outcome.entities)


async def test_writes_are_seen_by_the_next_recall(memory: Memory) -> None:
    await memory.retain({"content": "Ann keeps bees.", "document_id": "one"})
    assert await memory.texts("bees") == ["Ann keeps bees."]
    await memory.retain({"content": "Bo keeps bees too.", "document_id": "two"})
    assert set(await memory.texts("bees")) == {"Ann keeps bees.", "Bo keeps bees too."}
    await memory.engine.store.delete_document("b", "one", memory.engine.clock.now())
    assert await memory.texts("bees") == ["Bo keeps bees too."]
    await memory.engine.store.delete_bank("b")
    with pytest.raises(BankNotFound):
        await memory.ask("bees")
    await memory.retain("Cy keeps wasps.")
    assert await memory.texts("bees") == ["Cy keeps wasps."]


@pytest.mark.feature("S5")
async def test_the_trace_says_what_every_arm_did(diary: Memory) -> None:
    outcome = await diary.ask("Who adopted a cat in 2024?", trace=True)
    trace = outcome.trace.as_dict()
    assert [one["name"] for one in trace["arms"]] == [
        "exact", "semantic", "keyword", "context", "graph", "temporal", "reranker",
    ]  # fmt: skip
    assert trace["arms"][2]["ranked"][0]["id"] == outcome.results[0].fact.fact_id
    assert trace["terms"] == ["adopt", "cat", "2024"]
    (window,) = trace["time_windows"]
    assert window["start"].startswith("2024-01-01")
    assert window["end"].startswith("2024-12-31")
    assert (window["phrase"], window["source"]) == ("2024", "query")
    assert [one["id"] for one in trace["explained"]] == [result.fact.fact_id for result in outcome.results]
    assert trace["facts_visible"] == len(DIARY)


class Broken:
    """A store one of whose reads fails or never ends."""

    def __init__(self, store: Any, read: str, problem: Any) -> None:
        self._store, self._read, self._problem = store, read, problem

    def __getattr__(self, name: str) -> Any:
        return self._fail if name == self._read else getattr(self._store, name)

    async def _fail(self, *args: Any) -> Any:
        if isinstance(self._problem, Exception):
            raise self._problem
        return await self._problem()


class BrokenEmbedder(HashingEmbedder):
    """Embeds nothing, for one reason or another."""

    def __init__(self, *, loading: bool) -> None:
        super().__init__()
        self._loading = loading

    @property
    def ready(self) -> bool:
        return not self._loading

    def wait_ready(self, timeout: float) -> bool:
        return False

    def encode_query(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        raise EmbeddingUnavailable("The model file is damaged.")


@pytest.mark.feature("S1")
@pytest.mark.parametrize(
    ("read", "left_out"),
    [("postings", {"keyword"}), ("name_groups", {"graph"}), ("token_vectors", {"reranker"})],
)
async def test_a_failing_arm_empties_no_other(diary: Memory, read: str, left_out: set[str]) -> None:
    store: Any = Broken(diary.engine.store, read, RuntimeError("disk"))
    outcome = await Memory(diary.engine, Recaller(store, HashingEmbedder(), Analyzer(), diary.engine.clock)).ask(
        "Who adopted a cat?"
    )
    assert outcome.results[0].fact.text == DIARY[0]
    assert left_out <= set(outcome.trace.degraded) <= left_out | {"exact"}
    assert any("RuntimeError" in note for note in outcome.trace.notes)
    assert "disk" not in str(outcome.trace.as_dict())  # what went wrong inside is for the log


async def test_a_late_arm_is_named(diary: Memory) -> None:
    store: Any = Broken(diary.engine.store, "name_groups", lambda: asyncio.sleep(60))
    outcome = await Memory(diary.engine, Recaller(store, HashingEmbedder(), Analyzer(), diary.engine.clock)).ask(
        "Who adopted a cat?", deadline_seconds=1.0
    )
    assert arm(outcome, "graph").status is ArmStatus.LATE


@pytest.mark.parametrize("loading", [True, False])
async def test_without_a_model_the_words_answer(diary: Memory, loading: bool) -> None:
    recaller = Recaller(diary.engine.store, BrokenEmbedder(loading=loading), Analyzer(), diary.engine.clock)
    outcome = await Memory(diary.engine, recaller).ask("Who adopted a cat?")
    assert outcome.results[0].fact.text == DIARY[0]
    assert outcome.results[0].scores.semantic is None
    assert outcome.trace.degraded == ("semantic",)
    assert arm(outcome, "semantic").status is (ArmStatus.LATE if loading else ArmStatus.FAILED)
