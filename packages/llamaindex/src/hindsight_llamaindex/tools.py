"""Tools with which an agent remembers, looks up and reflects when it sees fit."""

from __future__ import annotations

from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, Field, create_model
from llama_index.core.tools.function_tool import FunctionTool
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec
from llama_index.core.tools.types import ToolMetadata

from hindsight_adapter_core import (
    TOOL_SPECS,
    Deadlines,
    DeliveryOptions,
    Flushed,
    MemoryOperations,
    MemoryOptions,
    MemoryToolSpec,
    id_text,
    open_memory,
    select_tools,
)

from ._client import PACKAGE
from .defaults import DEFAULT_CONTEXT, given

__all__ = ["HindsightToolSpec", "create_hindsight_tools"]

_SPECS: dict[str, MemoryToolSpec] = {spec.name: spec for spec in TOOL_SPECS} | {
    f"a{spec.name}": spec for spec in TOOL_SPECS
}


class HindsightToolSpec(Flushed, BaseToolSpec):
    """Three memory tools: ``retain_memory``, ``recall_memory`` and ``reflect_on_memory``, each sync and async.

    A tool does not raise because of the memory: it answers with a sentence such as "Failed to store memory: ...",
    which the model reads, unless ``raise_on_error`` is set. Requests run on one background loop, so the tools work in
    sync code, inside a running loop and in any thread.

    Args:
        bank_id: the memory bank; ``None`` takes ``HINDSIGHT_BANK_ID``.
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
        retain_context: label of where the text comes from.
        recall_types: fact types to search: ``world``, ``experience``, ``observation``; default all.
        recall_include_entities: ask for entities as well.
        reflect_context: extra context for reflect.
        reflect_max_tokens: bound of a reflect answer; default ``max_tokens``.
        reflect_response_schema: JSON schema; reflect then answers with JSON text.
        reflect_tags: filter of reflect; default ``recall_tags``.
        reflect_tags_match: default ``recall_tags_match``.
        mission: what the bank is for; given one, the bank is created before its first use.
        raise_on_error: raise :class:`HindsightError`, which makes the call a failed tool call, instead of answering so.
        retain_async: queue what is to be stored and go on; the next recall may not see it yet. What is queued is
            delivered in the background, also after an outage, and before the process ends.
        source_tag: also tag what is stored with ``source:llamaindex``.
        tag_groups: boolean tag filter of recall and reflect, instead of ``recall_tags``.
        min_scores: score floors of recall, e.g. ``{"final": 0.2}``.
        deadlines: time limits in seconds; default retain 15, recall 10, reflect 30, bank creation 15.
        delivery: bounds and pauses of the background queue.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> from hindsight_llamaindex import HindsightToolSpec
        >>> spec = HindsightToolSpec(bank_id="user-123", hindsight_api_url="http://localhost:8888")
        >>> [tool.metadata.name for tool in spec.to_tool_list(spec_functions=["recall_memory"])]
        ['recall_memory']
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = [  # noqa: RUF012 - the framework's own declaration is no ClassVar
        (spec.name, f"a{spec.name}") for spec in TOOL_SPECS
    ]

    def __init__(  # noqa: PLR0913 - the documented signature
        self,
        *,
        bank_id: str | int | None,
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
        retain_context: str | None = DEFAULT_CONTEXT,
        recall_types: list[str] | None = None,
        recall_include_entities: bool = False,
        reflect_context: str | None = None,
        reflect_max_tokens: int | None = None,
        reflect_response_schema: dict[str, Any] | None = None,
        reflect_tags: list[str] | None = None,
        reflect_tags_match: str | None = None,
        mission: str | None = None,
        raise_on_error: bool = False,
        retain_async: bool = False,
        source_tag: bool = False,
        tag_groups: list[dict[str, Any]] | None = None,
        min_scores: dict[str, float] | None = None,
        deadlines: Deadlines | None = None,
        delivery: DeliveryOptions | None = None,
    ) -> None:
        options = MemoryOptions(
            bank_id=id_text(bank_id),
            hindsight_api_url=hindsight_api_url,
            budget=budget,
            max_tokens=max_tokens,
            tags=tags,
            recall_tags=recall_tags,
            recall_tags_match=recall_tags_match,
            retain_metadata=retain_metadata,
            retain_document_id=retain_document_id,
            retain_context=given(retain_context),
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
        self._operations: MemoryOperations = open_memory(
            PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error
        )

    # The docstrings below are for people; a model reads the descriptions of the adapter core.

    def retain_memory(self, content: str) -> str:
        """Store ``content``; answers with the documented confirmation or failure sentence."""
        return self._operations.answer("retain", content)

    async def aretain_memory(self, content: str) -> str:
        """Async twin of :meth:`retain_memory`."""
        return await self._operations.aanswer("retain", content)

    def recall_memory(self, query: str) -> str:
        """Search for ``query``; answers with a numbered list, or says that nothing was found."""
        return self._operations.answer("recall", query)

    async def arecall_memory(self, query: str) -> str:
        """Async twin of :meth:`recall_memory`."""
        return await self._operations.aanswer("recall", query)

    def reflect_on_memory(self, query: str) -> str:
        """Answer ``query`` from everything the bank holds."""
        return self._operations.answer("reflect", query)

    async def areflect_on_memory(self, query: str) -> str:
        """Async twin of :meth:`reflect_on_memory`."""
        return await self._operations.aanswer("reflect", query)

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The chosen tools, all three by default.

        Args:
            spec_functions: names such as ``"recall_memory"``, or pairs of a sync and an async name. A single name
                gives a tool with both forms.
            func_to_metadata_mapping: metadata to show a model instead, by name.
        """
        paired = [_paired(one) for one in spec_functions] if spec_functions else None
        return super().to_tool_list(paired, func_to_metadata_mapping)

    def get_metadata_from_fn_name(
        self, fn_name: str, spec_functions: list[SPEC_FUNCTION_TYPE] | None = None
    ) -> ToolMetadata | None:
        """What a model sees of a tool: name, description and the schema of its one argument."""
        spec = _SPECS.get(fn_name)
        if spec is None:
            return super().get_metadata_from_fn_name(fn_name, spec_functions)
        return ToolMetadata(name=spec.name, description=spec.description, fn_schema=_schema(spec))

    def get_fn_schema_from_fn_name(
        self, fn_name: str, spec_functions: list[SPEC_FUNCTION_TYPE] | None = None
    ) -> type[BaseModel] | None:
        """The schema of a tool's arguments."""
        spec = _SPECS.get(fn_name)
        return None if spec is None else _schema(spec)

    def __repr__(self) -> str:
        return f"HindsightToolSpec(bank_id={self._operations.settings.bank_id!r})"


def _paired(function: SPEC_FUNCTION_TYPE) -> SPEC_FUNCTION_TYPE:
    spec = _SPECS.get(function) if isinstance(function, str) else None
    return function if spec is None else (spec.name, f"a{spec.name}")


def _schema(spec: MemoryToolSpec) -> type[BaseModel]:
    fields: dict[str, Any] = {spec.argument: (str, Field(description=spec.argument_description))}
    schema: type[BaseModel] = create_model(spec.name, **fields)
    return schema


def create_hindsight_tools(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str | int | None,
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
    retain_context: str | None = DEFAULT_CONTEXT,
    recall_types: list[str] | None = None,
    recall_include_entities: bool = False,
    reflect_context: str | None = None,
    reflect_max_tokens: int | None = None,
    reflect_response_schema: dict[str, Any] | None = None,
    reflect_tags: list[str] | None = None,
    reflect_tags_match: str | None = None,
    mission: str | None = None,
    include_retain: bool = True,
    include_recall: bool = True,
    include_reflect: bool = True,
    raise_on_error: bool = False,
    retain_async: bool = False,
    source_tag: bool = False,
    tag_groups: list[dict[str, Any]] | None = None,
    min_scores: dict[str, float] | None = None,
    deadlines: Deadlines | None = None,
    delivery: DeliveryOptions | None = None,
) -> list[FunctionTool]:
    """The memory tools as a list, ready for an agent: :class:`HindsightToolSpec` in one call.

    Args:
        bank_id: the memory bank; this and all others but the next three are those of :class:`HindsightToolSpec`. Keep
            a tool spec instead where you want to ``flush``, ``close`` or ``explain``: a list of tools can't.
        include_retain: with the tool ``retain_memory``.
        include_recall: with the tool ``recall_memory``.
        include_reflect: with the tool ``reflect_on_memory``.

    Returns:
        The chosen tools in that order; an empty list when all are left out.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> from hindsight_llamaindex import create_hindsight_tools
        >>> tools = create_hindsight_tools(bank_id="user-123", hindsight_api_url="http://localhost:8888")
        >>> [tool.metadata.name for tool in tools]
        ['retain_memory', 'recall_memory', 'reflect_on_memory']
    """
    chosen = select_tools(include_retain=include_retain, include_recall=include_recall, include_reflect=include_reflect)
    spec = HindsightToolSpec(
        bank_id=bank_id,
        client=client,
        hindsight_api_url=hindsight_api_url,
        api_key=api_key,
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
        raise_on_error=raise_on_error,
        retain_async=retain_async,
        source_tag=source_tag,
        tag_groups=tag_groups,
        min_scores=min_scores,
        deadlines=deadlines,
        delivery=delivery,
    )
    return spec.to_tool_list([one.name for one in chosen]) if chosen else []
