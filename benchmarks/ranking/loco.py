#!/usr/bin/env python3
"""Evidence recall over the HTTP API, each conversation ranked by weights that were fitted on the others.

    python benchmarks/ranking/loco.py LOCOMO.json [--sessions] [--cache FILE] [--budget mid] [--out FILE]

A fresh server for each conversation, pointed to its own file of weights. Turns are retained one by one, or with
`--sessions` as one JSON array a session. Of the first k results at most k x 100 tokens count.
`benchmarks/server/evidence.py` says when a turn counts as found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conversations import CATEGORIES, CachedEncoder, Conversation, load
from hindsight_client import Hindsight
from training import L2, prepared, weights_file

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.text.analyzer import Analyzer
from hindsight_server.engine.recall.features import FIRST, SECOND

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))
from evidence import BATCH, CUTS, categorised_questions, direct_items, load_samples, scores, session_items
from process import Target, own_server

SESSIONS_A_BATCH = 5
Row = dict[str, Any]


def weights_without(name: str, conversations: Sequence[Conversation], analyzer: Analyzer, encode: CachedEncoder) -> str:
    """A weights file, as JSON, fitted on all conversations but one."""
    first, data = prepared([one for one in conversations if one.name != name], analyzer, encode)
    return json.dumps(weights_file(data, first, range(len(FIRST + SECOND)), L2))


async def asked(target: Target, sample: Mapping[str, Any], options: argparse.Namespace) -> list[Row]:
    """Retain a conversation, ask its questions, and say what was found of each one's evidence."""
    client = Hindsight(base_url=target.url, timeout=300.0)
    items, batch = direct_items(dict(sample)), BATCH
    if options.sessions:
        items, batch = session_items(dict(sample)), SESSIONS_A_BATCH
    for start in range(0, len(items), batch):
        await client.aretain_batch("evidence", items[start : start + batch])
    rows = []
    for question, category, evidence in categorised_questions(dict(sample)):
        found = await client.arecall("evidence", question, budget=options.budget, max_tokens=options.max_tokens)
        shares = scores(evidence, found.results)
        rows.append({"conversation": sample["sample_id"], "category": category, "question": question, **shares})
    await client.aclose()
    return rows


def line(title: str, rows: Iterable[Row]) -> str:
    """Means of the cuts over rows, in percent."""
    kept = list(rows)
    values = "".join(f"{100 * statistics.mean(row[cut] for row in kept):13.1f}" for cut in CUTS)
    return f"{title:14}{len(kept):10}{values}"


def report(rows: Sequence[Row]) -> None:
    print(f"{'':14}{'questions':>10}" + "".join(f"{cut:>13}" for cut in CUTS))
    print(line("all", rows))
    for number, name in CATEGORIES.items():
        print(line(name, (row for row in rows if row["category"] == number)))
    for name in dict.fromkeys(row["conversation"] for row in rows):
        print(line(name, (row for row in rows if row["conversation"] == name)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--sessions", action="store_true", help="one JSON array a session instead of one item a turn")
    parser.add_argument("--budget", default="mid")
    parser.add_argument("--max-tokens", type=int, default=4096)
    parser.add_argument(
        "--shipped", action="store_true", help="rank by the bundled weights, which saw all conversations"
    )
    parser.add_argument("--cache", type=Path, help="file of encoded texts, for the fit")
    parser.add_argument("--out", type=Path, help="write one row a question as JSON")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    analyzer = Analyzer()
    encode = CachedEncoder(make_embedder("local"), options.cache)
    conversations = [] if options.shipped else load(options.locomo, analyzer, encode)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, sample in load_samples(options.locomo).items():
            variables: dict[str, str] = {}
            if not options.shipped:
                file = Path(folder) / f"{name}.json"
                file.write_text(weights_without(name, conversations, analyzer, encode))
                variables["HINDSIGHT_API_RANKING_WEIGHTS"] = str(file)
            with own_server("local", None, **variables) as target:
                rows += asyncio.run(asked(target, sample, options))
            print(line(name, (row for row in rows if row["conversation"] == name)), flush=True)
    encode.save()
    report(rows)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
