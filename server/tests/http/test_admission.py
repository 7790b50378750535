"""More searches than can be answered in time are refused."""

from __future__ import annotations

import asyncio
import math
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from hindsight_server.bootstrap import build_services
from hindsight_server.domain.errors import Overloaded
from hindsight_server.http.admission import Admission
from hindsight_server.http.app import create_app
from hindsight_server.settings import Settings


def test_a_place_is_given_back_also_after_a_failure() -> None:
    gate = Admission(1)
    for _ in range(3):
        with pytest.raises(RuntimeError), gate.admit():
            raise RuntimeError
    with gate.admit(), pytest.raises(Overloaded), gate.admit():
        pass


def test_without_a_wait_only_the_number_counts() -> None:
    clock = Clock()
    gate = Admission(12, wait_seconds=math.inf, clock=clock)
    answered(gate, clock, count=50, seconds=30.0)
    with ExitStack() as held:
        for _ in range(12):
            held.enter_context(gate.admit())
        with pytest.raises(Overloaded), gate.admit():
            pass


def test_zero_sets_no_limit() -> None:
    gate = Admission(0)
    with gate.admit(), gate.admit(), gate.admit():
        pass


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def answered(gate: Admission, clock: Clock, *, count: int, seconds: float) -> None:
    """So many answers, one after another, that take so long each."""
    for _ in range(count):
        with gate.admit():
            clock.seconds += seconds


def let_in(gate: Admission, stack: ExitStack, most: int = 1000) -> int:
    """How many are let in when nothing is answered."""
    for count in range(most):
        try:
            stack.enter_context(gate.admit())
        except Overloaded:
            return count
    return most


@pytest.mark.parametrize(("seconds", "expected"), [(0.01, 100), (0.05, 20), (0.5, 8), (30.0, 8)])
def test_as_many_are_let_in_as_are_answered_in_time(seconds: float, expected: int) -> None:
    clock = Clock()
    gate = Admission(500, wait_seconds=1.0, clock=clock)
    answered(gate, clock, count=200, seconds=seconds)
    clock.seconds += 3600  # time without work says nothing
    with ExitStack() as stack:
        assert let_in(gate, stack) == pytest.approx(expected, abs=1)


def test_one_slow_answer_is_soon_forgotten() -> None:
    clock = Clock()
    gate = Admission(500, wait_seconds=1.0, clock=clock)
    answered(gate, clock, count=200, seconds=0.01)
    answered(gate, clock, count=1, seconds=60)
    answered(gate, clock, count=50, seconds=0.01)
    with ExitStack() as stack:
        assert let_in(gate, stack) > 80


def test_the_number_in_flight_has_an_end_however_quick_the_answers() -> None:
    clock = Clock()
    gate = Admission(20, clock=clock)
    answered(gate, clock, count=200, seconds=0.0001)
    with ExitStack() as stack:
        assert let_in(gate, stack) == 20


async def test_one_recall_too_many_is_told_when_to_come_back(tmp_path: Path) -> None:
    services = build_services(Settings(data_dir=tmp_path, embeddings_provider="hashing", recalls_in_flight=2))
    app = create_app(services)
    async with (
        services.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        await client.post("/v1/default/banks/b/memories", json={"items": [{"content": "Ann: I bought a canoe."}]})
        asked = [client.post("/v1/default/banks/b/memories/recall", json={"query": "canoe"}) for _ in range(8)]
        answers = await asyncio.gather(*asked)
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(200) == 2
        refused = next(answer for answer in answers if answer.status_code == 503)
        assert refused.headers["retry-after"] == "1"
        assert "Try again" in refused.json()["detail"]
        after = await client.post("/v1/default/banks/b/memories/recall", json={"query": "canoe"})
        assert after.status_code == 200


@pytest.mark.parametrize("provider", ["none", "ollama"])
async def test_a_reflect_with_a_model_needs_no_place_among_the_recalls(tmp_path: Path, provider: str) -> None:
    named = {"PROVIDER": provider, "MODEL": "m", "BASE_URL": "http://127.0.0.1:9"}
    environment = {f"HINDSIGHT_API_REFLECT_LLM_{name}": value for name, value in named.items()}
    services = build_services(
        Settings.from_environment(environment, data_dir=tmp_path, embeddings_provider="hashing", recalls_in_flight=1)
    )
    async with (
        services.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services)), base_url="http://127.0.0.1") as client,
    ):
        with services.admission.admit():
            recalled = await client.post("/v1/default/banks/b/memories/recall", json={"query": "canoe"})
            # A blank question is refused where it is let in at all.
            reflected = await client.post("/v1/default/banks/b/reflect", json={"query": " "})
    assert recalled.status_code == 503
    assert reflected.status_code == (503 if provider == "none" else 422)


async def test_documents_of_jobs_are_counted_too(tmp_path: Path) -> None:
    services = build_services(Settings(data_dir=tmp_path, embeddings_provider="hashing"))
    async with (
        services.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services)), base_url="http://127.0.0.1") as client,
    ):
        items = [{"content": "Ann: I bought a canoe."}, {"content": "ok"}]
        await client.post("/v1/default/banks/b/memories", json={"items": items, "async": True})
        for _ in range(200):
            if "hindsight_retain_documents_total{" in services.metrics.render():
                break
            await asyncio.sleep(0.02)
        text = services.metrics.render()
    assert 'hindsight_retain_documents_total{outcome="stored"} 1' in text
    assert 'hindsight_retain_documents_total{outcome="no_facts"} 1' in text


async def test_a_store_that_does_not_answer_makes_the_probes_503(tmp_path: Path) -> None:
    services = build_services(Settings(data_dir=tmp_path, embeddings_provider="hashing"))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app(services)), base_url="http://127.0.0.1"
    ) as client:
        for path in ("/health", "/health/ready"):
            answer = await client.get(path)  # the store is not open
            assert answer.status_code == 503
            assert answer.json()["database"] == "unavailable"
        assert (await client.get("/health/live")).status_code == 200
