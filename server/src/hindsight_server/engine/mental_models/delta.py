"""A refresh that edits: the model sees the page and what is new, and answers with typed edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_server.domain.defence.injection import find_injections
from hindsight_server.domain.grounding import Ordinary
from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.edits import EDITS_SCHEMA, Edited, EditRules, Proof, edited
from hindsight_server.domain.pages.grounds import no_word
from hindsight_server.domain.pages.text import PageText
from hindsight_server.engine.language import CallAbout, LanguageModel
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.ports.analyzer import TextAnalyzer
from hindsight_server.ports.llm import Message, Schema, Usage
from hindsight_server.ports.mental_models import MentalModel

# Each edit is checked by itself: one that falls short of the schema takes none of the others along.
_ACCEPTED = {"type": "object", "required": ["edits"], "properties": {"edits": {"type": "array"}}}
_SCHEMA = Schema(name="page_edits", schema=EDITS_SCHEMA, accepted=_ACCEPTED)
_MARKS = re.compile(r"<(?=\s*/?\s*(?:question|page|memories)\b)", re.IGNORECASE)
_HEADROOM = 1024  # tokens of an answer beside the words that it may write


@dataclass(frozen=True, slots=True)
class Reads:
    """How the words of pages are read. `ordinary` tells the lower-case words that a capital by custom makes no name."""

    analyzer: TextAnalyzer
    ordinary: Ordinary = no_word


def trustworthy(facts: Sequence[Fact]) -> list[Fact]:
    """Without memories that plainly give orders to whoever reads them: no page is edited on their word."""
    return [fact for fact in facts if not find_injections(fact.text)]


async def ask_for_edits(
    asked: LanguageModel, reads: Reads, model: MentalModel, facts: Sequence[Fact], about: CallAbout
) -> tuple[Edited, Usage]:
    """The page of a model with the edits that new memories call for, as far as they pass the rules.

    Raises:
        ModelError: the model gave no edits.
    """
    text = prompt(
        "mental_model_edits.v1",
        question=_block("question", model.source_query),
        page=_block("page", shown_page(model.content.text)),
        memories=_block("memories", "\n".join(_shown(number, fact) for number, fact in enumerate(facts, start=1))),
        max_tokens=str(model.max_tokens),
    )
    limit = model.max_tokens + _HEADROOM
    said = await asked.structured([Message(role="user", text=text)], _SCHEMA, about=about, max_tokens=limit)
    given = said.value.get("edits")
    rules = EditRules(
        proofs=[Proof(fact_id=fact.fact_id, words=proof_words(fact)) for fact in facts],
        tokens=reads.analyzer.count_tokens,
        max_tokens=model.max_tokens,
        ordinary=reads.ordinary,
    )
    return edited(model.content.text, given if isinstance(given, list) else [], rules), said.usage


def shown_page(page: PageText) -> str:
    """The page as the model sees it: each section with its id."""
    blocks = []
    for section in page.sections:
        head = f"[{section.section_id}] {'#' * section.level} {section.heading}".rstrip(" #")
        blocks.append(f"{head}\n{section.text}" if section.text else head)
    return "\n\n".join(blocks)


def _block(label: str, text: str) -> str:
    """A block of data that closes none of the three."""
    return data_block(label, _MARKS.sub("‹", text))


def proof_words(fact: Fact) -> str:
    """A memory with its dates written out, so that an edit may name them."""
    times = [_written(moment) for moment in (fact.mentioned_at, fact.occurred_start, fact.occurred_end) if moment]
    return "\n".join([fact.text, *fact.entities, *dict.fromkeys(times)])


def _shown(number: int, fact: Fact) -> str:
    when = fact.occurred_start or fact.mentioned_at
    date = f" ({when.date().isoformat()})" if when else ""
    return f"{number}. {' '.join(fact.text.split())}{date}"


def _written(moment: datetime) -> str:
    return f"{moment.date().isoformat()} {moment.strftime('%B')} {moment.day} {moment.year}"
