"""What a server that can't be started, or stopped, leaves behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.bootstrap import build_services
from hindsight_server.http.services import Services
from hindsight_server.settings import Settings

PARTS = ("attached", "webhooks", "jobs", "repair", "schedules", "consolidator")


class Watched:
    """A part of the server that tells of its start and stop, and fails after either if it is named so in `fails`."""

    def __init__(self, part: Any, name: str, told: list[str], fails: tuple[str, ...]) -> None:
        self._part, self._name, self._told, self._fails = part, name, told, fails

    async def start(self) -> None:
        await self._part.start()
        self._tell(f"start {self._name}")

    async def stop(self) -> None:
        await self._part.stop()
        self._tell(f"stop {self._name}")

    def _tell(self, what: str) -> None:
        self._told.append(what)
        if what in self._fails:
            raise RuntimeError(what)


def watched(folder: Path, told: list[str], *fails: str) -> Services:
    services = build_services(Settings(data_dir=folder, embeddings_provider="hashing"), SqliteStore(folder))
    parts: dict[str, Any] = {name: Watched(getattr(services, name), name, told, fails) for name in PARTS}
    return replace(services, **parts)


async def run(services: Services, folder: Path) -> str:
    """Start and stop them; the error that is told. Nothing is left running, and the data folder is free."""
    before = asyncio.all_tasks()
    with pytest.raises(RuntimeError) as caught:
        async with services.running():
            await services.store.ping()
    assert asyncio.all_tasks() == before
    store = SqliteStore(folder)
    await store.open()
    await store.close()
    return str(caught.value)


async def test_what_began_is_stopped_when_another_part_does_not_start(tmp_path: Path) -> None:
    told: list[str] = []
    error = await run(watched(tmp_path, told, "start repair", "stop webhooks"), tmp_path)
    assert error == "start repair"
    started = [f"start {name}" for name in PARTS[:4]]
    assert told == [*started, "stop repair", "stop jobs", "stop webhooks", "stop attached"]


async def test_a_part_that_does_not_stop_keeps_no_other_from_stopping(tmp_path: Path) -> None:
    told: list[str] = []
    error = await run(watched(tmp_path, told, "stop schedules", "stop jobs"), tmp_path)
    assert error == "stop schedules"
    assert told[len(PARTS) :] == [f"stop {name}" for name in reversed(PARTS)]
