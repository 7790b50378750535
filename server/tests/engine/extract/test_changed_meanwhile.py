"""What people change while a model reads, or before it reads again, holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hindsight_server.domain.errors import Conflict, ModelUnavailable
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.ports.records import FactFilter
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
