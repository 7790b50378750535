"""The extraction suite: what is kept of scripted answers over more than 200 turns, in English and Chinese."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

import pytest

from hindsight_server.domain.grounding import content_words, fold
from hindsight_server.domain.model import Fact
from hindsight_server.domain.noise import is_noise
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Reading, facts
from .suite import Claim, Document, documents

LEAST_TURNS = 200
DATES_RIGHT = 0.98
WRONGLY_DROPPED = 0.03
# The line that says so is a question, "didn't you say that you won't go?", which is answered in the next one.
UNNOTICED = {"- 陈涛要去杭州出差。"}


@dataclass
class Score:
    """What became of the claims of a suite."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, claim: Claim, kept: Fact | None, zone: tzinfo | None) -> None:
        self.counts[claim.mark + ("kept" if kept else "dropped")] += 1
        if (claim.mark == "+") == (kept is None):
            self.wrong.append(f"{claim.mark} {claim.fact['what']}")
        if kept is not None and claim.mark == "+" and claim.date is not None:
            told = _date(kept, zone)
            self.counts["date right" if told == claim.date else "date wrong"] += 1
            if told != claim.date:
                self.wrong.append(f"date {told}, not {claim.date}: {claim.fact['what']}")

    @property
    def dates_right(self) -> float:
        return self.counts["date right"] / (self.counts["date right"] + self.counts["date wrong"])

    @property
    def wrongly_dropped(self) -> float:
        return self.counts["+dropped"] / (self.counts["+dropped"] + self.counts["+kept"])


def _date(fact: Fact, zone: tzinfo | None) -> str | None:
    if fact.occurred_start is None:
        return None
    start = fact.occurred_start.astimezone(zone).date().isoformat()
    end = (fact.occurred_end or fact.occurred_start).astimezone(zone).date().isoformat()
    return start if start == end else f"{start}..{end}"


async def _read(reading: Callable[..., Reading], document: Document, bank_id: str) -> list[Fact]:
    read = reading(lambda request: facts(*(claim.fact for claim in document.claims)))
    item = ItemInput(content=document.text, timestamp=document.timestamp, context=document.context)
    await read.engine.retain(bank_id, [item])
    return list((await read.engine.memories.list(bank_id, FactFilter(), 1000)).items)


@pytest.mark.feature("R8")
async def test_nothing_unsupported_is_kept_and_dates_are_right(reading: Callable[..., Reading]) -> None:
    given, score = documents(), Score()
    for number, document in enumerate(given):
        kept = await _read(reading, document, f"suite-{number}")
        texts = {fold(fact.text.split(" | ")[0]): fact for fact in kept}
        zone = datetime.fromisoformat(document.timestamp).tzinfo
        for claim in document.claims:
            score.note(claim, texts.get(fold(claim.fact["what"])), zone)
    report = "\n".join([str(dict(score.counts)), *score.wrong])
    print(report)
    assert sum(len(document.lines) for document in given) >= LEAST_TURNS
    assert {wrong for wrong in score.wrong if wrong.startswith("- ")} <= UNNOTICED, report
    assert score.dates_right >= DATES_RIGHT, report
    assert score.wrongly_dropped <= WRONGLY_DROPPED, report


async def test_every_turn_of_the_suite_is_still_there(reading: Callable[..., Reading]) -> None:
    """Whatever the model makes of a document, a turn of which a fact fell stays a fact, or all its words are told."""
    for number, document in enumerate(documents()):
        kept = await _read(reading, document, f"suite-{number}")
        said = "\n".join(fact.text for fact in kept)
        for line in {claim.fact["line"] for claim in document.claims if claim.mark == "-"}:
            words = document.lines[line - 1].partition(": ")[2] or document.lines[line - 1].partition("：")[2]
            told = words in said or content_words(words) <= content_words(said)
            assert told or is_noise(words), (document.context, line)
