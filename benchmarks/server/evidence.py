"""Evidence recall on a LoCoMo file: are the turns that hold the answer among what is recalled, and how early?

The data set (Maharana et al. 2024, arXiv 2402.17753) has a non-commercial licence and is not part of this project.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hindsight_client import Hindsight
from process import Target

TOKEN_CUTS = (512, 1024, 2048, 4096)
RANK_CUTS = (5, 10)
TOKENS_A_RESULT = 100  # of the first k results only k times this many count, so that long ones can't buy a place
SHARE_OF_WORDS = 0.7
ANSWERABLE = (1, 2, 3, 4)
CUTS = (*(f"tokens {cut}" for cut in TOKEN_CUTS), *(f"top {cut}" for cut in RANK_CUTS))
SHORTEST_FOUND_BY_TEXT = 5
BATCH = 50


def sessions(conversation: dict[str, Any]) -> Iterator[tuple[int, datetime, list[dict[str, Any]]]]:
    """Number, time and turns of each session."""
    for number in range(1, 100):
        turns = conversation.get(f"session_{number}")
        if isinstance(turns, list):
            said = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            yield number, said.replace(tzinfo=UTC), turns


def direct_items(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns of a conversation as items of a retain, each a document of its own."""
    talk = sample["conversation"]
    items = []
    for number, began, turns in sessions(talk):
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


def session_items(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """The sessions of a conversation as items of a retain, each a JSON array of turns and a document of its own."""
    talk = sample["conversation"]
    return [
        {
            "content": json.dumps(turns),
            "context": f"Conversation between {talk['speaker_a']} and {talk['speaker_b']} (session {number})",
            "timestamp": began,
            "document_id": f"session_{number}",
        }
        for number, began, turns in sessions(talk)
    ]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _found(evidence: dict[str, str], results: list[Any], *, by_document: bool) -> float:
    """Share of the evidence turns that the results hold.

    By document: 70 % of a turn's words are in the results of its own document. Otherwise, and for longer turns always:
    its text stands in the results.
    """
    held: dict[str, set[str]] = {}
    for result in results:
        held.setdefault(result.document_id or "", set()).update(_words(result.text))
    everything = _plain("\n".join(result.text for result in results))
    hits = 0
    for document_id, text in evidence.items():
        wanted = _words(text)
        in_document = len(held.get(document_id, set()) & wanted) >= SHARE_OF_WORDS * len(wanted)
        by_text = len(wanted) >= SHORTEST_FOUND_BY_TEXT or not by_document
        hits += (by_document and in_document) or (by_text and _plain(text) in everything)
    return hits / len(evidence)


def _within(results: list[Any], tokens: int) -> list[Any]:
    spent, kept = 0, []
    for result in results:
        spent += len(result.text) // 4 + 1
        if spent > tokens:
            break
        kept.append(result)
    return kept


def _first(results: list[Any], count: int) -> list[Any]:
    """The first `count` results, as far as they have at most `TOKENS_A_RESULT` tokens on average."""
    return _within(results[:count], count * TOKENS_A_RESULT)


def scores(evidence: dict[str, str], results: list[Any], *, by_document: bool = True) -> dict[str, float]:
    """Share of the evidence found within each of `CUTS`.

    Args:
        evidence: words of the evidence turns by their ids.
        results: of a recall, best first.
        by_document: the ids are also those of the documents.
    """
    row = {f"tokens {cut}": _found(evidence, _within(results, cut), by_document=by_document) for cut in TOKEN_CUTS}
    return row | {f"top {cut}": _found(evidence, _first(results, cut), by_document=by_document) for cut in RANK_CUTS}


def mean_scores(rows: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each cut over all questions."""
    return {"questions": len(rows)} | {cut: round(statistics.mean(row[cut] for row in rows), 4) for cut in CUTS}


def evidence_questions(sample: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each answerable question with its evidence turns."""
    for question, _, evidence in categorised_questions(sample):
        yield question, evidence


def categorised_questions(sample: dict[str, Any]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Each answerable question with its category and its evidence turns."""
    text = {turn["dia_id"]: turn["text"] for _, _, turns in sessions(sample["conversation"]) for turn in turns}
    for question in sample["qa"]:
        named = re.findall(r"D:?(\d+):(\d+)", " ".join(question.get("evidence") or []))
        evidence = {key: text[key] for s, t in named if (key := f"D{int(s)}:{int(t)}") in text}
        if question["category"] in ANSWERABLE and evidence:
            yield question["question"], question["category"], evidence


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
        items = direct_items(samples[name])
        for start in range(0, len(items), BATCH):
            await client.aretain_batch(bank, items[start : start + BATCH])
        for question, evidence in evidence_questions(samples[name]):
            found = await client.arecall(bank, question, budget=budget, max_tokens=4096)
            rows.append(scores(evidence, found.results))
        await client.adelete_bank(bank)
        print(f"  {name}: {len(items)} turns retained, {len(rows)} questions asked so far", flush=True)
    await client.aclose()
    return mean_scores(rows)
