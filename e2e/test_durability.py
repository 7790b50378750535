"""A server killed in the middle of eight clients' retains keeps every acknowledged item, and nothing by halves."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from hindsight_client import Hindsight

from hindsight_server.testing.process import ServerProcess

CLIENTS = 8
BANK = "durable"
PAGE = 500


async def _storm(server: ServerProcess, round_: int) -> list[str]:
    """Retain unique words from eight clients until the server is killed; the acknowledged ones."""
    acknowledged: list[str] = []
    busy = asyncio.Event()

    async def write(number: int) -> None:
        client = Hindsight(base_url=server.url, timeout=20.0)
        try:
            for count in range(10_000):
                word = f"word{round_}x{number}x{count}q"
                text = f"Agent {number} noted the code word {word} in round {round_}."
                await client.aretain(BANK, text, document_id=f"{round_}-{number}-{count}")
                acknowledged.append(word)
                if len(acknowledged) >= CLIENTS:
                    busy.set()
        except Exception:  # the server is gone: how the client says so is its business
            return
        finally:
            await client.aclose()

    writers = [asyncio.create_task(write(number)) for number in range(CLIENTS)]
    await asyncio.wait_for(busy.wait(), 60)
    await asyncio.sleep(random.uniform(0.1, 1.0))
    server.kill()
    await asyncio.gather(*writers)
    return acknowledged


async def _check(url: str, acknowledged: list[str]) -> None:
    client = Hindsight(base_url=url, timeout=60.0)
    listed: list[dict[str, object]] = []
    while True:
        page = await client.alist_memories(BANK, limit=PAGE, offset=len(listed))
        listed += [item if isinstance(item, dict) else item.to_dict() for item in page.items]
        if len(listed) >= page.total:
            break
    text = "\n".join(str(item["text"]) for item in listed)
    assert not [word for word in acknowledged if word not in text]
    documents = {str(item["document_id"]) for item in listed}
    assert len(documents) == len(listed), "a document has not exactly its one fact"
    for word in random.sample(acknowledged, min(10, len(acknowledged))):
        found = await client.arecall(BANK, f"code word {word}", max_tokens=200)
        assert any(word in result.text for result in found.results), word
    for document_id in random.sample(sorted(documents), min(10, len(documents))):
        document = await client.documents.get_document(BANK, document_id)
        assert document.memory_unit_count == 1
        assert document.original_text
    await client.aclose()


def _rounds(folder: Path, rounds: int) -> None:
    server = ServerProcess(folder)
    acknowledged: list[str] = []
    try:
        for round_ in range(rounds):
            server.start()
            acknowledged += asyncio.run(_storm(server, round_))
        server.start()
        asyncio.run(_check(server.url, acknowledged))
    finally:
        server.stop()


def test_killed_three_times(tmp_path: Path) -> None:
    _rounds(tmp_path, 3)


@pytest.mark.slow
def test_killed_twenty_times(tmp_path: Path) -> None:
    _rounds(tmp_path, 20)
