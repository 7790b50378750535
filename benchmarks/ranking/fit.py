#!/usr/bin/env python3
"""Fit the ranking weights on LoCoMo's evidence turns, and say how good they are on conversations they never saw.

    python benchmarks/ranking/fit.py LOCOMO.json [--cache FILE] [--write] [--drop FEATURE ...] [--second-limit 100]

Listwise softmax: each evidence turn against the candidates of its question that are no evidence; L2 on the weights.
Reported leave-one-conversation-out: the weights that rank a conversation were fitted on the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conversations import CATEGORIES, CachedEncoder, load
from training import L2, Case, fit, measures, prepared, weights_file

from hindsight_server.adapters.embed import make_embedder
from hindsight_server.adapters.text.analyzer import Analyzer
from hindsight_server.engine.recall.features import FIRST, SECOND

GROUPS = {
    "words of the turn": ("turn",),
    "words with the turn before": ("pair",),
    "words of the session": ("session",),
    "all words": ("turn", "pair", "session", "answers_words"),
    "meaning": ("meaning", "meaning_before", "meaning_after", "meaning_session", "answers_meaning"),
    "question before": ("answers_words", "answers_meaning"),
    "speaker": ("speaker", "first_speaker"),
    "times": ("told_then", "happened_then", "tells_time"),
    "question mark": ("is_question",),
    "entities": ("entities",),
    "dialogue (speaker, session, before)": (
        "speaker",
        "first_speaker",
        "session",
        "meaning_session",
        "meaning_before",
        "meaning_after",
        "answers_words",
        "answers_meaning",
        "is_question",
        "maxsim_pair",
        "maxsim_after",
        "maxsim_speaker",
    ),
    "turn after": ("meaning_after", "maxsim_after"),
}
WEIGHTS = Path(__file__).parents[2] / "server/src/hindsight_server/engine/recall/weights.json"


def table(rows: Sequence[tuple[Case, dict[str, float]]], title: str) -> dict[str, float]:
    """Print the means, and R@10 by category."""
    means = {name: float(np.mean([row[name] for _, row in rows])) for name in rows[0][1]}
    by_category = {
        name: float(np.mean([row["R@10"] for case, row in rows if case.asked.category == number] or [np.nan]))
        for number, name in CATEGORIES.items()
    }
    print(f"{title:34}", "  ".join(f"{name} {100 * value:5.1f}" for name, value in means.items()), flush=True)
    print(f"{'':34}", "R@10:", "  ".join(f"{name} {100 * value:5.1f}" for name, value in by_category.items()))
    return means


def leave_one_out(all_cases: Sequence[Case], columns: Sequence[int], title: str, l2: float = L2) -> dict[str, float]:
    names = sorted({case.conversation for case in all_cases})
    rows = []
    for name in names:
        weights = fit([case for case in all_cases if case.conversation != name], columns, l2)
        rows += [(case, measures(case, case.features @ weights)) for case in all_cases if case.conversation == name]
    return table(rows, title)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--drop", nargs="*", default=[])
    parser.add_argument("--second-limit", type=int, default=100)
    parser.add_argument("--l2", type=float, default=L2)
    parser.add_argument("--embeddings", default="local")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    analyzer = Analyzer()
    encode = CachedEncoder(make_embedder(options.embeddings), options.cache)
    conversations = load(options.locomo, analyzer, encode)
    names = FIRST + SECOND
    kept_first = [at for at, name in enumerate(FIRST) if name not in options.drop]
    kept = [at for at, name in enumerate(names) if name not in options.drop]

    first, data = prepared(conversations, analyzer, encode, options.second_limit, kept_first, options.l2)
    encode.save()
    reached = np.mean([np.isin(sum(case.asked.evidence, ()), case.rows).mean() for case in data])
    print(f"{len(data)} questions; evidence among the candidates: {100 * reached:.1f} %")
    baseline = [names.index("turn"), names.index("meaning")]
    leave_one_out(data, [names.index("turn")], "BM25 alone")
    leave_one_out(data, baseline, "turn + meaning")
    leave_one_out(data, kept_first, "first features", options.l2)
    leave_one_out(data, kept, "first + second features", options.l2)
    if options.ablate:
        for title, group in GROUPS.items():
            leave_one_out(data, [at for at in kept if names[at] not in group], f"without {title}", options.l2)
    result = weights_file(data, first, kept, options.l2)
    for part in ("scan", "first", "second", "probability"):
        print(part, json.dumps(result[part]))
    if options.write:
        WEIGHTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
