"""Retain and recall under load, through hindsight-client."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hindsight_client import Hindsight
from process import Target

PEOPLE = (
    "Alice",
    "Bob",
    "Chen",
    "Dana",
    "Emil",
    "Farah",
    "Goran",
    "Hana",
    "Ivan",
    "Jun",
    "Kemal",
    "Lena",
    "Mara",
    "Nils",
    "Olga",
    "Priya",
)
DEEDS = (
    "repaired",
    "bought",
    "painted",
    "cancelled",
    "reviewed",
    "deployed",
    "borrowed",
    "measured",
    "translated",
    "photographed",
)
THINGS = (
    "bridge",
    "invoice",
    "kettle",
    "database",
    "canoe",
    "telescope",
    "lecture",
    "marathon",
    "greenhouse",
    "violin",
    "contract",
    "firewall",
)
PLACES = (
    "Lisbon",
    "Osaka",
    "Nairobi",
    "Bergen",
    "Quito",
    "Tallinn",
    "Hobart",
    "Jaipur",
)
BATCH = 50


@dataclass(frozen=True)
class Figure:
    """One row of the table. CPU is the server's, per item for retain and per request for recall."""

    what: str
    clients: int
    items: int
    seconds: float
    per_second: float
    p50_ms: float
    p95_ms: float
    cpu_ms: float | None

    def row(self) -> dict[str, Any]:
        return asdict(self)


def sentences(count: int, seed: int = 7) -> list[str]:
    """Distinct made-up facts."""
    pick = random.Random(seed)
    return [
        f"{pick.choice(PEOPLE)} {pick.choice(DEEDS)} the {pick.choice(THINGS)} number {number} "
        f"in {pick.choice(PLACES)} because of the {pick.choice(THINGS)}."
        for number in range(count)
    ]


async def _measure(
    target: Target, what: str, jobs: Sequence[Any], clients: int, work: Callable[[Hindsight, Any], Awaitable[int]]
) -> Figure:
    pool = [Hindsight(base_url=target.url, timeout=300.0) for _ in range(clients)]
    waits: list[float] = []
    items = 0
    queue = iter(jobs)

    async def worker(client: Hindsight) -> None:
        nonlocal items
        for job in queue:
            began = time.perf_counter()
            done = await work(client, job)
            waits.append(time.perf_counter() - began)
            items += done

    cpu_before, began = target.cpu_seconds(), time.perf_counter()
    try:
        await asyncio.gather(*(worker(client) for client in pool))
    finally:
        seconds, cpu_after = time.perf_counter() - began, target.cpu_seconds()
        for client in pool:
            await client.aclose()
    cpu = None if cpu_before is None or cpu_after is None else (cpu_after - cpu_before) * 1000 / items
    waits.sort()
    return Figure(
        what,
        clients,
        items,
        seconds,
        items / seconds,
        statistics.median(waits) * 1000,
        waits[min(len(waits) - 1, int(0.95 * len(waits)))] * 1000,
        cpu,
    )


async def retain_singly(target: Target, bank: str, count: int, clients: int) -> Figure:
    """One item a request."""

    async def work(client: Hindsight, text: str) -> int:
        await client.aretain(bank, text)
        return 1

    return await _measure(target, "retain, one at a time", sentences(count, seed=clients), clients, work)


async def retain_in_batches(target: Target, bank: str, count: int, clients: int, already: int = 0) -> Figure:
    """Batches of 50, up to `count` items beyond the first `already`."""
    texts = sentences(count + already)[already:]
    batches = [texts[start : start + BATCH] for start in range(0, count, BATCH)]

    async def work(client: Hindsight, batch: list[str]) -> int:
        await client.aretain_batch(bank, [{"content": text} for text in batch])
        return len(batch)

    return await _measure(target, f"retain, batches of {BATCH}", batches, clients, work)


async def recall(target: Target, bank: str, facts: int, clients: int, queries: int) -> Figure:
    """Questions about made-up facts, budget mid, 4,096 tokens."""
    pick, texts = random.Random(facts + clients), sentences(facts)
    asked = ["Who did what with " + " ".join(pick.choice(texts).split()[2:5]) + "?" for _ in range(queries)]

    async def work(client: Hindsight, question: str) -> int:
        found = await client.arecall(bank, question, budget="mid", max_tokens=4096)
        if not found.results:
            raise SystemExit(f"nothing recalled for {question!r}")
        return 1

    await _measure(target, "warm-up", asked[:5], 1, work)
    return await _measure(target, f"recall, {facts:,} facts", asked, clients, work)
