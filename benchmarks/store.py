"""What the store costs: CPU of a retain, a cold and an unchanged snapshot, postings, bytes on the disk.

Facts are made up: 16 terms drawn from a Zipf distribution, a pooled vector of 384 float32, 20 token vectors of 128
int8, two entities, a document of its own each, in batches of 50. Run with ``python benchmarks/store.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.domain.ids import content_hash, new_id
from hindsight_server.domain.model import EntityMention, ExtractedFact, FactType
from hindsight_server.ports.embedder import Encoding, TokenVectors
from hindsight_server.ports.records import ChunkWrite, DocumentWrite, FactWrite, RetainWrite

T = TypeVar("T")
BATCH = 50


def main() -> None:
    """Fill a store in a temporary folder and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000, help="how many facts the store holds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.facts))


async def measure(folder: Path, facts: int) -> None:
    store = SqliteStore(folder)
    await store.open()
    documents = made_documents(np.random.default_rng(1))
    costs = []
    for _ in range(facts // BATCH):
        write = retain_of(documents, BATCH)
        started = time.process_time()
        await store.retain(write)
        costs.append((time.process_time() - started) * 1000)
    show("retain of 50, CPU ms, median of the last 100", statistics.median(costs[-100:]))
    show("retain of 50, CPU ms, mean of all, checkpoints included", statistics.mean(costs))
    await store.close()
    show("bytes on the disk per fact", bytes_in(folder) / facts)
    _, took = await timed(store.open())
    show("opening, ms", took)
    await measure_reads(store, facts)
    await measure_single_retains(store, documents)
    await store.close()


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


async def measure_reads(store: SqliteStore, facts: int) -> None:
    started = time.process_time()
    snapshot, took = await timed(store.snapshot("b", 0, 0))
    show(f"cold snapshot of {facts} facts, ms", took)
    show(f"cold snapshot of {facts} facts, CPU ms", (time.process_time() - started) * 1000)
    mark = snapshot.rows[-1].seq
    times = [(await timed(store.snapshot("b", mark, snapshot.version)))[1] for _ in range(200)]
    show("unchanged snapshot, ms, median", statistics.median(times))
    found, took = await timed(store.postings("b", {"common": 0}))
    show(f"postings of a term in {found['common'][0].size} facts, ms", took)
    terms = {f"t{number}": 0 for number in range(1, 11)}
    found, took = await timed(store.postings("b", terms))
    show(f"postings of 10 terms in {sum(seqs.size for seqs, _ in found.values())} facts, ms", took)
    seqs = [row.seq for row in snapshot.rows[:: max(1, facts // 100)]][:100]
    show("token vectors of 100 facts, ms", (await timed(store.token_vectors("b", "model", seqs)))[1])
    show("100 facts by number, ms", (await timed(store.facts("b", seqs)))[1])


async def measure_single_retains(store: SqliteStore, documents: Iterator[DocumentWrite]) -> None:
    writes = [retain_of(documents, 1) for _ in range(400)]
    _, took = await timed(one_after_another(store, writes[:100]))
    show("single retains, 1 client, per second", 100_000 / took)
    shares = [writes[100 + client :: 8] for client in range(8)]
    count = sum(len(share) for share in shares)
    _, took = await timed(asyncio.gather(*(one_after_another(store, share) for share in shares)))
    show("single retains, 8 clients, per second", count * 1000 / took)


async def one_after_another(store: SqliteStore, writes: list[RetainWrite]) -> None:
    for write in writes:
        await store.retain(write)


async def timed(work: Awaitable[T]) -> tuple[T, float]:
    """What came of it, and the milliseconds it took."""
    started = time.perf_counter()
    result = await work
    return result, (time.perf_counter() - started) * 1000


def show(what: str, value: float) -> None:
    print(f"{what:<62} {value:>12,.2f}", flush=True)


def retain_of(documents: Iterator[DocumentWrite], count: int) -> RetainWrite:
    return RetainWrite(bank_id="b", documents=tuple(next(documents) for _ in range(count)), now=datetime.now(UTC))


def made_documents(random: np.random.Generator) -> Iterator[DocumentWrite]:
    number = 0
    while True:
        text = f"Ann: made-up words, number {number}, as long as a line of a chat usually is"
        yield DocumentWrite(
            document_id=f"document-{number}",
            text=text,
            content_hash=content_hash(text),
            tags=("user:ann",),
            turn_count=1,
            chunks=(ChunkWrite(index=0, text=text, content_hash=content_hash(text), first_turn=0),),
            facts=(made_fact(random, number, text),),
        )
        number += 1


def made_fact(random: np.random.Generator, number: int, text: str) -> FactWrite:
    terms = {"common": 1} | {f"t{term % 30_000}": 1 for term in random.zipf(1.3, 15)}
    vector = random.standard_normal(384).astype(np.float32)
    tokens = random.integers(-127, 128, (20, 128)).astype(np.int8)
    return FactWrite(
        fact_id=new_id(),
        extracted=ExtractedFact(
            text=text,
            fact_type=FactType.WORLD,
            chunk_index=0,
            turn_index=0,
            speaker="Ann",
            mentioned_at=datetime.now(UTC),
            entities=(EntityMention(name="Ann"), EntityMention(name=f"Place {number % 997}")),
        ),
        terms=terms,
        length=16,
        tokens=20,
        encoding=Encoding("model", vector / np.linalg.norm(vector), TokenVectors(("word",) * 20, tokens)),
    )


if __name__ == "__main__":
    main()
