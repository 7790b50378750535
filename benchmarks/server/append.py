"""What one more line of a long document costs, against a new document of one line.

    python benchmarks/server/append.py --chunks 5000 --lines 200

Both are retained over HTTP, twenty of each in turns, so that whatever else the machine does falls on both; the figures
are the ratios of the server's processor time and of the median latencies. The embedder is the hashing one.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

from hindsight_client import Hindsight
from process import Target, own_server

BANK = "append"
BLOCK = 20


async def measure(target: Target, chunks: int, lines: int) -> dict[str, float]:
    """Ratios of an appended line to a new document."""
    client = Hindsight(base_url=target.url, timeout=300.0)
    try:
        await client.aretain(BANK, "Ann: first.", document_id="first")
        text = "\n".join(
            f"Ann: line {number} of a long talk about boats, harbours and the weather " + "of the year " * 10
            for number in range(chunks)
        )
        await client.aupdate_bank_config(BANK, retain_chunk_size=250)  # one line a chunk
        await client.aretain(BANK, text, document_id="long")
        await asyncio.sleep(2.0)  # what the long document left to do
        latencies: dict[str | None, list[float]] = {"append": [], None: []}
        cpu: dict[str | None, float] = {"append": 0.0, None: 0.0}
        for start in range(0, lines, BLOCK):
            for mode in latencies:
                used = target.cpu_seconds() or 0.0
                for number in range(start, start + BLOCK):
                    document = "long" if mode else f"new {number}"
                    text = f"Ann: one more line, number {number}."
                    began = time.perf_counter()
                    await client.aretain(BANK, text, document_id=document, update_mode=mode)
                    latencies[mode].append(time.perf_counter() - began)
                cpu[mode] += (target.cpu_seconds() or 0.0) - used
    finally:
        await client.aclose()
    latency = {mode: statistics.median(seconds) for mode, seconds in latencies.items()}
    return {
        "latency_ratio": latency["append"] / latency[None],
        "cpu_ratio": cpu["append"] / cpu[None] if cpu[None] else float("nan"),
        "append_ms": 1000 * latency["append"],
        "new_ms": 1000 * latency[None],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--lines", type=int, default=200)
    arguments = parser.parse_args()
    with own_server("hashing") as target:
        for name, value in asyncio.run(measure(target, arguments.chunks, arguments.lines)).items():
            print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
