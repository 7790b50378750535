"""Evidence recall on a LoCoMo file: are the turns that hold the answer among what is recalled, and how early?

The data set (Maharana et al. 2024, arXiv 2402.17753) has a non-commercial licence and is not part of this project.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight
from process import Target

TOKEN_CUTS = (512, 1024, 2048, 4096)
RANK_CUTS = (5, 10)
SHARE_OF_WORDS = 0.7
ANSWERABLE = (1, 2, 3, 4)
BATCH = 50


def _sessions(conversation: dict[str, Any]) -> Iterator[tuple[int, datetime, list[dict[str, Any]]]]:
    for number in range(1, 100):
        turns = conversation.get(f"session_{number}")
        if isinstance(turns, list):
            said = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            yield number, said.replace(tzinfo=UTC), turns


def _items(sample: dict[str, Any]) -> list[dict[str, Any]]:
    talk = sample["conversation"]
    items = []
    for number, began, turns in _sessions(talk):
        context = f"Conversation between {talk['speaker_a']} and {talk['speaker_b']} (session {number})"
        for index, turn in enumerate(turns):
            picture = f" [shared image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            items.append(
                {
                    "content": f"{turn['speaker']}: {turn['text']}{picture}",
                    "context": context,
                    "timestamp": began + timedelta(seconds=index),
                    "document_id": turn["dia_id"],
                }
            )
    return items


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _found(evidence: dict[str, str], results: list[Any]) -> float:
    """Share of the evidence turns whose words are (70 % of them) in the results of their own document."""
    hits = 0
    for document_id, text in evidence.items():
        held = set().union(*(_words(result.text) for result in results if result.document_id == document_id))
        wanted = _words(text)
        hits += len(held & wanted) >= SHARE_OF_WORDS * len(wanted)
    return hits / len(evidence)


def _within(results: list[Any], tokens: int) -> list[Any]:
    spent, kept = 0, []
    for result in results:
        spent += len(result.text) // 4 + 1
        if spent > tokens:
            break
        kept.append(result)
    return kept


async def _ask(client: Hindsight, bank: str, sample: dict[str, Any], budget: str) -> Iterable[dict[str, float]]:
    text = {turn["dia_id"]: turn["text"] for _, _, turns in _sessions(sample["conversation"]) for turn in turns}
    rows = []
    for question in sample["qa"]:
        named = re.findall(r"D:?(\d+):(\d+)", " ".join(question.get("evidence") or []))
        evidence = {f"D{int(s)}:{int(t)}" for s, t in named} & text.keys()
        if question["category"] not in ANSWERABLE or not evidence:
            continue
        wanted = {key: text[key] for key in evidence}
        results = (await client.arecall(bank, question["question"], budget=budget, max_tokens=4096)).results
        row = {f"tokens {cut}": _found(wanted, _within(results, cut)) for cut in TOKEN_CUTS}
        row |= {f"top {cut}": _found(wanted, results[:cut]) for cut in RANK_CUTS}
        rows.append(row)
    return rows


def load_samples(path: Path) -> dict[str, dict[str, Any]]:
    """The conversations of a LoCoMo file by their names."""
    return {sample["sample_id"]: sample for sample in json.loads(path.read_text())}


async def evidence_recall(
    target: Target, samples: dict[str, dict[str, Any]], names: list[str], budget: str = "mid"
) -> dict[str, float]:
    """Mean share of a question's evidence turns inside the first N tokens and the first k results.

    Args:
        target: the server.
        samples: see `load_samples`.
        names: conversations of it (``conv-26``); empty means all.
        budget: of the recall.
    """
    client = Hindsight(base_url=target.url, timeout=300.0)
    rows: list[dict[str, float]] = []
    for name in names or list(samples):
        bank = f"evidence-{name}"
        items = _items(samples[name])
        for start in range(0, len(items), BATCH):
            await client.aretain_batch(bank, items[start : start + BATCH])
        rows += await _ask(client, bank, samples[name], budget)
        await client.adelete_bank(bank)
        print(f"  {name}: {len(items)} turns retained, {len(rows)} questions asked so far", flush=True)
    await client.aclose()
    cuts = [*(f"tokens {cut}" for cut in TOKEN_CUTS), *(f"top {cut}" for cut in RANK_CUTS)]
    return {"questions": len(rows)} | {cut: round(statistics.mean(row[cut] for row in rows), 4) for cut in cuts}
