"""Documents that a language model reads are told of once they are read, and not before."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import ModelUnavailable
from hindsight_server.engine.jobs import JobOptions
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.store import Store
from hindsight_server.testing.scripted_model import ScriptedProvider
from hindsight_server.testing.store_contract.webhooks import listen, told

from ..conftest import SteppingClock, build
from ..extract.conftest import distiller, fact, facts

pytestmark = [pytest.mark.feature("O7"), pytest.mark.feature("R7")]

READ = facts(fact("Ann moved to Oslo."))


async def data(store: Store) -> list[tuple[str, int, str]]:
    payloads = [dict(one.payload) for one in await told(store)]
    return [(one["data"]["document_id"], one["data"]["memory_unit_count"], one["status"]) for one in payloads]


@pytest.mark.parametrize("run_async", [False, True])
async def test_a_document_is_told_of_when_the_model_has_read_it(
    store: Store, clock: SteppingClock, run_async: bool
) -> None:
    failure: Any = ModelUnavailable("away")
    engine = build(store, clock)
    engine.retainer.read_with(distiller(ScriptedProvider([failure, READ])))
    await listen(store)
    await engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")], run_async=run_async)
    if run_async:
        await engine.jobs.run_until_idle()
    assert await data(store) == [], "its words stand in for what is to be read"
    clock.forward(60)
    await engine.jobs.run_until_idle()
    assert await data(store) == [("d", 1, "completed")]


async def test_a_document_that_no_model_could_read_is_told_of_as_failed(store: Store, clock: SteppingClock) -> None:
    engine = build(store, clock, JobOptions(max_attempts=1, patient_attempts=1))
    engine.retainer.read_with(distiller(ScriptedProvider([ModelUnavailable("away")] * 9)))
    await listen(store)
    stored = await engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")], run_async=True)
    await engine.jobs.run_until_idle()
    assert await data(store) == [("d", 1, "failed")]
    (only,) = await told(store)
    assert only.payload["operation_id"] == stored.operation_id
    assert "away" not in str(only.payload)
