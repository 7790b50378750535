"""What a server answers before its application is put together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.bootstrap import build_services
from hindsight_server.http.app import create_app
from hindsight_server.http.opening import Opening
from hindsight_server.settings import Settings


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    await store.open()
    yield store
    await store.close()


def client(opening: Opening) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(opening), base_url="http://127.0.0.1")


async def test_probes_are_answered_at_once_and_truly(store: SqliteStore) -> None:
    async with client(Opening(store)) as http:
        healthy = await http.get("/health")
        assert (healthy.status_code, healthy.json()) == (200, {"status": "healthy", "database": "connected"})
        assert "x-request-id" in healthy.headers
        live = await http.get("/health/live", headers={"x-request-id": "mine"})
        assert (live.json()["status"], live.headers["x-request-id"]) == ("alive", "mine")
        ready = await http.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "starting")
        await store.close()
        assert (await http.get("/health")).status_code == 503
        assert (await http.get("/health/ready")).json()["status"] == "unhealthy"


async def test_other_requests_wait_for_the_application_and_pass_its_gateway(store: SqliteStore, tmp_path: Path) -> None:
    opening = Opening(store)
    services = build_services(Settings(data_dir=tmp_path, embeddings_provider="hashing"), store)
    async with client(opening) as http:
        asked = asyncio.create_task(http.get("/v1/default/banks", headers={"authorization": "Bearer right"}))
        refused = asyncio.create_task(http.get("/v1/default/banks"))
        await asyncio.sleep(0.05)
        assert not asked.done()
        async with services.running():
            opening.hand_over(create_app(services, api_key="right"))
            assert (await asked).json()["banks"] == []
            assert (await refused).status_code == 401
            assert (await http.get("/health/ready")).json()["status"] != "unhealthy"


async def test_whoever_waits_is_told_when_there_will_be_no_application(store: SqliteStore) -> None:
    opening = Opening(store)
    async with client(opening) as http:
        asked = asyncio.create_task(http.get("/v1/default/banks"))
        await asyncio.sleep(0)
        opening.give_up()
        answer = await asked
        assert (await http.get("/health")).status_code == 503, "it works no more"
    assert answer.status_code == 503
    assert "log" in answer.json()["detail"]


def test_nothing_heavy_is_loaded_before_the_probes_are_answered() -> None:
    """What they wait for is imported here as `hindsight serve` does it."""
    probe = """
import sys
import hindsight_server.cli.main, hindsight_server.cli.serve
from hindsight_server.bootstrap import build_store
from hindsight_server.http.opening import Opening
from hindsight_server.settings import Settings
from pathlib import Path
hindsight_server.cli.serve._server(Opening(build_store(Settings(data_dir=Path("unused")))))
ours = {"adapters.embed", "adapters.extract", "adapters.llm", "domain.time", "engine", "http.app"}
heavy = {"fastapi", "pydantic", "starlette", "httpx", "onnxruntime", "openai", "anthropic", "obstore", "rich"}
loaded = (heavy | {f"hindsight_server.{name}" for name in ours}) & set(sys.modules)
assert not loaded, loaded
"""
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
