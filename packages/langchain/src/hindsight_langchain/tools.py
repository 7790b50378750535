"""Tools with which an agent remembers, looks up and reflects when it sees fit."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field, PrivateAttr

from hindsight_adapter_core import (
    QUEUED_TEXT,
    RECALL_TOOL,
    REFLECT_TOOL,
    RETAIN_TOOL,
    RETAINED_TEXT,
    Deadlines,
    DeliveryOptions,
    Flushed,
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    MemoryToolSpec,
    OperationError,
    RecalledMemory,
    RecallOutcome,
    ReflectOutcome,
    RetainOutcome,
    open_memory,
    select_tools,
)

from ._client import PACKAGE
from .failures import told
from .run_context import BankChoice, BankId, RunContext, static_bank

__all__ = ["HindsightTool", "MemoryCall", "create_hindsight_tools", "memory_data"]

Answer = tuple[str, dict[str, Any]]
Outcome = RetainOutcome | RecallOutcome | ReflectOutcome


class RetainInput(BaseModel):
    """What a model gives to store something."""

    content: str = Field(description=RETAIN_TOOL.argument_description)


class QueryInput(BaseModel):
    """What a model gives to look something up."""

    query: str = Field(description=RECALL_TOOL.argument_description)


class QuestionInput(BaseModel):
    """What a model gives to have memory reasoned about."""

    query: str = Field(description=REFLECT_TOOL.argument_description)


_SCHEMAS: dict[str, type[BaseModel]] = {"retain": RetainInput, "recall": QueryInput, "reflect": QuestionInput}


class HindsightTool(Flushed, StructuredTool):
    """A memory tool. All of one call of :func:`create_hindsight_tools` share a client and a background queue."""

    _operations: MemoryOperations = PrivateAttr()


class MemoryCall:
    """What one memory tool does when it is called. Picklable; holds no key that a dump would show.

    Args:
        spec: what the model sees of the tool.
        operations: the memory.
        bank: how the bank of a call is found.
    """

    def __init__(self, spec: MemoryToolSpec, operations: MemoryOperations, bank: BankChoice) -> None:
        self.spec, self.bank = spec, bank
        self._operations = operations

    def as_tool(self) -> HindsightTool:
        """The tool. Its failures are tool messages of status ``"error"``, unless the memory is to raise."""
        tool = HindsightTool(
            name=self.spec.name,
            description=self.spec.description,
            args_schema=_SCHEMAS[self.spec.operation],
            func=self.call,
            coroutine=self.acall,
            response_format="content_and_artifact",
            handle_tool_error=True,
        )
        tool._operations = self._operations
        return tool

    def call(self, *texts: str, config: RunnableConfig, **arguments: str) -> Answer:
        """Text for the model and an artifact for the program: ids, dates, tags and scores as plain data.

        Raises:
            ToolException: the memory call failed; the text says why.
            HindsightError: instead of that, when the memory is to raise.
        """
        text = texts[0] if texts else arguments[self.spec.argument]
        memory, operation = self._operations, self.spec.operation
        outcome: Outcome
        try:
            bank = self.bank.of(RunContext.current(config))
            if operation == "retain" and memory.options.retain_async:
                memory.retain_in_background(text, bank_id=bank)
                return QUEUED_TEXT, {"bank_id": bank}
            if operation == "retain":
                outcome = memory.retain(text, bank_id=bank)
            elif operation == "recall":
                outcome = memory.recall(text, bank_id=bank)
            else:
                outcome = memory.reflect(text, bank_id=bank)
        except HindsightError as error:
            raise self._failure(error) from error
        return _answer(outcome, bank)

    async def acall(self, *texts: str, config: RunnableConfig, **arguments: str) -> Answer:
        """Async twin of :meth:`call`."""
        text = texts[0] if texts else arguments[self.spec.argument]
        memory, operation = self._operations, self.spec.operation
        outcome: Outcome
        try:
            bank = self.bank.of(RunContext.current(config))
            if operation == "retain" and memory.options.retain_async:
                await memory.aretain_in_background(text, bank_id=bank)
                return QUEUED_TEXT, {"bank_id": bank}
            if operation == "retain":
                outcome = await memory.aretain(text, bank_id=bank)
            elif operation == "recall":
                outcome = await memory.arecall(text, bank_id=bank)
            else:
                outcome = await memory.areflect(text, bank_id=bank)
        except HindsightError as error:
            raise self._failure(error) from error
        return _answer(outcome, bank)

    def _failure(self, error: HindsightError) -> Exception:
        failure = self.worded(error, told(self.spec.operation, error, self._operations, level=logging.ERROR))
        return failure if self._operations.raise_on_error else ToolException(str(failure))

    def worded(self, error: HindsightError, sentence: OperationError) -> HindsightError:
        """The failure in the words of this package."""
        return sentence


def _answer(outcome: Outcome, bank_id: str) -> Answer:
    if isinstance(outcome, RetainOutcome):
        return RETAINED_TEXT, {"bank_id": bank_id, **asdict(outcome)}
    if isinstance(outcome, RecallOutcome):
        return outcome.as_answer(), {"bank_id": bank_id, "memories": [memory_data(one) for one in outcome]}
    artifact = {"bank_id": bank_id, "text": outcome.text, "structured_output": outcome.structured_output}
    return outcome.as_answer(), artifact


def memory_data(memory: RecalledMemory) -> dict[str, Any]:
    """One memory as plain data, which any checkpointer can keep."""
    data = asdict(memory)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def create_hindsight_tools(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: BankId = None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str | None = None,
    max_tokens: int | None = None,
    tags: list[str] | None = None,
    recall_tags: list[str] | None = None,
    recall_tags_match: str | None = None,
    retain_metadata: dict[str, str] | None = None,
    retain_document_id: str | None = None,
    retain_context: str | None = None,
    recall_types: list[str] | None = None,
    recall_include_entities: bool = False,
    bank_id_from_config: str = "user_id",
    reflect_context: str | None = None,
    reflect_max_tokens: int | None = None,
    reflect_response_schema: dict[str, Any] | None = None,
    reflect_tags: list[str] | None = None,
    reflect_tags_match: str | None = None,
    mission: str | None = None,
    include_retain: bool = True,
    include_recall: bool = True,
    include_reflect: bool = True,
    source_tag: bool = False,
    retain_async: bool = False,
    tag_groups: list[dict[str, Any]] | None = None,
    min_scores: dict[str, float] | None = None,
    deadlines: Deadlines | None = None,
    delivery: DeliveryOptions | None = None,
    raise_on_error: bool = False,
) -> list[HindsightTool]:
    """The memory tools ``retain_memory``, ``recall_memory`` and ``reflect_on_memory``, each sync and async.

    They answer with text for the model and, as the tool message's ``artifact``, with ids, dates, tags and scores. A
    memory call that fails becomes a tool message of status ``"error"`` with a sentence such as "Failed to store
    memory: ...", so that the model knows and the run goes on.

    Args:
        bank_id: the memory bank, or a function from :class:`RunContext` to one, called anew at each tool call. By
            default the bank is what the run says under ``bank_id_from_config``, else ``HINDSIGHT_BANK_ID``.
        client: a client of yours; it wins over address and key, and stays yours to close.
        hindsight_api_url: server address; default ``configure()``, ``HINDSIGHT_API_URL``, the vendor's cloud.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        budget: search depth ``low``, ``mid`` or ``high``; default ``configure()``, else ``mid``.
        max_tokens: upper bound of a recall answer in tokens; default ``configure()``, else 4096.
        tags: tags put on everything stored.
        recall_tags: tags that recall filters by.
        recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``; default ``any``.
        retain_metadata: metadata put on everything stored.
        retain_document_id: document to store into; by default each call makes its own, ``<session 8>-<12 hex>``.
        retain_context: label of where the text comes from; default ``langchain``.
        recall_types: fact types to search: ``world``, ``experience``, ``observation``; default all.
        recall_include_entities: ask for entities as well.
        bank_id_from_config: where a run names its bank: a key of ``config["configurable"]`` or of the run's context.
        reflect_context: extra context for reflect.
        reflect_max_tokens: bound of a reflect answer; default ``max_tokens``.
        reflect_response_schema: JSON schema; reflect then answers with JSON text.
        reflect_tags: filter of reflect; default ``recall_tags``.
        reflect_tags_match: default ``recall_tags_match``.
        mission: what the bank is for; given one, the bank is created before its first use.
        include_retain, include_recall, include_reflect: which tools to make.
        source_tag: also tag what is stored with ``source:langchain``.
        retain_async: queue what is to be stored and go on; the next recall may not see it yet. What is queued is
            delivered in the background, also after an outage, and before the process ends.
        delivery: bounds of that queue.
        tag_groups: boolean tag filter of recall and reflect, instead of ``recall_tags``.
        min_scores: score floors of recall, e.g. ``{"final": 0.2}``.
        deadlines: time limits in seconds; default retain 15, recall 10, reflect 30, bank creation 15.
        raise_on_error: raise :class:`HindsightError` instead, which ends the run.

    Returns:
        The chosen tools; an empty list when all are left out. Each can :meth:`~HindsightTool.flush`,
        :meth:`~HindsightTool.close` and :meth:`~HindsightTool.explain` the memory that they share.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> from hindsight_langchain import create_hindsight_tools
        >>> tools = create_hindsight_tools(bank_id="user-123", hindsight_api_url="http://localhost:8888")
        >>> [tool.name for tool in tools]
        ['retain_memory', 'recall_memory', 'reflect_on_memory']
    """
    options = MemoryOptions(
        bank_id=static_bank(bank_id),
        hindsight_api_url=hindsight_api_url,
        budget=budget,
        max_tokens=max_tokens,
        tags=tags,
        recall_tags=recall_tags,
        recall_tags_match=recall_tags_match,
        retain_metadata=retain_metadata,
        retain_document_id=retain_document_id,
        retain_context=retain_context,
        recall_types=recall_types,
        recall_include_entities=recall_include_entities,
        reflect_context=reflect_context,
        reflect_max_tokens=reflect_max_tokens,
        reflect_response_schema=reflect_response_schema,
        reflect_tags=reflect_tags,
        reflect_tags_match=reflect_tags_match,
        mission=mission,
        source_tag=source_tag,
        retain_async=retain_async,
        tag_groups=tag_groups,
        min_scores=min_scores,
        deadlines=deadlines,
        delivery=delivery,
    )
    chosen = select_tools(include_retain=include_retain, include_recall=include_recall, include_reflect=include_reflect)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    return [MemoryCall(spec, operations, bank).as_tool() for spec in chosen]
