"""Questions of asynchronous retains that are left with the provider as a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hindsight_server.domain.errors import ModelRefused, ModelUnavailable
from hindsight_server.engine.jobs import JobOptions
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.retain.batching import Batching
from hindsight_server.ports.llm import BatchProvider, ChatReply, ChatRequest
from hindsight_server.ports.records import Operation, RetainWrite
from hindsight_server.ports.store import Store
from hindsight_server.testing.scripted_model import Reply, ScriptedProvider

from ..conftest import Engine, SteppingClock, build
from .conftest import distiller, fact, facts

OPERATION = "11111111-1111-4111-8111-111111111111"
ITEMS = [
    ItemInput(content="Ann: I moved to Oslo.", document_id="d1"),
    ItemInput(content="Bob: I bought a boat.", document_id="d2"),
]
ANSWERS = {"Oslo": facts(fact("Ann lives in Oslo.")), "boat": facts(fact("Bob owns a boat."))}


class BatchingProvider(ScriptedProvider):
    """A scripted provider with batches; `answer` makes the replies of theirs."""

    def __init__(self, answer: Callable[[ChatRequest], Reply | None], single: Any = ()) -> None:
        super().__init__(single)
        self.answer_row = answer
        self.left: dict[str, Mapping[str, ChatRequest]] = {}
        self.names: list[str] = []
        self.done = False
        self.expired = False
        self.refuses: Exception | None = None
        self.away: Exception | None = None
        self.polls = 0
        self.discarded: list[str] = []

    async def submit(self, name: str, requests: Mapping[str, ChatRequest]) -> str:
        if self.refuses is not None:
            raise self.refuses
        if name not in self.names:
            self.names.append(name)
            self.left[f"batch-{name}"] = requests
        return f"batch-{name}"

    async def poll(self, batch_id: str) -> Mapping[str, ChatReply] | None:
        self.polls += 1
        if self.away is not None:
            raise self.away
        if not self.done:
            return None
        if self.expired:
            return {}
        found = {}
        for question_id, asked in self.left[batch_id].items():
            reply = self.answer_row(asked)
            if reply is not None:
                found[question_id] = await ScriptedProvider([reply]).chat(asked)
        return found

    async def discard(self, batch_id: str) -> None:
        self.discarded.append(batch_id)


def answered(request: ChatRequest) -> Reply:
    return next(reply for word, reply in ANSWERS.items() if word in request.messages[-1].text)


def with_batches(engine: Engine, provider: BatchingProvider, clock: SteppingClock) -> Engine:
    read = distiller(provider)
    engine.retainer.read_with(read)
    engine.retainer.batch_with(Batching(provider, clock, poll_seconds=60))
    return engine


async def operation_of(engine: Engine) -> Operation:
    found = await engine.store.get_operation("b", OPERATION)
    assert found is not None
    return found


async def left(engine: Engine) -> None:
    """Retain the items up to where their batch is with the provider."""
    await engine.retain("b", ITEMS, run_async=True, operation_id=OPERATION)
    assert await engine.jobs.run_until_idle() == 1


async def test_a_job_leaves_one_batch_and_is_done_with_its_answers(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered)
    assert isinstance(provider, BatchProvider)
    with_batches(engine, provider, clock)
    await left(engine)
    waiting = await operation_of(engine)
    assert (waiting.status, waiting.error) == ("pending", None)
    assert waiting.result is not None
    assert waiting.result["progress"]["stage"] == "waiting_for_batch"
    assert [len(questions) for questions in provider.left.values()] == [2]
    assert len(await engine.texts("b", "pending")) == 2  # readable meanwhile, as it was said
    clock.forward(30)
    assert await engine.jobs.run_until_idle() == 0  # it holds no slot
    provider.done = True
    clock.forward(31)
    await engine.jobs.run_until_idle()
    done = await operation_of(engine)
    assert done.status == "completed"
    assert done.result is not None
    assert (done.result["document_ids"], done.result["input_tokens"]) == (["d1", "d2"], 20)
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]
    assert not provider.requests
    assert provider.discarded == [f"batch-{OPERATION}"]


async def test_waiting_for_hours_uses_up_no_tries(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered)
    with_batches(engine, provider, clock)
    await left(engine)
    for _ in range(30):
        clock.forward(61)
        assert await engine.jobs.run_until_idle() == 1
    assert provider.polls == 30
    provider.away = ModelUnavailable("down")
    clock.forward(61)
    await engine.jobs.run_until_idle()
    provider.away, provider.done = None, True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert (await operation_of(engine)).status == "completed"
    assert len(provider.names) == 1


async def test_after_a_failure_in_the_store_the_tries_that_waited_do_not_count(
    engine: Engine, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = BatchingProvider(answered)
    with_batches(engine, provider, clock)
    await left(engine)
    for _ in range(12):
        clock.forward(61)
        await engine.jobs.run_until_idle()
    provider.done = True
    with monkeypatch.context() as broken:
        broken.setattr(engine.store, "waiting_parts", None)
        clock.forward(61)
        await engine.jobs.run_until_idle()
    assert (await operation_of(engine)).status == "pending"
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert (await operation_of(engine)).status == "completed"
    assert len(provider.names) == 1


async def test_another_process_goes_on_with_the_same_batch(engine: Engine, store: Store, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered)
    with_batches(engine, provider, clock)
    await left(engine)
    clock.forward(61)
    claimed = await store.claim_operation(["retain"], clock.now(), 30)
    assert claimed is not None  # by a process that is killed now
    provider.done = True
    other = with_batches(build(store, clock, JobOptions()), provider, clock)
    clock.forward(31)
    await other.jobs.run_until_idle()
    assert (await operation_of(other)).status == "completed"
    assert provider.names == [OPERATION]
    assert not provider.requests


async def test_after_a_failure_halfway_only_the_rest_is_read_and_from_the_same_batch(
    engine: Engine, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = BatchingProvider(answered)
    with_batches(engine, provider, clock)
    items = [ItemInput(content="Bob: I bought a boat.", document_id=f"d{number}") for number in range(70)]
    await engine.retain("b", items, run_async=True, operation_id=OPERATION)
    await engine.jobs.run_until_idle()
    provider.done = True
    store, writes = engine.store.retain, 0

    async def broken(write: RetainWrite) -> Any:
        nonlocal writes
        writes += 1
        if writes == 2:
            raise OSError("the disk is full")
        return await store(write)

    with monkeypatch.context() as patched:
        patched.setattr(engine.store, "retain", broken)
        clock.forward(61)
        await engine.jobs.run_until_idle()
    halfway = await operation_of(engine)
    assert halfway.status == "pending"
    assert halfway.result is not None
    assert 0 < len(halfway.result["read"]["document_ids"]) < 70
    clock.forward(61)
    await engine.jobs.run_until_idle()
    done = await operation_of(engine)
    assert done.result is not None
    assert (done.status, len(done.result["document_ids"])) == ("completed", 70)
    assert await engine.texts("b") == ["Bob owns a boat."] * 70
    assert provider.names == [OPERATION]
    assert not provider.requests


async def test_killed_between_sending_and_noting_it_sends_no_second_batch(
    engine: Engine, store: Store, clock: SteppingClock
) -> None:
    provider = BatchingProvider(answered)
    with_batches(engine, provider, clock)
    await engine.retain("b", ITEMS, run_async=True, operation_id=OPERATION)
    claimed = await store.claim_operation(["retain"], clock.now(), 30)
    assert claimed is not None
    with pytest.raises(Exception, match="waits"):
        await engine.retainer.run_job(claimed)  # what it raised is told to nobody
    clock.forward(31)
    await engine.jobs.run_until_idle()
    provider.done = True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert provider.names == [OPERATION]
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]


async def test_what_failed_in_a_batch_is_asked_singly(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(lambda asked: answered(asked) if "boat" in asked.messages[-1].text else None, answered)
    with_batches(engine, provider, clock)
    await left(engine)
    provider.done = True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]
    assert ["Oslo" in asked.messages[-1].text for asked in provider.requests] == [True]


async def test_an_answer_that_can_not_be_used_is_asked_for_once_more(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(lambda asked: "Sure! Here you are.", lambda asked: _repaired(asked))
    with_batches(engine, provider, clock)
    await left(engine)
    provider.done = True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]
    assert all("can't be used" in asked.messages[-1].text for asked in provider.requests)


def _repaired(request: ChatRequest) -> Reply:
    assert request.messages[-2].text == "Sure! Here you are."
    return next(reply for word, reply in ANSWERS.items() if word in request.messages[1].text)


async def test_what_the_text_does_not_bear_out_is_dropped_here_too(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(lambda asked: facts(fact("Victor moved to Rome.")))
    with_batches(engine, provider, clock)
    await left(engine)
    provider.done = True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert not [text for text in await engine.texts("b") if "Rome" in text]
    result = (await operation_of(engine)).result
    assert result is not None
    assert result["dropped_facts"]


@pytest.mark.parametrize("how", ["expired", "lost", "never done"])
async def test_a_batch_without_answers_is_asked_singly(engine: Engine, clock: SteppingClock, how: str) -> None:
    provider = BatchingProvider(answered, answered)
    with_batches(engine, provider, clock)
    await left(engine)
    provider.expired = provider.done = how == "expired"
    provider.away = ModelRefused("unknown") if how == "lost" else None
    clock.forward(61 if how != "never done" else 27 * 3600)
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]
    assert (len(provider.requests), len(provider.names)) == (2, 1)
    assert provider.discarded == [f"batch-{OPERATION}"]


async def test_a_refused_batch_is_asked_singly_at_once(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered, answered)
    provider.refuses = ModelRefused("no batches here")
    with_batches(engine, provider, clock)
    await left(engine)
    assert (await operation_of(engine)).status == "completed"
    assert await engine.texts("b") == ["Ann lives in Oslo.", "Bob owns a boat."]
    assert len(provider.requests) == 2


async def test_a_provider_that_is_away_is_waited_for(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered)
    provider.refuses = ModelUnavailable("overloaded")
    with_batches(engine, provider, clock)
    await left(engine)
    waiting = await operation_of(engine)
    assert (waiting.status, waiting.error) == ("pending", "overloaded")
    provider.refuses, provider.done = None, True
    for _ in range(2):
        clock.forward(61)
        await engine.jobs.run_until_idle()
    assert (await operation_of(engine)).status == "completed"


async def test_a_document_that_changed_meanwhile_is_read_as_it_is_now(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered, answered)
    with_batches(engine, provider, clock)
    await left(engine)
    await engine.retain("b", [ItemInput(content="Bob: I sold my boat.", document_id="d2")])
    provider.requests.clear()
    provider.done = True
    clock.forward(61)
    await engine.jobs.run_until_idle()
    assert not provider.requests
    assert "Ann lives in Oslo." in await engine.texts("b")
    page = await engine.store.get_document("b", "d2")
    assert page.text == "Bob: I sold my boat."


async def test_a_synchronous_retain_is_asked_at_once(engine: Engine, clock: SteppingClock) -> None:
    provider = BatchingProvider(answered, answered)
    with_batches(engine, provider, clock)
    await engine.retain("b", ITEMS)
    assert (len(provider.requests), provider.names) == (2, [])
