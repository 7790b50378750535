"""What a language model makes of some facts: asked by a prompt and a schema, answered by labels only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_server.domain.errors import BadModelAnswer
from hindsight_server.domain.model import Fact
from hindsight_server.engine.consolidate.types import (
    FOREIGN_FACT,
    FOREIGN_OBSERVATION,
    UNKNOWN_ACTION,
    Action,
    Candidate,
    Kind,
    Look,
    Proposal,
    Refused,
)
from hindsight_server.engine.language import CallAbout, LanguageModel
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.ports.llm import Message, Schema
from hindsight_server.ports.observations import CONSOLIDATION, Source

PROMPT = "consolidate_facts.v1"
_MISSION = """\
Lasting facts about people, things and work: who somebody is, where they live and work, what they like, own, plan, decided, know and do again and again, how things are set up and what was agreed. Prefer few observations that many facts prove to many that repeat one fact each."""  # noqa: E501
_LABEL = re.compile(r"[FO]\d+")
_TOKENS_PER_CHARACTER = 0.25  # roughly; the budget need not be exact
_SOURCE = {
    "type": "object",
    "properties": {"fact": {"type": "string"}, "quote": {"type": "string"}},
    "required": ["fact", "quote"],
    "additionalProperties": False,
}
_ACTION = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [kind.value for kind in Kind]},
        "observation": {"type": ["string", "null"]},
        "text": {"type": ["string", "null"]},
        "sources": {"type": "array", "items": _SOURCE},
    },
    "required": ["action", "observation", "text", "sources"],
    "additionalProperties": False,
}
SCHEMA = Schema(
    name="observation_actions",
    schema={
        "type": "object",
        "properties": {"actions": {"type": "array", "items": _ACTION}},
        "required": ["actions"],
        "additionalProperties": False,
    },
)


class ModelJudge:
    """Asks a model. Raises ModelError, also when the answer can't be read."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def propose(self, look: Look, notes: Sequence[str] = ()) -> Proposal:
        messages = [
            Message(role="system", text=_instructions(look, notes)),
            Message(role="user", text=_material(look)),
        ]
        job = look.operation.operation_id
        about = CallAbout(bank_id=look.bank_id, purpose=CONSOLIDATION, operation_id=job, spent=look.spent)
        answer = await self._model.structured(messages, SCHEMA, about=about)
        actions, refused = _read(look, answer.value)
        return Proposal(actions=actions, refused=refused)


def _instructions(look: Look, notes: Sequence[str]) -> str:
    told = ""
    if notes:
        listed = "\n".join(f"- {note}" for note in dict.fromkeys(notes))
        told = f"An earlier answer to the same facts was refused in parts:\n{listed}\nAnswer again without that.\n"
    room = "" if look.room is None else f"At most {max(0, look.room)} of them: the scope is limited."
    mission = (look.settings.get("observations_mission") or "").strip() or _MISSION
    return prompt(PROMPT, mission=mission, room=room, notes=told)


def _material(look: Look) -> str:
    facts = "\n".join(f"F{at}: {_told(waiting.fact)}" for at, waiting in enumerate(look.facts, 1))
    if not look.candidates:
        return f"{data_block('observations', '(none)')}\n{data_block('facts', facts)}"
    left = _budget(look.settings.get("consolidation_source_facts_max_tokens"))
    each = _budget(look.settings.get("consolidation_source_facts_max_tokens_per_observation"))
    listed = []
    for at, candidate in enumerate(look.candidates, 1):
        proofs = _proofs(candidate, min(left, each))
        left -= sum(map(_size, proofs))
        proved = "".join(f"\n    proved by: {proof}" for proof in proofs)
        listed.append(f"O{at}: {candidate.observation.fact.text} (facts: {len(candidate.facts)}){proved}")
    observations = "\n".join(listed)
    return f"{data_block('observations', observations)}\n{data_block('facts', facts)}"


def _proofs(candidate: Candidate, budget: float) -> list[str]:
    """The newest facts of an observation that fit."""
    kept: list[str] = []
    for fact in reversed(candidate.facts):
        told = _told(fact)
        if sum(map(_size, kept)) + _size(told) > budget:
            break
        kept.insert(0, told)
    return kept


def _budget(tokens: int | None) -> float:
    return float("inf") if tokens is None or tokens < 0 else float(tokens)


def _size(text: str) -> float:
    return len(text) * _TOKENS_PER_CHARACTER if text.isascii() else float(len(text))


def _told(fact: Fact) -> str:
    said = f"({fact.mentioned_at.date().isoformat()}) " if fact.mentioned_at is not None else ""
    happened = ""
    if fact.occurred_start is not None and fact.occurred_end is not None:
        start, end = fact.occurred_start.date().isoformat(), fact.occurred_end.date().isoformat()
        happened = f" [happened {start}]" if start == end else f" [happened {start} to {end}]"
    return f"{said}{' '.join(fact.text.split())}{happened}"


def _read(look: Look, value: Mapping[str, Any]) -> tuple[tuple[Action, ...], tuple[Refused, ...]]:
    listed = value.get("actions")
    if not isinstance(listed, list):
        raise BadModelAnswer("The answer of the model holds no list of actions.")
    actions: list[Action] = []
    refused: list[Refused] = []
    facts = {f"F{at}": waiting.fact.fact_id for at, waiting in enumerate(look.facts, 1)}
    observations = {f"O{at}": one.observation_id for at, one in enumerate(look.candidates, 1)}
    for item in listed:
        read = _action(item, facts, observations)
        if isinstance(read, Action):
            actions.append(read)
        else:
            refused.append(read)
    return tuple(actions), tuple(refused)


def _action(item: object, facts: Mapping[str, str], observations: Mapping[str, str]) -> Action | Refused:
    given = item if isinstance(item, dict) else {}
    kind, text, named = given.get("action"), given.get("text"), given.get("sources")
    sources = [source for source in (named if isinstance(named, list) else []) if isinstance(source, dict)]
    labels = [_label(source.get("fact")) for source in sources]
    known = frozenset(facts[label] for label in labels if label in facts)
    if kind not in set(Kind):
        return Refused(why=UNKNOWN_ACTION, fact_ids=known)
    if any(label not in facts for label in labels):
        return Refused(why=FOREIGN_FACT, fact_ids=known)
    about = _label(given.get("observation"))
    if Kind(kind) is not Kind.CREATE and about not in observations:
        return Refused(why=FOREIGN_OBSERVATION, fact_ids=known)
    return Action(
        kind=Kind(kind),
        observation_id=None if Kind(kind) is Kind.CREATE else observations[about],
        text=text if isinstance(text, str) else "",
        sources=tuple(
            Source(fact_id=facts[label], quote=str(source.get("quote") or ""))
            for label, source in zip(labels, sources, strict=True)
        ),
    )


def _label(given: object) -> str:
    """The label in what a model wrote, which may be ``[F1]``; empty when there is not just one."""
    found = _LABEL.findall(given) if isinstance(given, str) else []
    return found[0] if len(found) == 1 else ""
