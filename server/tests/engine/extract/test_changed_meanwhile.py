"""What people change while a model reads, or before it reads again, holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hindsight_server.domain.errors import Conflict, ModelUnavailable
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.ports.records import FactFilter, RetainResult, RetainWrite
from hindsight_server.testing.scripted_model import ScriptedProvider

from ..conftest import Engine
from .conftest import Reading, distiller, fact, facts

Read = Callable[..., Reading]
_BOAT = "Ada bought a boat."
_SECONDS = 0.3  # that the model takes: longer than a patch


def _item(*tags: str) -> ItemInput:
    return ItemInput(content=_BOAT, document_id="d", tags=tags)


async def _meanwhile(read: Reading, change: Callable[[], Awaitable[object]]) -> None:
    """Do the waiting job, and change something while its question is with the model."""
    told = asyncio.Event()
    answer = read.provider.chat

    async def chat(request: ChatRequest) -> ChatReply:
        told.set()
        return await answer(request)

    read.provider.chat = chat  # type: ignore[method-assign]
    job = asyncio.create_task(read.engine.jobs.run_until_idle())
    await told.wait()
    await change()
    await job


async def _model_is_back(engine: Engine) -> None:
    """Have the jobs that wait for the model done by it."""
    engine.retainer.read_with(distiller(ScriptedProvider(lambda request: facts(fact(_BOAT)))))
    for _ in range(4):
        engine.clock.forward(3600)
        await engine.jobs.run_until_idle()


@pytest.mark.parametrize("again", [False, True])
async def test_a_bank_that_is_cleared_while_it_is_read_stays_empty(reading: Read, again: bool) -> None:
    read = reading(lambda request: facts(fact(_BOAT)), seconds=_SECONDS)
    engine = read.engine
    await engine.retain("b", [_item()], run_async=not again)
    if again:
        await engine.documents.reprocess("b", "d")
    await _meanwhile(read, lambda: engine.memories.clear("b"))
    assert await engine.texts("b") == []
    (job,) = (await engine.operations.list("b")).items
    assert job.status == "cancelled"
    with pytest.raises(Conflict, match="what it was to do was deleted"):
        await engine.operations.retry("b", job.operation_id)
    await engine.documents.reprocess("b", "d")
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == [_BOAT]


@pytest.mark.parametrize("run_async", [False, True])
async def test_a_bank_that_is_cleared_during_an_outage_stays_empty(reading: Read, run_async: bool) -> None:
    read = reading(lambda request: ModelUnavailable("away"))
    engine = read.engine
    await engine.retain("b", [_item()], run_async=run_async)
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == [_BOAT]
    await engine.memories.clear("b")
    await _model_is_back(engine)
    assert await engine.texts("b") == []


@pytest.mark.parametrize("again", [False, True])
async def test_a_document_that_gets_other_tags_while_it_is_read_keeps_them(reading: Read, again: bool) -> None:
    read = reading(lambda request: facts(fact(_BOAT)), seconds=_SECONDS)
    engine = read.engine
    await engine.retain("b", [_item("user:ann")], run_async=not again)
    if again:
        await engine.documents.reprocess("b", "d")
    await _meanwhile(read, lambda: engine.documents.update("b", "d", tags=["user:bob"]))
    found = (await engine.memories.list("b", FactFilter())).items
    assert [(one.text, one.state, one.tags) for one in found] == [(_BOAT, "valid", ("user:bob",))]
    assert (await engine.documents.get("b", "d")).tags == ("user:bob",)


async def _states(engine: Engine) -> list[tuple[str, str]]:
    return [(one.text, one.state.value) for one in (await engine.memories.list("b", FactFilter())).items]


async def _change(engine: Engine, **patch: str) -> None:
    (stored,) = (await engine.memories.list("b", FactFilter())).items
    await engine.memories.update("b", stored.fact_id, MemoryPatch(**patch))  # type: ignore[arg-type]


@pytest.mark.parametrize("run_async", [False, True])
async def test_what_is_invalidated_during_an_outage_stays_so(reading: Read, run_async: bool) -> None:
    engine = reading(lambda request: ModelUnavailable("away")).engine
    await engine.retain("b", [_item()], run_async=run_async)
    await engine.jobs.run_until_idle()
    await _change(engine, state="invalidated", reason="wrong")
    await _model_is_back(engine)
    assert await _states(engine) == [(_BOAT, "invalidated")]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"state": "invalidated"}, (_BOAT, "invalidated")),
        ({"text": "Ada bought a ship."}, ("Ada bought a ship.", "valid")),
        ({"text": "Bert sails."}, ("Bert sails.", "valid")),
    ],
)
@pytest.mark.parametrize("when", ["before", "while"])
async def test_what_a_person_changed_holds_when_its_document_is_read_again(
    reading: Read, patch: dict[str, str], expected: tuple[str, str], when: str
) -> None:
    read = reading(lambda request: facts(fact(_BOAT)), seconds=_SECONDS if when == "while" else 0.0)
    engine = read.engine
    await engine.retain("b", [_item()])
    if when == "before":
        await _change(engine, **patch)
    await engine.documents.reprocess("b", "d")
    if when == "while":
        await _meanwhile(read, lambda: _change(engine, **patch))
    await engine.jobs.run_until_idle()
    assert len(read.provider.requests) == 2
    assert await _states(engine) == [expected]


async def test_what_a_longer_text_says_besides_is_kept(reading: Read) -> None:
    longer = f"{_BOAT} Ada sold her car."
    engine = reading([facts(fact(_BOAT)), facts(fact(longer), fact("Ada sold her car."))]).engine
    await engine.retain("b", [_item()])
    await _change(engine, state="invalidated")
    await engine.retain("b", [ItemInput(content=longer, document_id="d")])
    states = await _states(engine)
    assert (_BOAT, "invalidated") in states
    assert [text for text, state in states if state == "valid" and "car" in text]


@pytest.mark.parametrize("run_async", [False, True])
async def test_what_is_invalidated_stays_so_when_its_text_comes_again_under_other_settings(
    reading: Read, run_async: bool
) -> None:
    engine = reading(lambda request: facts(fact(_BOAT))).engine
    await engine.retain("b", [_item("user:ann")])
    await _change(engine, state="invalidated")
    await engine.banks.update_config("b", {"retain_mission": "boats"})
    await engine.retain("b", [_item("user:bob")], run_async=run_async)
    assert await _states(engine) == [(_BOAT, "invalidated")]
    await engine.jobs.run_until_idle()
    (found,) = (await engine.memories.list("b", FactFilter())).items
    assert (found.state, found.tags) == ("invalidated", ("user:bob",))


@pytest.mark.parametrize("model", [True, False])
async def test_facts_of_a_document_that_is_deleted_while_it_is_read_are_not_counted(
    engine: Engine, reading: Read, model: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if model:
        reading(lambda request: facts(fact(_BOAT)))
    items = [ItemInput(content=_BOAT, document_id="d"), ItemInput(content=_BOAT, document_id="e")]
    operation_id = (await engine.retain("b", items, run_async=True)).operation_id or ""
    retain = engine.store.retain

    async def retained(write: RetainWrite) -> RetainResult:
        if write.documents:
            await engine.documents.delete("b", "d")
        monkeypatch.undo()
        return await retain(write)

    monkeypatch.setattr(engine.store, "retain", retained)
    await engine.jobs.run_until_idle()
    done = await engine.operations.status("b", operation_id)
    assert done.status == "completed"
    assert done.result is not None
    assert (done.result["document_ids"], done.result["fact_count"]) == (["e"], 1)
    assert done.result["no_fact_documents"] == 0
    assert await engine.texts("b") == [_BOAT]
