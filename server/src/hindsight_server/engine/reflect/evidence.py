"""What the searches of one reflect have found, and which of it an answer cites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.model import Fact, FactState, FactType
from hindsight_server.engine.reflect.sources import MentalModelText

# Runs of spaces are taken whole, and from their beginning only: a model that loops may write a hundred thousand.
_MARK = re.compile(r"(?:(?<![ \t])[ \t]++)?[\[【]\s*+((?:m\d+)(?:\s*+[,;、，；]\s*+m\d+)*+)\s*+[\]】]", re.IGNORECASE)
# Made once: `json.dumps` makes a new encoder for every line.
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_HANDLE = re.compile(r"m\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """What an answer rests on, and how many ids it named that no search had found."""

    facts: tuple[Fact, ...] = ()
    mental_models: tuple[MentalModelText, ...] = ()
    unknown: int = 0

    @property
    def any(self) -> bool:
        """Whether the answer cites anything that was found."""
        return bool(self.facts or self.mental_models)


class Evidence:
    """Facts under short names (``m1``, ``m2``, in the order in which they were found) and mental models under theirs.

    Models copy a short name without mistakes, and it costs few tokens.

    Example:
        >>> evidence = Evidence()
        >>> evidence.name(fact)
        'm1'
        >>> evidence.cited(["m1", "m99"], []).unknown
        1
    """

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.mental_models: dict[str, MentalModelText] = {}
        self._names: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.facts) + len(self.mental_models)

    def name(self, fact: Fact) -> str:
        """The fact's short name; it is kept when it is new."""
        known = self._names.get(fact.fact_id)
        if known is None:
            known = self._names[fact.fact_id] = f"m{len(self.facts) + 1}"
            self.facts[known] = fact
        return known

    def add_mental_model(self, found: MentalModelText) -> None:
        self.mental_models[found.mental_model_id] = found

    def fact(self, given: str) -> Fact | None:
        """The fact of a short name, or of its real id."""
        bare = given.strip().strip("[]()").strip()
        return self.facts.get(bare.lower()) or self.facts.get(self._names.get(bare, ""))

    def cited(self, fact_names: Iterable[str], mental_model_ids: Iterable[str]) -> Citations:
        """What of these was found, each once and in the order cited; a name under the wrong heading is understood."""
        facts: dict[str, Fact] = {}
        models: dict[str, MentalModelText] = {}
        unknown: set[str] = set()
        for name in (*fact_names, *mental_model_ids):
            fact, model = self.fact(name), self.mental_models.get(name.strip())
            if fact is not None:
                facts[fact.fact_id] = fact
            elif model is not None:
                models[model.mental_model_id] = model
            else:
                unknown.add(name)
        return Citations(facts=tuple(facts.values()), mental_models=tuple(models.values()), unknown=len(unknown))


def without_marks(text: str) -> tuple[str, list[str]]:
    """An answer without marks like ``[m3]``, and the names in them."""
    names = [name for found in _MARK.findall(text) for name in _HANDLE.findall(found)]
    return _MARK.sub("", text), names


def shown_fact(name: str, fact: Fact, *, entities: bool = False, proof_count: int = 1) -> dict[str, Any]:
    """A fact as the model reads it: only what helps to answer."""
    shown: dict[str, Any] = {"id": name, "text": fact.text}
    if fact.fact_type is not FactType.WORLD:
        shown["type"] = fact.fact_type.value
    if fact.mentioned_at:
        shown["said"] = fact.mentioned_at.date().isoformat()
    if fact.occurred_start:
        start = fact.occurred_start.date().isoformat()
        end = fact.occurred_end.date().isoformat() if fact.occurred_end else start
        shown["happened"] = start if start == end else f"{start} to {end}"
    if fact.context:
        shown["context"] = fact.context
    if fact.state is FactState.PENDING:
        shown["pending"] = True
    if max(proof_count, fact.proof_count) > 1:
        shown["support"] = max(proof_count, fact.proof_count)
    if entities and fact.entities:
        shown["names"] = list(fact.entities)
    return shown


def shown_mental_model(found: MentalModelText, longest: int | None = None) -> dict[str, Any]:
    """A mental model as the model reads it, cut after `longest` characters."""
    cut = longest is not None and len(found.text) > longest
    text = found.text[:longest].rstrip() + " …" if cut else found.text
    shown: dict[str, Any] = {"id": found.mental_model_id, "name": found.name, "question": found.question, "text": text}
    if cut:
        shown["cut"] = "read it in full with read_mental_models"
    if not found.fresh:
        shown["fresh"] = False
    return shown


def lines(rows: Sequence[dict[str, Any]]) -> str:
    """One JSON object a line."""
    return "\n".join(map(_encoded, rows))
