"""One bank of a million facts: building it, starting on it, recalling from it.

    python benchmarks/server/large.py build --folder FOLDER --facts 1000000
    python benchmarks/server/large.py run --folder FOLDER

`build` stores facts in this process, through the same use case as a request does, and goes on where it stopped. Of every
fifty facts, forty are documents of their own and ten are the turns of one conversation; each block of fifty carries the
tag of one of forty teams. The embedder is the hashing one, which takes no time, so that the figures are those of the
engine. `run` starts a server on the folder and measures start, first recall, recall, and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from hindsight_server.bootstrap import build_services
from hindsight_server.engine.retain.types import ItemInput
from hindsight_server.settings import Settings
from load import sentences

BANK = "large"
BLOCK = 50
TURNS = 10
TEAMS = 40
BLOCKS_AT_ONCE = 20


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


async def build(folder: Path, facts: int) -> None:
    """Fill the folder up to so many facts."""
    services = build_services(Settings(data_dir=folder, embeddings_provider="hashing"))
    texts = sentences(facts)
    async with services.running():
        services.embedder.start()
        await services.store.ensure_bank(BANK, services.retainer._clock.now())
        held = (await services.store.get_bank(BANK)).fact_count
        blocks = list(range(held // BLOCK, facts // BLOCK))
        began, done = time.perf_counter(), 0
        queue = iter([blocks[at : at + BLOCKS_AT_ONCE] for at in range(0, len(blocks), BLOCKS_AT_ONCE)])

        async def worker() -> None:
            nonlocal done
            for chosen in queue:
                items = [item for number in chosen for item in block_items(number, texts[number * BLOCK : (number + 1) * BLOCK])]
                await services.retainer.retain(BANK, items)
                done += len(chosen) * BLOCK
                if done % 20_000 < BLOCK * BLOCKS_AT_ONCE:
                    print(f"{held + done:,} facts, {done / (time.perf_counter() - began):,.0f}/s", flush=True)

        await asyncio.gather(worker(), worker())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "run"])
    parser.add_argument("--folder", type=Path, required=True, help="data folder of the server")
    parser.add_argument("--facts", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.what == "build":
        asyncio.run(build(arguments.folder, arguments.facts))


if __name__ == "__main__":
    main()
