"""The question to the model: what is wanted, in trusted words, and the passage, as data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from hindsight_server.domain.labels import Label, read_labels
from hindsight_server.domain.model import RetainItem
from hindsight_server.engine.extract.passages import Passage, shown
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.ports.llm import Message

FACTS_PROMPT = "extract_facts.v1"
NOTES_PROMPT = "extract_notes.v1"
PASSAGE_PROMPT = "extract_passage.v1"

_DETAIL = {
    "concise": "Keep what will matter later; leave out greetings, thanks and small talk. Join what belongs together.",
    "verbose": "Keep every detail that is stated, small ones too; one fact for each.",
}
_MOST_VALUES = 60  # of a label that are listed


def prompt_version(mode: str) -> str:
    """The name of the prompt that a mode uses; facts that were read with another one are read again."""
    return NOTES_PROMPT if mode == "verbatim" else FACTS_PROMPT


def messages(item: RetainItem, options: ExtractionOptions, passage: Passage) -> tuple[Message, ...]:
    """The messages that ask for the facts of a passage."""
    return (Message(role="system", text=_system(options)), Message(role="user", text=_passage(item, passage)))


def question_id(asked: Sequence[Message]) -> str:
    """The same for the same question, and for no other: 40 hexadecimal digits."""
    told = hashlib.sha256()
    for message in asked:
        told.update(f"{message.role} {len(message.text)}\n{message.text}".encode(errors="replace"))
    return told.hexdigest()[:40]


@lru_cache(maxsize=16)
def _system(options: ExtractionOptions) -> str:
    labels = _labels(read_labels(options.labels))
    if options.mode == "verbatim":
        return prompt(NOTES_PROMPT, mission=_mission(options.mission), labels=labels)
    detail = options.instructions or _DETAIL["verbose" if options.mode == "verbose" else "concise"]
    return prompt(FACTS_PROMPT, detail=detail, mission=_mission(options.mission), labels=labels)


def _mission(mission: str) -> str:
    return f"What this memory is for, which decides what matters:\n{mission}\n" if mission else ""


def _labels(labels: tuple[Label, ...]) -> str:
    if not labels:
        return 'No labels are defined: leave "labels" empty.'
    lines = []
    for label in labels:
        values = ", ".join(label.values[:_MOST_VALUES]) or "words of the text"
        several = "any of" if label.type.startswith("multi") else "one of"
        lines.append(f"- {label.path}: {several} {values}")
    listed = "\n".join(lines)
    return f'Labels, written "key:value" in "labels", only where the line clearly calls for them:\n{listed}'


def _passage(item: RetainItem, passage: Passage) -> str:
    lines = "\n".join(f"[{at}] {shown(line)}" for at, line in enumerate(passage.lines, start=1))
    return prompt(
        PASSAGE_PROMPT,
        now=_now(item.timestamp),
        context=data_block("context", item.context or "none"),
        before=data_block("before", passage.before or "nothing"),
        lines=data_block("lines", lines),
    )


def _now(moment: datetime | None) -> str:
    return f"{moment:%A}, {moment.isoformat(timespec='minutes')}" if moment else "not known"
