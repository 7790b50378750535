"""Servers and models understand different parts of an API. What one refuses is found out once and remembered."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from hindsight_server.ports.llm import ChatRequest, Schema

SchemaWay = Literal["json_schema", "json_object", "tool", "prompt"]
ChoiceWay = Literal["named", "required", "auto"]
_NEXT_CHOICE: dict[ChoiceWay, ChoiceWay] = {"named": "required", "required": "auto"}
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

    def tool_choice(self, wanted: str) -> str:
        """What is asked for in the place of a wanted choice: ``auto``, ``required`` or the tool's name."""
        if wanted == "auto" or self.choice == "auto":
            return "auto"
        return "required" if self.choice == "required" else wanted


class Dialect:
    """What one server was found to understand.

    Args:
        limits: the fields that may limit an answer's tokens; the next one is tried when one is refused.
        schemas: the ways to ask for a structured answer, in the order in which they are tried.
    """

    def __init__(
        self,
        *,
        limits: Sequence[str] = ("max_tokens",),
        schemas: Sequence[SchemaWay] = ("json_schema", "json_object", "prompt"),
    ) -> None:
        self._limits = tuple(limits)
        self._next_schema = dict(pairwise(schemas))
        self._usual = Manner(limit=limits[0], schema=schemas[0])
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

    def simpler(self, request: ChatRequest, manner: Manner, complaint: str) -> Manner | None:
        """The next manner in which to put a refused question; None when there is nothing left to leave out.

        Args:
            complaint: what the server said.
        """
        other = next((limit for limit in self._limits if limit != manner.limit), None)
        if other and request.max_tokens is not None and manner.limit in re.findall(r"\w+", complaint):
            return replace(manner, limit=other)
        if request.temperature is not None and manner.temperature and "temperature" in complaint:
            return replace(manner, temperature=False)
        if request.schema is not None and manner.schema in self._next_schema:
            return replace(manner, schema=self._next_schema[manner.schema])
        if request.tools and request.tool_choice != "auto" and manner.choice in _NEXT_CHOICE:
            following = _NEXT_CHOICE[manner.choice]
            if request.tool_choice == "required" and following == "required":
                following = "auto"
            return replace(manner, choice=following)
        return None


def _digest(schema: Schema) -> str:
    return hashlib.sha256(json.dumps(schema.schema, sort_keys=True).encode()).hexdigest()
