#!/usr/bin/env python3
"""Stores a suite in a real server, asks its questions and says how early the evidence comes; see README.md.

python benchmarks/suites/run.py tasks                        the dev half against a fresh server
python benchmarks/suites/run.py tasks --baseline             and against plain fusion over the same facts
python benchmarks/suites/run.py notes --check                the files only: is every snippet where it should be?
python benchmarks/suites/run.py notes --half frozen --baseline --json     once, when the tuning is done
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight
from plain_fusion import FUSIONS, PlainFusion, StoredFact
from suite_format import HALVES, Question, Suite, SuiteError, load_questions, load_suite, misplaced
from suite_scores import MEASURES, Result, by_kind, difference, found, mean_scores, scores

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.text.analyzer import Analyzer
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.testing.process import ServerProcess

BATCH = 50
PAGE = 500
LONG, SHORT = 4096, 1024

Rows = list[dict[str, float]]


@contextmanager
def server(url: str | None, embeddings: str) -> Iterator[str]:
    """The address of the given server, or of a fresh one that ends afterwards."""
    if url:
        yield url
        return
    with (
        tempfile.TemporaryDirectory(prefix="hindsight-suite-") as folder,
        ServerProcess(Path(folder), environment={"HINDSIGHT_API_EMBEDDINGS_PROVIDER": embeddings}) as process,
    ):
        yield process.url


def batches(items: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """As clients send them: an append alone, everything else by up to 50."""
    waiting: list[dict[str, Any]] = []
    for item in items:
        if "update_mode" in item:
            if waiting:
                yield waiting
            waiting = []
            yield [item]
        else:
            waiting.append(item)
            if len(waiting) == BATCH:
                yield waiting
                waiting = []
    if waiting:
        yield waiting


async def stored_facts(client: Hindsight, bank: str) -> list[StoredFact]:
    """Every fact of the bank."""
    facts: list[StoredFact] = []
    while True:
        page = await client.alist_memories(bank, limit=PAGE, offset=len(facts))
        for one in page.items:
            said = datetime.fromisoformat(one.mentioned_at) if one.mentioned_at else None
            facts.append(StoredFact(text=one.text or "", document_id=one.document_id, mentioned_at=said))
        if not page.items or len(facts) >= page.total:
            return facts


async def asked(client: Hindsight, bank: str, question: Question, analyzer: TextAnalyzer) -> dict[str, float]:
    """The scores of one question through recall."""
    answers: list[list[Result]] = []
    for tokens in (LONG, SHORT):
        answer = await client.arecall(
            bank, question.question, budget="mid", max_tokens=tokens, query_timestamp=question.query_timestamp
        )
        answers.append(
            [
                Result(text=one.text, document_id=one.document_id, tokens=analyzer.count_tokens(one.text))
                for one in answer.results
            ]
        )
    return scores(question, *answers)


async def measure(
    url: str, suite: Suite, questions: Sequence[Question], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Everything that is reported, as JSON-able data."""
    client, analyzer = Hindsight(base_url=url, timeout=300.0), Analyzer()
    bank = f"suite-{suite.name}-{int(time.time())}"
    try:
        for batch in batches(suite.items):
            await client.aretain_batch(bank, batch)
        facts = await stored_facts(client, bank)
        rankings = {"recall": [await asked(client, bank, question, analyzer) for question in questions]}
        await client.adelete_bank(bank)
    finally:
        await client.aclose()
    stored = [Result(text=one.text, document_id=one.document_id, tokens=0) for one in facts]
    pointers = [(question.id, one) for question in questions for one in question.evidence]
    split = [f"{name}: {one.snippet!r}" for name, one in pointers if not found(one, stored)]
    if arguments.baseline:
        rankings |= plain(facts, questions, analyzer, arguments.embeddings)
    late = [(question, row) for question, row in zip(questions, rankings["recall"], strict=True) if row["R@10"] < 1]
    return {
        "suite": suite.name,
        "half": arguments.half,
        "questions": len(questions),
        "facts": len(facts),
        "evidence": len(pointers),
        "in_no_single_fact": split,
        "scores": {name: kinds(questions, rows) for name, rows in rankings.items()},
        "differences": differences(questions, rankings),
        "misses": [f"{one.id} {row['R@10']:.2f} {one.question}" for one, row in late] if arguments.misses else [],
    }


def plain(
    facts: Sequence[StoredFact], questions: Sequence[Question], analyzer: TextAnalyzer, embeddings: str
) -> dict[str, Rows]:
    """The scores of plain fusion, by the way of fusing."""
    fusion = PlainFusion(facts, analyzer, make_embedder(embeddings))
    rows: dict[str, Rows] = {name: [] for name in FUSIONS}
    for question in questions:
        for name, ranked in fusion.rankings(question.question).items():
            rows[name].append(scores(question, ranked, ranked))
    return rows


def kinds(questions: Sequence[Question], rows: Rows) -> dict[str, dict[str, float]]:
    """Mean scores by kind, with the number of questions."""
    return {kind: {"questions": len(group)} | mean_scores(group) for kind, group in by_kind(questions, rows).items()}


def differences(questions: Sequence[Question], rankings: dict[str, Rows]) -> dict[str, dict[str, dict[str, float]]]:
    """Recall minus each plain fusion, over all questions, with 95 % intervals."""
    return {
        name: {
            measure: asdict(difference([row[measure] for row in rankings["recall"]], [row[measure] for row in rows]))
            for measure in MEASURES
        }
        for name, rows in rankings.items()
        if name != "recall"
    }


def show(report: dict[str, Any]) -> None:
    """The report as tables."""
    split = report["in_no_single_fact"]
    print(
        f"{report['suite']} ({report['half']}): {report['questions']} questions over {report['facts']} facts; "
        f"{len(split)} of {report['evidence']} snippets in no single fact"
    )
    for line in split if report["half"] == "dev" else ():
        print(f"  not in one fact: {line}")
    for line in report["misses"]:
        print(f"  not all in the first ten: {line}")
    print(f"{'ranking':8} {'kind':14} {'n':>4} " + " ".join(f"{name:>8}" for name in MEASURES))
    for ranking, groups in report["scores"].items():
        for kind, row in groups.items():
            figures = " ".join(f"{row[name]:8.3f}" for name in MEASURES)
            print(f"{ranking:8} {kind:14} {row['questions']:4} {figures}")
    for ranking, gaps in report["differences"].items():
        for name, gap in gaps.items():
            print(f"recall - {ranking:7} {name:8} {gap['mean']:+.3f}  [{gap['low']:+.3f}, {gap['high']:+.3f}]")


def runner_parser(description: str | None, *, misses: str) -> argparse.ArgumentParser:
    """What the runners of all suites take; `misses` says what that flag lists."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", default="dev", choices=[*HALVES, "both"], help="frozen and both: not while tuning")
    parser.add_argument("--url", help="a running server; without it, a fresh one is started and ended")
    parser.add_argument("--embeddings", default="local", choices=["local", "hashing"], help="of the server")
    parser.add_argument("--misses", action="store_true", help=f"list {misses}; of the dev half only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def more_parser(description: str | None, *, misses: str) -> argparse.ArgumentParser:
    """`runner_parser` for a suite with further training material beside it, which has a dev half only."""
    parser = runner_parser(description, misses=misses)
    parser.add_argument("--extra", action="store_true", help="the further training material instead")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments; misses of questions that nobody looks at are refused."""
    arguments = parser.parse_args()
    if arguments.misses and arguments.half != "dev":
        parser.error("--misses shows questions, and nobody looks at frozen ones; use it with --half dev")
    return arguments


def show_bars(report: dict[str, Any]) -> None:
    """Each bar of a report with what came out."""
    for name, bar in report["bars"].items():
        print(f"{name}: {bar['is']:.3f}, bar {bar['bar']:.2f}: {'met' if bar['met'] else 'MISSED'}")


def main() -> None:
    parser = runner_parser(__doc__, misses="what the first ten lack")
    parser.add_argument("suite", help="tasks for tasks.json, and so on")
    parser.add_argument("--baseline", action="store_true", help="compare to plain fusion over the same facts")
    parser.add_argument("--check", action="store_true", help="only check the files, without a server")
    arguments = parsed(parser)
    try:
        suite, questions = load_suite(arguments.suite), load_questions(arguments.suite, arguments.half)
    except SuiteError as error:
        raise SystemExit(str(error)) from None
    if complaints := misplaced(suite, questions):
        raise SystemExit("\n".join(complaints))
    if arguments.check:
        print(f"{suite.name}: {len(suite.items)} items, {len(questions)} questions, all evidence in its place")
        return
    with server(arguments.url, arguments.embeddings) as url:
        report = asyncio.run(measure(url, suite, questions, arguments))
    if arguments.json:
        print(json.dumps(report, indent=1))
    else:
        show(report)


if __name__ == "__main__":
    main()
