"""Servers of OpenAI's API understand different parts of it. What one refuses is found out once and remembered."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Literal

from hindsight_server.ports.llm import ChatRequest, Schema

SchemaWay = Literal["json_schema", "json_object", "prompt"]
ChoiceWay = Literal["named", "required", "auto"]
_NEXT_SCHEMA: dict[SchemaWay, SchemaWay] = {"json_schema": "json_object", "json_object": "prompt"}
_NEXT_CHOICE: dict[ChoiceWay, ChoiceWay] = {"named": "required", "required": "auto"}
_LIMITS = ("max_tokens", "max_completion_tokens")
# Two different schemas refused: it is the server that does not know them, not the one schema that is odd.
_REFUSED_SCHEMAS = 2
_MOST_SCHEMAS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a question is put: the parts of the API that are used for it."""

    limit: str = "max_tokens"
    temperature: bool = True
    schema: SchemaWay = "json_schema"
    choice: ChoiceWay = "named"


class Dialect:
    """What one server was found to understand.

    Args:
        limit: the field that limits an answer's tokens; the other one is tried when it is refused.
    """

    def __init__(self, limit: str = "max_tokens") -> None:
        self._usual = Manner(limit=limit)
        self._of_schema: dict[str, SchemaWay] = {}

    def manner(self, request: ChatRequest) -> Manner:
        """How to put a question, from what is known so far."""
        if request.schema is None or not self._of_schema:
            return self._usual
        return replace(self._usual, schema=self._of_schema.get(_digest(request.schema), self._usual.schema))

    def understood(self, request: ChatRequest, manner: Manner) -> None:
        """Remember the manner in which a question was answered."""
        usual = replace(self._usual, limit=manner.limit, temperature=manner.temperature)
        if request.tools and request.tool_choice != "auto":
            usual = replace(usual, choice=manner.choice)
        if request.schema is not None and manner.schema != usual.schema and len(self._of_schema) < _MOST_SCHEMAS:
            self._of_schema[_digest(request.schema)] = manner.schema
            if len(self._of_schema) >= _REFUSED_SCHEMAS:
                usual = replace(usual, schema=manner.schema)
        self._usual = usual


def simpler(request: ChatRequest, manner: Manner, complaint: str) -> Manner | None:
    """The next manner in which to put a refused question; None when there is nothing left to leave out.

    Args:
        complaint: what the server said.
    """
    if request.max_tokens is not None and manner.limit in re.findall(r"\w+", complaint) and "max_" in complaint:
        other = next(limit for limit in _LIMITS if limit != manner.limit)
        return replace(manner, limit=other)
    if request.temperature is not None and manner.temperature and "temperature" in complaint:
        return replace(manner, temperature=False)
    if request.schema is not None and manner.schema in _NEXT_SCHEMA:
        return replace(manner, schema=_NEXT_SCHEMA[manner.schema])
    if request.tools and request.tool_choice != "auto" and manner.choice in _NEXT_CHOICE:
        following = _NEXT_CHOICE[manner.choice]
        if request.tool_choice == "required" and following == "required":
            following = "auto"
        return replace(manner, choice=following)
    return None


def _digest(schema: Schema) -> str:
    return hashlib.sha256(json.dumps(schema.schema, sort_keys=True).encode()).hexdigest()
