"""What an asynchronous retain of many items costs beside its language model.

    python benchmarks/server/extraction.py --items 1000 --concurrency 8 --model-seconds 0.05

A stand-in for the model answers each chunk with one fact after a fixed time. The bar is the wall time from the request
to the end of the operation, as a multiple of what the model alone needs: items x seconds / concurrency. The embedder is
the bundled model. The stand-in runs in a process of its own, on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import time
from collections.abc import Mapping
from typing import Any

from hindsight_client import Hindsight
from process import Target, own_server

BANK = "extraction"
_CITIES = ("Oslo", "Lima", "Kyoto", "Porto", "Cairo", "Quito", "Turin", "Leeds")


def item(number: int) -> str:
    """A short item of one chunk and one fact."""
    city = _CITIES[number % len(_CITIES)]
    return f"Ann: I visited {city} on trip {number} and bought a lamp of green glass there, it was a fine day."


def answer(question: Any) -> dict[str, Any]:
    """The fact of an item, as a model would write it."""
    found = re.search(r"visited (\w+) on trip (\d+)", question.text)
    if found is None:
        return {"facts": []}
    fact: dict[str, Any] = dict.fromkeys(("when", "where", "who", "why", "time_words", "start", "end"), "")
    fact |= {"what": f"Ann visited {found[1]} on trip {found[2]} and bought a lamp of green glass there.", "line": 1}
    fact |= {"entities": [{"name": found[1], "type": "LOCATION"}], "labels": [], "caused_by": []}
    return {"facts": [fact]}


def serve(seconds: float, ready: Any) -> None:
    """The stand-in, until it is ended."""
    from hindsight_server.testing.model_server import ModelServer

    with ModelServer(answer, seconds=seconds) as model:
        ready.send(model.environment())
        ready.close()
        time.sleep(3600)


async def measure(target: Target, items: int) -> dict[str, float]:
    """Seconds of the request and of the whole, processor time, and how often progress was seen."""
    client = Hindsight(base_url=target.url, timeout=300.0)
    try:
        await client.aretain(BANK, item(items))  # what is loaded once
        await client.aupdate_bank_config(BANK, enable_observations=False)  # they have the model do other work
        used, began = target.cpu_seconds() or 0.0, time.perf_counter()
        given = [{"content": item(number), "document_id": f"d{number}"} for number in range(items)]
        taken = await client.aretain_batch(BANK, given, retain_async=True)
        accepted = time.perf_counter() - began
        seen: set[int] = set()
        while True:
            status = await _status(target, taken.operation_id)
            if status["status"] not in ("pending", "processing"):
                break
            if status.get("progress"):
                seen.add(status["progress"]["processed"])
            await asyncio.sleep(0.1)
        wall = time.perf_counter() - began
    finally:
        await client.aclose()
    assert status["status"] == "completed", status
    assert status["result_metadata"]["fact_count"] == items, status
    cpu = (target.cpu_seconds() or 0.0) - used
    return {"accepted_s": accepted, "wall_s": wall, "cpu_s": cpu, "progress_steps": float(len(seen))}


async def _status(target: Target, operation_id: str | None) -> Mapping[str, Any]:
    import aiohttp

    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{target.url}/v1/default/banks/{BANK}/operations/{operation_id}") as response,
    ):
        return dict(await response.json())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--model-seconds", type=float, default=0.05)
    parser.add_argument("--embeddings", default="local")
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    model = multiprocessing.get_context("spawn").Process(target=serve, args=(given.model_seconds, there), daemon=True)
    model.start()
    try:
        variables = here.recv() | {"HINDSIGHT_API_LLM_MAX_CONCURRENT": str(given.concurrency)}
        with own_server(given.embeddings, **variables) as target:
            figures = asyncio.run(measure(target, given.items))
    finally:
        model.terminate()
    figures["ideal_s"] = given.items * given.model_seconds / given.concurrency
    figures["ratio"] = figures["wall_s"] / figures["ideal_s"]
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
