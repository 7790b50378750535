"""The server's own share of a reflect: a model that answers at once asks for three searches and is done.

    python benchmarks/server/reflect.py                        # 10,000 facts, budget mid, the real embedding model
    python benchmarks/server/reflect.py --facts 1000 --embeddings hashing

The engine runs in this process, so that no HTTP and no other process is measured, under the limits that `hindsight
serve` sets: one thread for numeric libraries, which else spin on the other cores after every product of matrices, and
garbage that is looked for rarely. Three ways of searching are compared: one after another with three questions, three
at once, and one question three times.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from load import sentences

from hindsight_server.bootstrap import build_services, limit_threads
from hindsight_server.settings import Settings

limit_threads(Settings().threads)  # before anything imports the numeric libraries, which read it once

from hindsight_server.adapters.text import Analyzer  # noqa: E402
from hindsight_server.bootstrap.outside import SystemClock  # noqa: E402
from hindsight_server.engine.language import LanguageModel  # noqa: E402
from hindsight_server.engine.recall.types import Budget, RecallQuery  # noqa: E402
from hindsight_server.engine.reflect import Reasoning, Reflector, ReflectQuery  # noqa: E402
from hindsight_server.engine.retain import ItemInput  # noqa: E402
from hindsight_server.ports.llm import ChatReply, ChatRequest, ToolRequest  # noqa: E402
from hindsight_server.testing.scripted_model import ScriptedProvider  # noqa: E402

BANK = "bench"
BATCH = 200
GARBAGE_THRESHOLD = 20_000


def called(*asked: tuple[str, dict[str, Any]]) -> ChatReply:
    requests = tuple(
        ToolRequest(request_id=f"c{number}", name=name, arguments=given, raw=json.dumps(given))
        for number, (name, given) in enumerate(asked)
    )
    return ChatReply(tool_requests=requests)


def script(ways: list[list[str]]) -> Callable[[ChatRequest], ChatReply]:
    """A model that asks for the searches of each turn in order, and then is done."""

    def say(request: ChatRequest) -> ChatReply:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn < len(ways):
            return called(*(("recall", {"query": query}) for query in ways[turn]))
        return called(("done", {"answer": "An answer.", "memory_ids": ["m1"]}))

    return say


def ways(words: list[str]) -> dict[str, list[list[str]]]:
    one, two, three = words
    return {
        "three questions, one after another": [[one], [two], [three]],
        "three questions at once": [[one, two, three]],
        "one question, reworded by nothing but a dot": [[one], [one + "."], [one + ".."]],
    }


async def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    settings = Settings(data_dir=folder, embeddings_provider=arguments.embeddings)
    services = build_services(settings)
    texts = sentences(arguments.facts)
    rows: dict[str, dict[str, float]] = {}
    async with services.running():
        await asyncio.to_thread(services.embedder.wait_ready, 120)
        known = [bank.bank_id for bank in (await services.banks.list()).items]
        for start in range(0, 0 if BANK in known else len(texts), BATCH):
            await services.retainer.retain(BANK, [ItemInput(content=text) for text in texts[start : start + BATCH]])
        gc.collect()
        gc.freeze()
        gc.set_threshold(GARBAGE_THRESHOLD)
        rows["one recall, to compare with"] = await _recalls(services, texts, arguments)
        for name in ways(["", "", ""]):
            rows[name] = await _rounds(services, texts, name, arguments)
    return rows


async def _rounds(services: Any, texts: list[str], name: str, arguments: argparse.Namespace) -> dict[str, float]:
    walls, cpus = [], []
    for number in range(arguments.rounds + arguments.warm_up):
        words = [texts[(number * 37 + offset * 1009) % len(texts)] for offset in range(3)]
        model = LanguageModel(ScriptedProvider(script(ways(words)[name])))
        reasoning = Reasoning(model=model, banks=services.banks, directives=services.directives)
        reflector = Reflector(services.store, services.recaller, Analyzer(), SystemClock(), reasoning)
        began, cpu = time.perf_counter(), time.process_time()
        await reflector.reflect(BANK, ReflectQuery(query=words[0], budget=Budget(arguments.budget)))
        if number >= arguments.warm_up:
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
    return _figures(walls, cpus)


async def _recalls(services: Any, texts: list[str], arguments: argparse.Namespace) -> dict[str, float]:
    walls, cpus = [], []
    for number in range(arguments.rounds + arguments.warm_up):
        query = RecallQuery(query=texts[(number * 41) % len(texts)], budget=Budget(arguments.budget), max_tokens=2048)
        began, cpu = time.perf_counter(), time.process_time()
        await services.recaller.recall(BANK, query)
        if number >= arguments.warm_up:
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
    return _figures(walls, cpus)


def _figures(walls: list[float], cpus: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(walls, n=20)
    return {
        "p50_ms": round(statistics.median(walls) * 1000, 1),
        "p95_ms": round(cuts[18] * 1000, 1),
        "cpu_ms": round(statistics.mean(cpus) * 1000, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--budget", choices=[budget.value for budget in Budget], default="mid")
    parser.add_argument("--embeddings", default="local")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="Keeps the bank for the next run; made when it is not there.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(arguments, arguments.folder or Path(folder)))
    for name, row in rows.items():
        print(f"{name:46} p50 {row['p50_ms']:6} ms   p95 {row['p95_ms']:6} ms   CPU {row['cpu_ms']:6} ms")


if __name__ == "__main__":
    main()
