"""A process that is killed while it writes: what it acknowledged is there, and nothing by halves."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.ports.records import DocumentFilter, FactFilter

# Eight writers; each prints the name of a document once its retain has returned.
_WRITER = """
import asyncio, sys
from pathlib import Path
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.testing.store_contract.builders import appended, document, put, write

async def fill(store, name):
    for number in range(100_000):
        await store.retain(write("b", document(f"{name}-{number}", "one", "two", "three", names=["Ann"]),
                                 appended("log", f"{name}-{number}")))
        print(f"{name}-{number}", flush=True)

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    print("open", flush=True)
    await asyncio.gather(*(fill(store, f"{sys.argv[2]}w{number}") for number in range(8)))

asyncio.run(main())
"""


@pytest.mark.feature("O5")
async def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    random.seed(7)
    for turn in range(4):
        acknowledged |= killed_while_writing(tmp_path, f"r{turn}", random.uniform(0.05, 0.4))
        await everything_is_whole(tmp_path, acknowledged)
    assert len(acknowledged) > 20


def killed_while_writing(folder: Path, name: str, seconds: float) -> set[str]:
    """Let a process write for that long, kill it; the documents that it acknowledged."""
    command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(folder), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return {line.strip() for line in process.stdout if line.endswith("\n")}


async def everything_is_whole(folder: Path, acknowledged: set[str]) -> None:
    store = SqliteStore(folder)
    await store.open()
    documents = await store.list_documents("b", DocumentFilter(), 1_000_000, 0)
    stored = {found.document_id for found in documents.items} - {"log"}
    assert acknowledged <= stored
    assert all(found.fact_count == 3 for found in documents.items if found.document_id != "log")
    log = (await store.get_document("b", "log")).text
    assert log is not None
    assert set(log.split("\n")) == stored
    facts = await store.list_facts("b", FactFilter(), 1, 0)
    assert facts.total == 4 * len(stored)
    rows = (await store.snapshot("b", 0, 0)).rows
    found = await store.postings("b", {"two": 0})
    assert found["two"][0].tolist() == [row.seq for row in rows if row.turn_index == 1 and row.document_id != "log"]
    (ann,) = await store.find_entities("b", ["Ann"])
    assert ann.mention_count == 3 * len(stored)
    await store.close()
