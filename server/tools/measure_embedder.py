"""Measure the bundled embedders on this machine: load, memory, query and throughput.

    PYTHONPATH=server/src python server/tools/measure_embedder.py local
    PYTHONPATH=server/src python server/tools/measure_embedder.py hashing

Times are processor time of this process beside the clock's, since machines are shared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from sentences import sentences

from hindsight_server.adapters.embed import make_embedder

CHINESE = "我姐姐去年夏天从里斯本搬到了大阪，在一家书店工作。"


def memory() -> str:
    """Resident and proportional memory of this process in MB, where the system tells."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        return "unknown"
    sizes = {line.split()[0]: int(line.split()[1]) // 1024 for line in lines[1:]}
    return f"RSS {sizes['Rss:']} MB, PSS {sizes['Pss:']} MB"


def per_call(label: str, call: Callable[[], object], times: int) -> None:
    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(f"{label}: {clock / times * 1e3:.3f} ms, processor {processor / times * 1e3:.3f} ms, {times / clock:.0f}/s")


def main() -> int:
    began = time.perf_counter()
    embedder = make_embedder(sys.argv[1] if len(sys.argv) > 1 else "local")
    embedder.start()
    print(f"start() returned after {time.perf_counter() - began:.3f} s; {memory()}")
    if not embedder.wait_ready(60):
        print(embedder.failure)
        return 1
    print(f"ready after {time.perf_counter() - began:.3f} s; {memory()}")
    default = embedder.spaces[:1]
    embedder.encode_query("When did the boat leave the harbour?", default)
    print(f"after one query: {memory()}")
    per_call("query", lambda: embedder.encode_query("When did the boat leave the harbour?", default), 200)
    short = list(sentences(400, seed=2))
    turns = iter([" ".join(short[i : i + 2]) for i in range(399)])
    per_call("turn of about 45 tokens", lambda: embedder.encode([next(turns)]), 399)
    long = " ".join(short[:40])
    per_call("turn of 256 tokens", lambda: embedder.encode([long]), 10)
    print(f"after the turns: {memory()}")
    if len(embedder.spaces) > 1:
        per_call("first text in another script", lambda: embedder.encode([CHINESE]), 1)
        per_call("text in another script", lambda: embedder.encode([CHINESE]), 200)
        print(f"with both spaces: {memory()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
