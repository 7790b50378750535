"""Jobs that a server of an older version left behind, one of them while it was at work.

The rows in `older` were written by such servers: the first one, whose jobs carried words (version 1 of the payload),
and the last one whose jobs repeated the options (version 2). Both were asked for the same, see `_ask`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import apsw
import pytest

from hindsight_server.adapters.sqlite.connection import open_writer
from hindsight_server.adapters.sqlite.migrate import known_migrations, migrate
from hindsight_server.bootstrap import build_services
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.retain import ItemInput
from hindsight_server.http.services import Services
from hindsight_server.ports.records import FactFilter, Operation
from hindsight_server.settings import Settings

_OLDER = Path(__file__).parent / "older"
_AT = "2026-03-01T12:00:00Z"
_FIRST = "Ann: I learned to sail in Bergen when I was nine years old. " * 8
_SECOND = "Bob: I keep three goats and a donkey behind the old house. " * 8


def restore(version: int, path: Path) -> None:
    """The database as the older server left it."""
    rows = (_OLDER / f"payload_{version}.sql").read_text()
    steps = [line for line in rows.splitlines() if line.startswith('INSERT INTO "migrations"')]
    numbers = {int(step.split("VALUES(")[1].split(",")[0]) for step in steps}
    connection = open_writer(path)
    migrate(connection, tuple(step for step in known_migrations() if step.number in numbers))
    connection.execute("BEGIN; PRAGMA defer_foreign_keys = ON; DELETE FROM migrations; DELETE FROM floors;")
    connection.execute(rows)
    connection.execute("COMMIT")
    connection.close()


def payloads(path: Path) -> list[dict[str, Any]]:
    """Of the jobs that are not done."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT payload FROM operations WHERE payload IS NOT NULL").fetchall()
    connection.close()
    return [json.loads(text) for (text,) in found]


def services(folder: Path) -> Services:
    return build_services(Settings(data_dir=folder, embeddings_provider="hashing"))


@pytest.fixture(params=[1, 2])
async def left(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Services]:
    """Today's server on the folder, its store open, its workers not yet at work."""
    folder = tmp_path / "left"
    folder.mkdir()
    restore(request.param, folder / "memory.db")
    assert {payload["version"] for payload in payloads(folder / "memory.db")} == {request.param}
    opened = services(folder)
    await opened.store.open()
    yield opened
    await opened.store.close()


async def operations(served: Services) -> list[Operation]:
    """The oldest first."""
    page = await served.store.list_operations("b", None, "retain", 100, 0)
    return list(reversed(page.items))


async def memories(served: Services) -> list[dict[str, Any]]:
    """All of each memory but when, and under which ids, it was stored."""
    page = await served.memories.list("b", FactFilter(), 1000)
    passing = {"seq", "fact_id", "chunk_id", "created_at", "updated_at"}
    found = [{key: value for key, value in asdict(fact).items() if key not in passing} for fact in page.items]
    return sorted(found, key=lambda one: (one["document_id"], one["text"]))


async def _ask(served: Services) -> None:
    """What both older servers were asked for."""

    async def retain(*items: ItemInput, run_async: bool = True) -> None:
        await served.retainer.retain("b", items, run_async=run_async)

    def item(document_id: str, content: str, **options: Any) -> ItemInput:
        return ItemInput(**({"content": content, "document_id": document_id, "timestamp": _AT} | options))

    await served.banks.put("b", BankInput())
    await served.banks.update_config("b", {"retain_chunk_size": 500})
    await retain(
        item("replaced", "Ann: I had a kettle."),
        item("longer", _FIRST),
        item("appended", "Ann: I had a boat."),
        item("again", "Fay: I have a red car."),
        run_async=False,
    )
    await retain(item("failed", "Gil: I play the xylophone."), item("forgotten", "Gil: I bought a zither."))
    await retain(
        item(
            "replaced",
            "Ann: I moved to Oslo in May. I bought a canoe there.",
            context="a chat",
            metadata={"k": "v"},
            tags=("t",),
            entities=[{"text": "Ann", "type": "PERSON"}],
        ),
        item("longer", f"{_FIRST}\n\n{_SECOND}"),
        item("appended", "Ann: I sold the boat.", update_mode="append"),
        item("appended", "Ann: I bought a plane.", update_mode="append"),
        item("timeless", "Carl: I live in Bergen and I work at Acme.", timestamp="unset"),
    )
    await retain(item("waiting", "Dora: My dog is named Rex."))
    await served.documents.reprocess("b", "again")


async def test_they_are_done_as_todays_are(left: Services, tmp_path: Path) -> None:
    assert [one.status for one in await operations(left)] == ["failed", "pending", "pending", "pending"]
    await left.jobs.run_until_idle()
    failed, *done = await operations(left)
    assert [one.status for one in done] == ["completed"] * 3
    await left.operations.retry("b", failed.operation_id)
    await left.jobs.run_until_idle()
    assert [one.status for one in await operations(left)] == ["completed"] * 4

    today = services(tmp_path / "today")
    await today.store.open()
    await _ask(today)
    await today.jobs.run_until_idle()
    assert await memories(left) == await memories(today)
    await today.store.close()


@pytest.mark.parametrize("left", [1], indirect=True)
async def test_what_is_forgotten_is_in_no_job_of_the_first_version(left: Services, tmp_path: Path) -> None:
    folder = tmp_path / "left"
    held = json.dumps(payloads(folder / "memory.db"))
    assert not [word for word in ("xylophone", "zither", "Oslo", "Rex", '"source"') if word in held]
    await left.documents.delete("b", "forgotten")
    await left.store.close()
    assert not [file.name for file in folder.iterdir() if b"zither" in file.read_bytes()]
