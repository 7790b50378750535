"""A real server that is held while its application is put together: what it answers, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hindsight_server.testing.process import free_port

_HELD = """
import sys
from hindsight_server.cli import serve

assemble = serve._assemble

def held(*given):
    if sys.stdin.readline() == "fail\\n":
        raise RuntimeError("a fault of ours")
    return assemble(*given)

serve._assemble = held
serve.run(host=None, port=int(sys.argv[1]), data_dir=sys.argv[2], log_level=None)
"""
_KEY = {"authorization": "Bearer right"}
_ITEM = {"items": [{"content": "Ann: I moved to Oslo."}]}
_MEMORIES = "/v1/default/banks/b/memories"


@dataclass(frozen=True)
class Held:
    """A server that answers probes, and puts its application together when it is told to."""

    process: asyncio.subprocess.Process
    port: int
    http: httpx.AsyncClient

    def go_on(self, word: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n".encode())

    async def asked(self, method: str, path: str, **options: Any) -> asyncio.Task[httpx.Response]:
        """A request that is on its way; it has reached the server."""
        task = asyncio.create_task(self.http.request(method, path, **options))
        await self.reached()
        return task

    async def reached(self) -> None:
        """What was sent before has reached the server."""
        for _ in range(3):
            await asyncio.sleep(0.05)
            assert (await self.http.get("/health")).status_code == 200

    async def takes_no_more(self) -> None:
        """New connections are refused."""
        for _ in range(200):
            await asyncio.sleep(0.05)
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                return
            writer.transport.abort()
        raise AssertionError("it goes on listening")

    async def ended(self) -> tuple[int | None, str]:
        """Its exit code and what it said."""
        assert self.process.stderr is not None
        said = await asyncio.wait_for(self.process.stderr.read(), 60)
        return await asyncio.wait_for(self.process.wait(), 60), said.decode()


@contextlib.asynccontextmanager
async def held(folder: Path, **variables: str) -> AsyncIterator[Held]:
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    given = {"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "hashing", "HINDSIGHT_API_TENANT_API_KEY": "right", **variables}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _HELD, str(port), str(folder)),
        env=environment | given,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert b"listens" in await asyncio.wait_for(process.stdout.readline(), 60)
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits) as http:
            yield Held(process, port, http)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_who_waits_is_then_treated_like_everybody_else(tmp_path: Path) -> None:
    """Also who goes away while waiting: nothing is done for him."""
    async with held(tmp_path, HINDSIGHT_API_MAX_BODY_BYTES="2000000") as server:
        waiting = [
            await server.asked(method, path, headers=headers, **options)
            for method, path, headers, options in (
                ("GET", "/version", {}, {}),
                ("GET", "/metrics", {}, {}),
                ("GET", "/metrics", _KEY, {}),
                ("GET", "/v1/default/banks", {"authorization": "Bearer wrong"}, {}),
                ("HEAD", "/health", {}, {}),
                ("POST", _MEMORIES, _KEY, {"content": b"x" * 3_000_000}),
                ("POST", _MEMORIES, _KEY, {"content": b" " * 1_000_000 + json.dumps(_ITEM).encode()}),
                ("POST", _MEMORIES, _KEY, {"content": b"{"}),
                ("GET", "/nothing", _KEY, {}),
            )
        ]
        leaving = await server.asked("POST", "/v1/default/banks/leaves/memories", headers=_KEY, json=_ITEM)
        leaving.cancel()
        many = [asyncio.create_task(server.http.get("/v1/default/banks", headers=_KEY)) for _ in range(200)]
        await server.reached()
        assert not [task for task in (*waiting, *many) if task.done()]
        server.go_on()
        answers = [await task for task in waiting]
        assert [answer.status_code for answer in answers] == [200, 401, 200, 401, 405, 413, 200, 422, 404]
        assert {(await task).status_code for task in many} == {200}
        banks = (await server.http.get("/v1/default/banks", headers=_KEY)).json()["banks"]
        assert [bank["bank_id"] for bank in banks] == ["b"]
        server.process.send_signal(signal.SIGTERM)
        code, said = await server.ended()
    assert code == 0
    assert "Traceback" not in said


@pytest.mark.parametrize("word", ["", "fail"])
async def test_who_waits_is_told_when_the_application_can_not_be_put_together(tmp_path: Path, word: str) -> None:
    """Because of a setting that is wrong, or by a fault of ours."""
    bad = tmp_path / "weights.json"
    bad.write_text("{}")
    async with held(tmp_path / "data", HINDSIGHT_API_RANKING_WEIGHTS=str(bad)) as server:
        waiting = [await server.asked("GET", path, headers=_KEY) for path in ("/v1/default/banks", "/version")]
        server.go_on(word)
        for answer in [await task for task in waiting]:
            assert answer.status_code == 503
            assert "log" in answer.json()["detail"]
        code, said = await server.ended()
    if word:
        assert code == 1
        assert "a fault of ours" in said
    else:
        assert code == 2
        assert "HINDSIGHT_API_RANKING_WEIGHTS" in said
        assert "Traceback" not in said


async def test_who_waits_is_answered_although_the_server_is_told_to_end(tmp_path: Path) -> None:
    async with held(tmp_path) as server:
        waiting = await server.asked("POST", _MEMORIES, headers=_KEY, json=_ITEM)
        server.process.send_signal(signal.SIGTERM)
        await server.takes_no_more()
        server.go_on()
        assert (await waiting).status_code == 200
        code, said = await server.ended()
    assert code == 0
    assert "Traceback" not in said


async def test_a_second_signal_ends_it_before_it_serves(tmp_path: Path) -> None:
    async with held(tmp_path) as server:
        waiting = await server.asked("GET", "/v1/default/banks", headers=_KEY)
        server.process.send_signal(signal.SIGTERM)
        await server.takes_no_more()
        server.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        server.go_on()
        assert (await waiting).status_code == 503
        code, said = await server.ended()
    assert code == 0
    assert "Traceback" not in said
