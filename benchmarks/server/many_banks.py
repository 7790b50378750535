"""Many small banks: memory within the configured cache, and recall as quick as in one bank.

    python benchmarks/server/many_banks.py
    python benchmarks/server/many_banks.py --banks 1000 --facts 100 --cache-mb 16 --cache-mb 512

Fills the banks of a fresh server, then recalls from one bank again and again and from random ones, for each size of the
cache, each time in a server that has just been started on the same folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight
from load import sentences
from process import Target, own_server

MIB = 2**20


async def fill(target: Target, banks: int, facts: int) -> float:
    """Facts a second."""
    texts = sentences(banks * facts)
    clients = [Hindsight(base_url=target.url, timeout=300.0) for _ in range(4)]
    began, numbers = time.perf_counter(), iter(range(banks))

    async def worker(client: Hindsight) -> None:
        for number in numbers:
            items = [{"content": text} for text in texts[number * facts : (number + 1) * facts]]
            await client.aretain_batch(f"bank-{number}", items)

    await asyncio.gather(*map(worker, clients))
    for client in clients:
        await client.aclose()
    return banks * facts / (time.perf_counter() - began)


async def recalls(target: Target, chosen: list[int], facts: int, what: str) -> dict[str, Any]:
    """Recalls from the banks of these numbers, one after another."""
    client, waits = Hindsight(base_url=target.url, timeout=300.0), []
    pick, texts = random.Random(5), sentences((max(chosen) + 1) * facts)
    before = target.cpu_seconds() or 0.0
    try:
        for number in chosen:
            words = " ".join(texts[number * facts + pick.randrange(facts)].split()[2:5])
            began = time.perf_counter()
            found = await client.arecall(f"bank-{number}", f"Who did what with {words}?", max_tokens=4096)
            waits.append((time.perf_counter() - began) * 1000)
            assert found.results
    finally:
        await client.aclose()
    cpu = ((target.cpu_seconds() or 0.0) - before) * 1000 / len(chosen)
    p50, p95, memory = statistics.median(waits), sorted(waits)[int(0.95 * len(waits))], target.memory_mb() or 0.0
    print(f"{what:32} p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   CPU {cpu:6.1f} ms   memory {memory:5.0f} MB", flush=True)
    return {"what": what, "p50_ms": p50, "p95_ms": p95, "cpu_ms": cpu, "memory_mb": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banks", type=int, default=1000)
    parser.add_argument("--facts", type=int, default=100, help="of each bank")
    parser.add_argument("--recalls", type=int, default=3000)
    parser.add_argument("--cache-mb", type=int, action="append", help="sizes of the cache; 16 and 512 by default")
    parser.add_argument("--embeddings", default="hashing", choices=["local", "hashing"])
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hindsight-banks-"))
    pick, rows = random.Random(1), []
    try:
        with own_server(arguments.embeddings, folder) as target:
            rate = asyncio.run(fill(target, arguments.banks, arguments.facts))
            print(f"{arguments.banks:,} banks of {arguments.facts} facts, filled at {rate:,.0f} facts/s")
        random_banks = [pick.randrange(arguments.banks) for _ in range(arguments.recalls)]
        for size in arguments.cache_mb or [16, 512]:
            with own_server(arguments.embeddings, folder, HINDSIGHT_API_RECALL_CACHE_BYTES=str(size * MIB)) as target:
                one = [0] * min(arguments.recalls, 500)
                rows.append(asyncio.run(recalls(target, one, arguments.facts, f"{size} MB, one bank")))
                what = f"{size} MB, random banks"
                rows.append(asyncio.run(recalls(target, random_banks, arguments.facts, what)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
