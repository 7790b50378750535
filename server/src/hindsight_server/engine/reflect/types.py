"""What a reflect is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect.sources import MentalModelSource, MentalModelText
from hindsight_server.ports.llm import Usage

if TYPE_CHECKING:
    from hindsight_server.engine.banks import Banks
    from hindsight_server.engine.directives import Directives
    from hindsight_server.engine.language import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectQuery:
    """A question to answer from a bank's memories.

    Args:
        context: words that are added to the question (an older way to pass them).
        budget: how hard to search, and how long to think.
        max_tokens: tokens of the answer at most: kept to without a language model, aimed at with one.
        tags: which tags memories, mental models and directives must have; None is no filter, and leaves out directives
            with tags.
        fact_types: fact types to use; None or empty is all.
        query_timestamp: the "now" of the question; None is the clock's now.
        response_schema: a JSON schema for a structured answer; that needs a language model.
        every_directive: also directives whose tags do not match.
        exclude_mental_models, excluded_mental_models: use none, or none of these ids.
        observation_tokens: tokens of observations that one search shows the model, where it names no number.
        observation_entities: whether observations are shown with the names in them.
        recall_tokens: likewise of memories; None leaves it to the bank's settings.
        passages: whether the passages are shown that memories come from; None leaves it to the bank, or to
            `passage_tokens` where that is given.
        passage_tokens: tokens of these passages; 0 shows none, None leaves it to the bank.
        left_open: names of options that the caller did not give, as the HTTP API spells them; where the bank's
            ``reflect_default_options`` names one, that counts.
        purpose, operation_id: for the request log of the language model.
    """

    query: str
    context: str | None = None
    budget: Budget = Budget.LOW
    max_tokens: int = 4096
    tags: TagFilter | None = None
    fact_types: tuple[str, ...] | None = None
    query_timestamp: datetime | None = None
    response_schema: Mapping[str, Any] | None = None
    every_directive: bool = False
    exclude_mental_models: bool = False
    excluded_mental_models: frozenset[str] = frozenset()
    observation_tokens: int = 5000
    observation_entities: bool = True
    recall_tokens: int | None = None
    passages: bool | None = None
    passage_tokens: int | None = None
    left_open: frozenset[str] = frozenset()
    purpose: str = "reflect"
    operation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectOptions:
    """Limits of one reflect with a language model.

    Args:
        iterations: turns of the model with budget ``mid``; half as many with ``low``, twice with ``high``.
        wall_seconds: when it is given up.
        context_tokens: a conversation that grows beyond is ended, and the answer written from what was found.
    """

    iterations: int = 10
    wall_seconds: float = 300.0
    context_tokens: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """What reflect needs to answer with a language model.

    Args:
        banks: for the settings of a bank.
        directives: for its rules.
        mental_models: None offers none.
    """

    model: LanguageModel
    banks: Banks
    directives: Directives
    mental_models: MentalModelSource | None = None
    options: ReflectOptions = field(default_factory=ReflectOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. `output` is JSON-able; `iteration` is the model's turn, from 1 (0 without a model)."""

    tool: str
    input: Mapping[str, Any]
    output: Mapping[str, Any]
    duration_seconds: float
    iteration: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One question to the model: ``agent_3`` is its third turn, ``final`` an answer written from the evidence."""

    scope: str
    duration_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectOutcome:
    """The answer to a `ReflectQuery`.

    Args:
        text: Markdown; without a language model ``[n]`` cites the n-th fact of `based_on`.
        based_on: the facts that the answer cites. All of them were found by a search of this reflect.
        mental_models: likewise.
        directives: the rules that the model was told.
        seen: ids of all facts that the model was shown.
        unknown_citations: how many ids the model cited that no search had found; they are left out.
        structured_output: the answer by the schema, where one was given.
        structured_output_error: why there is none, when a schema was given.
        usage: tokens of the language model, all 0 without one.
    """

    text: str
    based_on: tuple[Fact, ...]
    tool_calls: tuple[ToolCall, ...]
    mental_models: tuple[MentalModelText, ...] = ()
    directives: tuple[Directive, ...] = ()
    seen: tuple[str, ...] = ()
    unknown_citations: int = 0
    model_calls: tuple[ModelCall, ...] = ()
    structured_output: Mapping[str, Any] | None = None
    structured_output_error: str | None = None
    usage: Usage = field(default_factory=Usage)
