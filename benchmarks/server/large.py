"""One bank of a million facts: building it, starting on it, recalling from it.

    python benchmarks/server/large.py build --folder FOLDER --facts 1000000
    python benchmarks/server/large.py run --folder FOLDER --facts 1000000
    python benchmarks/server/large.py compare --folder FOLDER

`build` stores facts in this process, through the same use case as a request, and goes on where it stopped. Of every
fifty facts, forty are documents of their own and ten are the turns of one conversation; each block of fifty carries the
tag of one of forty teams. The embedder is the hashing one, which takes no time, so that the figures are those of the
engine.

`run` starts a server on the folder twice. The first start makes the bank's image, if there is none; the second one is
measured: until it is healthy, until the first recall is answered, then recalls of all facts, of one team and of most
teams, recalls between writes, and memory.

`compare` asks how many of the hundred nearest vectors the search finds that an exact comparison of the stored vectors
finds. Equally near ones count as found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from hindsight_client import Hindsight
from load import sentences
from process import Target, own_server

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.bootstrap import build_services
from hindsight_server.engine.recall.vectors import VectorBuffers
from hindsight_server.engine.retain.types import ItemInput
from hindsight_server.settings import Settings

BANK = "large"
BLOCK = 50
TURNS = 10
TEAMS = 40
BLOCKS_AT_ONCE = 20
NEAREST = 100
PIECE = 20_000


def block_items(number: int, texts: list[str]) -> list[ItemInput]:
    """Forty facts and a conversation of ten turns, made of fifty sentences."""
    tags = [f"team:{number % TEAMS}"]
    day = f"20{10 + number // 366 % 15:02}-{number % 12 + 1:02}-{number % 28 + 1:02}T09:00:00Z"
    single = [
        ItemInput(content=text, tags=tags, timestamp=day, document_id=f"note-{number}-{place}")
        for place, text in enumerate(texts[TURNS:])
    ]
    turns = [{"role": "user", "content": text} for text in texts[:TURNS]]
    talk = ItemInput(content=json.dumps(turns), tags=tags, timestamp=day, document_id=f"talk-{number}")
    return [*single, talk]


def open_folder(folder: Path) -> Any:
    return build_services(Settings(data_dir=folder, embeddings_provider="hashing"))


async def build(folder: Path, facts: int) -> None:
    """Fill the folder up to so many facts."""
    services, texts = open_folder(folder), sentences(facts)
    async with services.running():
        await services.store.ensure_bank(BANK, datetime.now(UTC))
        held = (await services.store.get_bank(BANK)).fact_count
        # What two workers had begun when a build was broken off may have a gap.
        blocks = list(range(max(0, held // BLOCK - 2 * BLOCKS_AT_ONCE), facts // BLOCK))
        began, done = time.perf_counter(), 0
        queue = iter([blocks[at : at + BLOCKS_AT_ONCE] for at in range(0, len(blocks), BLOCKS_AT_ONCE)])

        async def worker() -> None:
            nonlocal done
            for chosen in queue:
                items = [
                    item
                    for number in chosen
                    for item in block_items(number, texts[number * BLOCK : (number + 1) * BLOCK])
                ]
                await services.retainer.retain(BANK, items)
                done += len(chosen)
                if done % 400 < BLOCKS_AT_ONCE:
                    facts_done = (blocks[0] + done) * BLOCK
                    print(f"{facts_done:,} facts, {done * BLOCK / (time.perf_counter() - began):,.0f}/s", flush=True)

        await asyncio.gather(worker(), worker())


class Measured:
    """Wall times and the server's CPU of calls of one kind."""

    def __init__(self, target: Target, what: str) -> None:
        self._target, self._what = target, what

    async def run(self, count: int, call: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        waits = []
        before = self._target.cpu_seconds() or 0.0
        for _ in range(count):
            began = time.perf_counter()
            await call()
            waits.append((time.perf_counter() - began) * 1000)
        cpu = ((self._target.cpu_seconds() or 0.0) - before) * 1000 / count
        p50, p95 = statistics.median(waits), sorted(waits)[int(0.95 * count)]
        print(f"{self._what:34} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   CPU {cpu:7.1f} ms", flush=True)
        return {"what": self._what, "p50_ms": p50, "p95_ms": p95, "cpu_ms": cpu}


async def first_recall(target: Target) -> float:
    client = Hindsight(base_url=target.url, timeout=300.0)
    try:
        began = time.perf_counter()
        found = await client.arecall(BANK, "Who repaired the bridge in Osaka?")
        assert found.results
        return time.perf_counter() - began
    finally:
        await client.aclose()


async def recalls(target: Target, facts: int, queries: int) -> list[dict[str, Any]]:
    pick, texts = random.Random(3), sentences(facts)
    client = Hindsight(base_url=target.url, timeout=300.0)
    written = 0

    async def ask(**options: Any) -> None:
        words = " ".join(pick.choice(texts).split()[2:5])
        found = await client.arecall(BANK, f"Who did what with {words}?", budget="mid", max_tokens=4096, **options)
        assert found.results

    async def write_and_ask() -> None:
        nonlocal written
        written += 1
        await client.aretain(BANK, f"Zora sold the kettle of number {written}.")
        await ask()

    most = [f"team:{number}" for number in range(TEAMS - 10)]
    try:
        for _ in range(5):
            await ask()
        return [
            await Measured(target, "recall").run(queries, ask),
            await Measured(target, "recall of one team in forty").run(
                queries, lambda: ask(tags=["team:3"], tags_match="any_strict")
            ),
            await Measured(target, "recall of thirty teams in forty").run(
                queries, lambda: ask(tags=most, tags_match="any_strict")
            ),
            await Measured(target, "retain and recall").run(max(queries // 4, 1), write_and_ask),
            await Measured(target, "recall after these").run(queries, ask),
        ]
    finally:
        await client.aclose()


def run(folder: Path, facts: int, queries: int) -> dict[str, Any]:
    with own_server("hashing", folder) as target:
        print(f"start that makes the image, to the first answer: {asyncio.run(first_recall(target)):.2f} s")
    with own_server("hashing", folder) as target:
        seconds = asyncio.run(first_recall(target))
        print(f"start: healthy after {target.start_seconds:.2f} s, first recall {seconds:.2f} s after that")
        figures = asyncio.run(recalls(target, facts, queries))
        print(f"memory: {target.memory_mb():.0f} MB")
        return {
            "start_seconds": target.start_seconds,
            "first_recall_seconds": seconds,
            "recalls": figures,
            "memory_mb": target.memory_mb(),
        }


async def compare(folder: Path, queries: int) -> float:
    """The mean share of the nearest vectors that the search finds."""
    services, embedder = open_folder(folder), make_embedder("hashing")
    pieces, mark = [], (0, 0)
    async with services.running():
        while True:
            snapshot = await services.store.snapshot(BANK, *mark, limit=PIECE)
            pieces += [matrix.astype(np.float16) for _, matrix in snapshot.vectors.values()]
            if snapshot.complete:
                break
            mark = (snapshot.rows[-1].seq, snapshot.version)
    (space,) = embedder.spaces
    held = VectorBuffers(embedder.dimension(space))
    for number, piece in enumerate(pieces):
        held.extend(np.arange(len(piece)) + number * PIECE, piece.astype(np.float32))
    vectors, pick, shares, short = held.view(), random.Random(11), [], 0.0
    texts = sentences(len(vectors))
    for _ in range(queries):
        question = f"Who did what with {' '.join(pick.choice(texts).split()[2:5])}?"
        query = embedder.encode_query(question, [space])[0].vector
        true = np.concatenate([piece.astype(np.float32) @ query for piece in pieces])
        least = np.partition(true, -NEAREST)[-NEAREST]
        found = np.argpartition(vectors.cosines(query), -NEAREST)[-NEAREST:]
        shares.append(float(np.mean(true[found] >= least - 1e-6)))
        short = max(short, float(least - true[found].min()))
    print(f"of the {NEAREST} nearest of {len(vectors):,}, found: {np.mean(shares):.4f} (worst {min(shares):.2f});")
    print(f"the others' cosines lie at most {short:.4f} below the hundredth's")
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "run", "compare"])
    parser.add_argument("--folder", type=Path, required=True, help="data folder of the server")
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--out", type=Path, help="write the figures of a run as JSON")
    arguments = parser.parse_args()
    if arguments.what == "build":
        asyncio.run(build(arguments.folder, arguments.facts))
    elif arguments.what == "compare":
        asyncio.run(compare(arguments.folder, arguments.queries))
    else:
        figures = run(arguments.folder, arguments.facts, arguments.queries)
        if arguments.out:
            arguments.out.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
