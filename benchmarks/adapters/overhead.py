"""What the adapters' core costs over a bare call of the client: CPU time per operation.

    python benchmarks/adapters/overhead.py [--rounds 5] [--calls 200]

Both send the same requests to a fake server in a process of its own, in turns, so that noise meets both alike. CPU time
is that of this process, all threads; the bare client runs on one loop as its users run it, the core also pays for its
bridge to another thread. Reported is the median over rounds. Exits with 1 above the bar of 1 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

from hindsight_client import Hindsight

from hindsight_adapter_core import MemoryOperations, MemoryOptions, open_memory
from hindsight_adapter_core._client import PACKAGE
from hindsight_adapter_core.testing import FakeHindsight

BAR_MILLISECONDS = 1.0


def serve(pipe: Connection) -> None:
    with FakeHindsight() as server:
        server.remember("b", *(f"the user likes thing number {n}" for n in range(10)))
        pipe.send(server.url)
        pipe.recv()


async def cpu_milliseconds(call: Callable[[int], Awaitable[object]], calls: int) -> float:
    started = time.process_time()
    for number in range(calls):
        await call(number)
    return (time.process_time() - started) / calls * 1000


async def measure(url: str, rounds: int, calls: int) -> dict[str, float]:
    client = Hindsight(base_url=url)
    memory: MemoryOperations = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=url))

    async def bare_retain(number: int) -> object:
        return await client.aretain(
            bank_id="b", content=f"fact {number}", document_id=f"bare-{number}", timestamp="2026-03-01T10:00:00Z"
        )

    async def bare_recall(number: int) -> object:
        return await client.arecall(bank_id="b", query="what does the user like?", max_tokens=4096)

    async def core_retain(number: int) -> object:
        return await memory.aretain(f"fact {number}")

    async def core_recall(number: int) -> object:
        return await memory.arecall("what does the user like?")

    pairs = {"retain": (bare_retain, core_retain), "recall": (bare_recall, core_recall)}
    overheads: dict[str, float] = {}
    for name, (bare, ours) in pairs.items():
        for warm in (bare, ours):
            await cpu_milliseconds(warm, 20)
        found = [(await cpu_milliseconds(bare, calls), await cpu_milliseconds(ours, calls)) for _ in range(rounds)]
        bare_median, core_median = (statistics.median(values) for values in zip(*found, strict=True))
        overheads[name] = core_median - bare_median
        print(f"{name}: bare {bare_median:.3f} ms, core {core_median:.3f} ms, overhead {overheads[name]:.3f} ms CPU")
    await client.aclose()
    return overheads


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200)
    asked = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    overheads = asyncio.run(measure(ours.recv(), asked.rounds, asked.calls))
    ours.send("done")
    process.join(10)
    return int(max(overheads.values()) > BAR_MILLISECONDS)


if __name__ == "__main__":
    sys.exit(main())
