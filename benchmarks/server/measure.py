"""Measures a memory server over its HTTP API: start, memory, retain, recall, evidence.

    python benchmarks/server/measure.py                                   a fresh server of our own, everything
    python benchmarks/server/measure.py --url http://127.0.0.1:8888 --pid 4711 --only retain,recall
    python benchmarks/server/measure.py --only recall --sizes 100000 --embeddings hashing
    python benchmarks/server/measure.py --only evidence --locomo PATH --conversations conv-26,conv-30

Prints a table and, with --out, writes JSON. Machines are noisy: compare the CPU column, and figures of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from evidence import evidence_recall, load_samples
from load import Figure, recall, retain_in_batches, retain_singly
from process import Target, own_server

PARTS = ("start", "memory", "retain", "recall", "evidence")
CLIENTS = 8


def show(figure: Figure) -> None:
    cpu = f"{figure.cpu_ms:8.2f}" if figure.cpu_ms is not None else "       -"
    print(
        f"{figure.what:26} {figure.clients:7} {figure.items:7} {figure.per_second:10.1f} "
        f"{figure.p50_ms:9.1f} {figure.p95_ms:9.1f} {cpu}",
        flush=True,
    )


async def load_figures(target: Target, arguments: argparse.Namespace) -> list[Figure]:
    """Retain and recall, one client and eight; each row is printed as soon as it is known."""
    figures: list[Figure] = []

    def keep(figure: Figure) -> None:
        figures.append(figure)
        show(figure)

    print(f"{'what':26} {'clients':>7} {'items':>7} {'per second':>10} {'p50 ms':>9} {'p95 ms':>9} {'CPU ms':>8}")
    if "retain" in arguments.only:
        for clients in (1, CLIENTS):
            keep(await retain_singly(target, f"bench-single-{clients}", arguments.items, clients))
            keep(await retain_in_batches(target, f"bench-batch-{clients}", arguments.items * 5, clients))
    if "recall" in arguments.only:
        held = 0
        for size in arguments.sizes:
            keep(await retain_in_batches(target, "bench-recall", size - held, 2, already=held))
            held = size
            for clients in (1, CLIENTS):
                keep(await recall(target, "bench-recall", size, clients, arguments.queries))
    return figures


async def measure(target: Target, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything that was asked for, as JSON-able data."""
    report: dict[str, Any] = {"machine": platform.platform(), "cores": os.cpu_count(), "url": target.url}
    if "start" in arguments.only and target.start_seconds is not None:
        report["start_seconds"] = round(target.start_seconds, 3)
        print(f"start to healthy: {target.start_seconds:.2f} s")
    if "memory" in arguments.only:
        await retain_in_batches(target, "bench-memory", 50, 1)
        await recall(target, "bench-memory", 50, 1, 1)
        await asyncio.sleep(2)
        report["memory_mb"] = target.memory_mb()
        print(f"memory after a recall: {target.memory_mb() or float('nan'):.0f} MB")
    report["load"] = [figure.row() for figure in await load_figures(target, arguments)]
    if "evidence" in arguments.only and arguments.locomo:
        report["evidence"] = await evidence_recall(target, load_samples(arguments.locomo), arguments.conversations)
        print("evidence: " + ", ".join(f"{name} {value}" for name, value in report["evidence"].items()))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running server; without it, a fresh one is started and ended")
    parser.add_argument("--pid", type=int, help="process of the running server, for CPU and memory (Linux)")
    parser.add_argument("--embeddings", default="local", choices=["local", "hashing"], help="of a server of our own")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--items", type=int, default=200, help="items of the single retains; batches take five times")
    parser.add_argument("--sizes", type=lambda text: [int(x) for x in text.split(",")], default=[1000, 10000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--locomo", type=Path, help="a LoCoMo file, for evidence recall")
    parser.add_argument("--conversations", type=lambda text: text.split(","), default=[])
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    server = nullcontext(Target(arguments.url, arguments.pid)) if arguments.url else own_server(arguments.embeddings)
    with server as target:
        report = asyncio.run(measure(target, arguments))
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
