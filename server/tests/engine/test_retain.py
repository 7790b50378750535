"""Retain over the real store and extractor."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import Conflict, EmbeddingUnavailable, InvalidInput
from hindsight_server.domain.model import Fact, FactState
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.jobs import JobRunner
from hindsight_server.engine.repair import VectorRepair
from hindsight_server.engine.retain import ItemInput, Retainer
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.records import FLAG_PENDING, DocumentFilter, FactFilter

from .conftest import Engine


async def facts(engine: Engine, bank_id: str = "b") -> list[Fact]:
    page = await engine.memories.list(bank_id, FactFilter(), 1000)
    return list(reversed(page.items))


@pytest.mark.feature("R1")
async def test_one_item_and_a_batch_are_stored_and_found_again(engine: Engine) -> None:
    one = await engine.retain("b", [ItemInput(content="Ann moved to Oslo in 2015.")])
    assert (one.bank_id, one.items_count, one.run_async, one.operation_id) == ("b", 1, False, None)
    assert (one.fact_count, one.unencoded_count) == (1, 0)
    batch = await engine.retain("b", [ItemInput(content=f"Bob likes tea number {n}.") for n in range(50)])
    assert (batch.items_count, batch.fact_count, len(set(batch.document_ids))) == (50, 50, 50)
    assert len(await facts(engine)) == 51
    snapshot = await engine.store.snapshot("b", 0, 0)
    (seqs, matrix) = snapshot.vectors["hashing-384"]
    assert (len(seqs), matrix.shape) == (51, (51, 384))


@pytest.mark.feature("R1")
async def test_a_bad_item_leaves_nothing_behind(engine: Engine) -> None:
    with pytest.raises(InvalidInput, match=r"items\[1\]"):
        await engine.retain("b", [ItemInput(content="good"), ItemInput(content=" ")])
    assert (await engine.banks.list()).total == 0


@pytest.mark.parametrize("bank_id", ["a/b c", "🎈", "用户/1", "%2F", "x" * 1000])
async def test_any_bank_id_works(engine: Engine, bank_id: str) -> None:
    await engine.retain(bank_id, [ItemInput(content="Ann moved to Oslo.")])
    assert await engine.texts(bank_id) == ["Ann moved to Oslo."]
    assert (await engine.banks.list()).total == 1


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE facts; -- \" OR 1=1 * NEAR( ) { } [ ] \\ / ~ ^",
        "昨天我和小明在上海见面，讨论了项目。",
        "これはテストです。 안녕하세요 สวัสดี 🎉🎉",
        "مرحبا بالعالم שלום עולם",
        "a" * 10_000,
    ],
)
async def test_any_script_and_punctuation_is_kept_verbatim(engine: Engine, text: str) -> None:
    outcome = await engine.retain("b", [ItemInput(content=text)])
    document = await engine.documents.get("b", outcome.document_ids[0])
    assert document.text == text
    assert outcome.fact_count >= 1
    assert "".join("".join(await engine.texts("b")).split()) == "".join(text.split())


@pytest.mark.slow
async def test_a_megabyte_and_ten_thousand_items_are_stored_whole(engine: Engine) -> None:
    text = "\n".join(f"Ann: line {n} of a very long conversation." for n in range(24_000))
    outcome = await engine.retain("big", [ItemInput(content=text, document_id="d")])
    assert outcome.fact_count == 24_000
    assert (await engine.documents.get("big", "d")).text == text
    many = await engine.retain("many", [ItemInput(content=f"Fact number {n} is here.") for n in range(10_000)])
    assert many.fact_count == (await engine.memories.list("many", FactFilter(), 1)).total == 10_000


@pytest.mark.feature("R2")
async def test_relative_words_are_resolved_against_the_timestamp(engine: Engine) -> None:
    said = "2023-05-08T13:56:00+08:00"
    await engine.retain("b", [ItemInput(content="Ann: I ran a race yesterday.", timestamp=said)])
    await engine.retain("b", [ItemInput(content="小明: 昨天我跑了步。", timestamp=said)])
    for fact in await facts(engine):
        assert fact.mentioned_at == datetime(2023, 5, 8, 5, 56, tzinfo=UTC)
        assert fact.occurred_start is not None
        assert fact.occurred_start.astimezone(datetime.fromisoformat(said).tzinfo).date().isoformat() == "2023-05-07"
        assert "yesterday" in fact.text or "昨天" in fact.text


@pytest.mark.feature("R2")
async def test_unset_stores_no_time(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Water boils at 100 degrees.", timestamp="unset")])
    (fact,) = await facts(engine)
    assert (fact.mentioned_at, fact.occurred_start) == (None, None)


@pytest.mark.feature("R6")
async def test_metadata_tags_context_and_entities_come_back(engine: Engine) -> None:
    item = ItemInput(
        content="I moved last year.", context="chat", metadata={"role": "user", "n": "1"}, tags=["user:a"],
        entities=[{"text": "Project Apollo", "type": "PROJECT"}],
    )  # fmt: skip
    await engine.retain("b", [item], document_tags=["team"])
    (fact,) = await facts(engine)
    assert fact.metadata == {"role": "user", "n": "1"}
    assert (fact.context, set(fact.tags), fact.role) == ("chat", {"user:a", "team"}, "user")
    assert "Project Apollo" in fact.entities


@pytest.mark.feature("R5")
async def test_a_repeated_operation_stores_nothing_twice(engine: Engine) -> None:
    operation_id = str(uuid.uuid4())
    items = [ItemInput(content="Ann moved to Oslo."), ItemInput(content="Bob stayed.")]
    first = await engine.retain("b", items, operation_id=operation_id)
    again = await engine.retain("b", items, operation_id=operation_id.upper())
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.document_ids, again.fact_count, again.items_count) == (first.document_ids, 2, 2)
    assert len(await facts(engine)) == 2
    status = await engine.operations.status("b", operation_id)
    assert (status.status, status.items_count) == ("completed", 2)


@pytest.mark.feature("R5")
async def test_an_operation_may_hold_items_of_several_strategies(engine: Engine) -> None:
    strategies = {"whole": {"retain_extraction_mode": "chunks"}, "all": {"retain_extraction_mode": "verbose"}}
    await engine.banks.put("b", BankInput(config={"retain_strategies": strategies}))
    text, operation_id = "Ann: ok\nBob: I live in Oslo.", str(uuid.uuid4())
    items = [ItemInput(content=text, strategy=name) for name in (None, *strategies)]
    await engine.retain("b", items, run_async=True, operation_id=operation_id)
    await engine.jobs.run_until_idle()
    assert sorted(await engine.texts("b")) == sorted(["Bob: I live in Oslo.", text, *text.split("\n")])
    assert (await engine.retain("b", items, run_async=True, operation_id=operation_id)).replayed
    changed = [replace(items[0], strategy="all"), *items[1:]]
    with pytest.raises(Conflict, match="content"):
        await engine.retain("b", changed, run_async=True, operation_id=operation_id)


@pytest.mark.feature("R5")
async def test_simultaneous_repeats_store_nothing_twice(engine: Engine) -> None:
    operation_id = str(uuid.uuid4())
    calls = [engine.retain("b", [ItemInput(content="Ann moved.")], operation_id=operation_id) for _ in range(8)]
    outcomes = await asyncio.gather(*calls)
    assert sorted(outcome.replayed for outcome in outcomes) == [False] + [True] * 7
    assert len({outcome.document_ids for outcome in outcomes}) == 1
    assert len(await facts(engine)) == 1


@pytest.mark.feature("R5")
async def test_an_operation_id_stands_for_one_request_only(engine: Engine) -> None:
    operation_id = str(uuid.uuid4())
    await engine.retain("b", [ItemInput(content="Ann moved.")], operation_id=operation_id)
    with pytest.raises(Conflict, match="content"):
        await engine.retain("b", [ItemInput(content="Ann stayed.")], operation_id=operation_id)
    with pytest.raises(Conflict, match="bank"):
        await engine.retain("other", [ItemInput(content="Ann moved.")], operation_id=operation_id)
    with pytest.raises(InvalidInput, match="UUID"):
        await engine.retain("b", [ItemInput(content="Ann moved.")], operation_id="retry-1")
    assert await engine.texts("b") == ["Ann moved."]
    assert [bank.bank_id for bank in (await engine.banks.list()).items] == ["b"]


@pytest.mark.feature("R1")
async def test_asynchronous_content_is_readable_at_once_and_encoded_later(engine: Engine) -> None:
    outcome = await engine.retain(
        "b", [ItemInput(content="Ann: I ran a race yesterday.", timestamp="2023-05-08T12:00:00Z")], run_async=True
    )
    assert outcome.run_async
    assert outcome.operation_id
    before = await engine.store.snapshot("b", 0, 0)
    assert [row.flags & FLAG_PENDING for row in before.rows] == [FLAG_PENDING]
    assert not any(len(seqs) for seqs, _ in before.vectors.values())
    assert len((await engine.store.postings("b", {"race": 0}))["race"][0]) == 1
    (pending,) = await facts(engine)
    assert pending.state is FactState.PENDING

    assert await engine.jobs.run_until_idle() == 1
    after = await engine.store.snapshot("b", 0, 0)
    assert [row.flags & FLAG_PENDING for row in after.rows] == [0]
    assert len(after.vectors["hashing-384"][0]) == 1
    (done,) = await facts(engine)
    assert (done.state, done.text) == (FactState.VALID, pending.text)
    assert done.occurred_start is not None
    operation = await engine.operations.status("b", outcome.operation_id)
    assert operation.status == "completed"
    assert operation.result
    assert operation.result["fact_count"] == 1


@pytest.mark.feature("R5")
async def test_a_repeated_asynchronous_request_adds_no_job(engine: Engine) -> None:
    operation_id = str(uuid.uuid4())
    items = [ItemInput(content="Ann moved.")]
    await engine.retain("b", items, run_async=True, operation_id=operation_id)
    again = await engine.retain("b", items, run_async=True, operation_id=operation_id)
    assert (again.replayed, again.operation_id) == (True, operation_id)
    assert (await engine.operations.list("b")).total == 1
    await engine.jobs.run_until_idle()
    assert (await engine.retain("b", items, run_async=True, operation_id=operation_id)).replayed
    assert await engine.texts("b") == ["Ann moved."]


@pytest.mark.feature("R1")
async def test_every_document_of_an_asynchronous_batch_is_stored(engine: Engine) -> None:
    items = [ItemInput(content="ok", document_id="d")]
    items += [ItemInput(content=f"Line {n} here.", document_id="d") for n in range(3)]
    items += [ItemInput(content=f"Fact {n} there.", document_id=f"d{n}") for n in range(3)]
    await engine.retain("b", items, run_async=True)
    before = await engine.texts("b")
    await engine.jobs.run_until_idle()
    assert sorted(await engine.texts("b")) == sorted(before)
    assert sorted(before) == [*(f"Fact {n} there." for n in range(3)), *(f"Line {n} here." for n in range(3))]
    assert (await engine.documents.get("b", "d")).text == "ok\nLine 0 here.\nLine 1 here.\nLine 2 here."
    assert (await engine.documents.list("b", DocumentFilter())).total == 4


async def test_an_item_of_noise_succeeds_without_a_fact(engine: Engine) -> None:
    outcome = await engine.retain("b", [ItemInput(content="ok", document_id="d")])
    assert (outcome.fact_count, outcome.no_fact_documents) == (0, 1)
    assert (await engine.documents.get("b", "d")).text == "ok"


async def test_a_named_strategy_is_followed(engine: Engine) -> None:
    strategies = {"whole": {"retain_extraction_mode": "chunks"}}
    await engine.banks.put("b", BankInput(config={"retain_strategies": strategies}))
    text = "Ann: I moved.\nBob: I stayed."
    await engine.retain("b", [ItemInput(content=text, strategy="whole")])
    assert await engine.texts("b") == [text]
    with pytest.raises(InvalidInput) as refusal:
        await engine.retain("b", [ItemInput(content="fine"), ItemInput(content=text, strategy="none")])
    assert refusal.value.field == "items[1].strategy"
    # Without a name, the bank's default counts.
    assert len((await engine.retain("b", [ItemInput(content=text, document_id="d")])).document_ids) == 1
    assert len(await engine.texts("b")) == 3
    await engine.banks.update_config("b", {"retain_default_strategy": "whole"})
    await engine.retain("b", [ItemInput(content=text, document_id="d")])
    assert await engine.texts("b") == [text, text]


class AwayEmbedder(HashingEmbedder):
    """A model that can't be loaded, until it can."""

    away = True

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        if self.away:
            raise EmbeddingUnavailable("the model file is damaged")
        return super().encode(texts)


async def test_without_a_model_facts_are_stored_and_found_by_words_and_get_their_vectors_later(engine: Engine) -> None:
    embedder = AwayEmbedder()
    analyzer = Analyzer()
    retainer = Retainer(engine.store, BuiltinExtractor(analyzer), Indexer(analyzer, embedder), engine.clock)
    outcome = await retainer.retain("b", [ItemInput(content="Ann ran a race.", document_id="d")])
    assert (outcome.fact_count, outcome.unencoded_count) == (1, 1)
    assert len((await engine.store.postings("b", {"race": 0}))["race"][0]) == 1

    embedder.away = False
    await retainer.reprocess("b", "d")
    assert await JobRunner(engine.store, engine.clock, handlers={"retain": retainer.run_job}).run_until_idle() == 1
    snapshot = await engine.store.snapshot("b", 0, 0)
    assert len(snapshot.vectors["hashing-384"][0]) == len(snapshot.rows) == 1


async def test_a_bank_that_is_deleted_meanwhile_is_not_brought_back(engine: Engine) -> None:
    class Deleting:
        """Deletes the bank, and may make it anew, while items are extracted."""

        def __init__(self, *, made_anew: bool) -> None:
            self.made_anew = made_anew

        def extract(self, item: Any, options: Any, skip: Any = None) -> Any:
            asyncio.run_coroutine_threadsafe(self._delete(), loop).result(10)
            return BuiltinExtractor(Analyzer()).extract(item, options, skip)

        async def _delete(self) -> None:
            await engine.banks.delete("b")
            if self.made_anew:
                await engine.store.ensure_bank("b", engine.clock.now())

    loop = asyncio.get_running_loop()
    for made_anew in (False, True):
        await engine.store.ensure_bank("b", engine.clock.now())
        extractor = Deleting(made_anew=made_anew)
        retainer = Retainer(engine.store, extractor, Indexer(Analyzer(), HashingEmbedder()), engine.clock)
        with pytest.raises(Conflict, match="deleted"):
            await retainer.retain("b", [ItemInput(content="Ann: I bought a canoe.")])
    assert (await engine.memories.list("b", FactFilter())).total == 0


@pytest.mark.feature("R1")
async def test_a_job_forgets_the_words_of_a_document_that_is_deleted_before_it_runs(engine: Engine) -> None:
    """The job of two documents goes on with the one that is left."""
    items = [ItemInput(content="Ann: the password is heron.", document_id="d1")]
    items.append(ItemInput(content="Ann: I bought a canoe.", document_id="d2"))
    outcome = await engine.retain("b", items, run_async=True)
    assert outcome.operation_id
    await engine.documents.delete("b", "d1")
    job = await engine.store.get_operation("b", outcome.operation_id)
    assert job is not None
    assert "heron" not in str(job)
    await engine.jobs.run_until_idle()
    assert (await engine.operations.status("b", outcome.operation_id)).status == "completed"
    assert await engine.texts("b", "valid") == ["Ann: I bought a canoe."]


async def test_facts_without_vectors_get_them_by_themselves_once_the_model_is_there(engine: Engine) -> None:
    embedder, analyzer = AwayEmbedder(), Analyzer()
    indexer = Indexer(analyzer, embedder)
    retainer = Retainer(engine.store, BuiltinExtractor(analyzer), indexer, engine.clock)
    for bank_id in ("a", "b"):
        items = [ItemInput(content=f"Ann: I ran race number {number}.") for number in range(70)]
        await retainer.retain(bank_id, items)
    assert indexer.unencoded_facts == 140
    repair = VectorRepair(engine.store, indexer, engine.clock, pause_seconds=0.01)
    assert await repair.repair() == (0, 140)
    embedder.away = False
    await repair.start()
    for _ in range(1000):
        if not await engine.store.unencoded_facts(("", 0), 1):
            break
        await asyncio.sleep(0.01)
    await repair.stop()
    snapshot = await engine.store.snapshot("b", 0, 0)
    assert len(snapshot.vectors["hashing-384"][0]) == len(snapshot.rows) == 70
    assert indexer.unencoded_facts == 140
