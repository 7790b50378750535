"""The factory of the three memory tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from haystack.tools.tool import Tool

from hindsight_adapter_core import (
    Deadlines,
    DeliveryOptions,
    MemoryOperations,
    MemoryOptions,
    SettingsError,
    open_memory,
    select_tools,
)
from hindsight_haystack._client import PACKAGE

from .saving import key_text
from .scope import ScopedMemories
from .tool import HindsightTool

__all__ = ["build_tools", "check_options", "create_hindsight_tools", "memory_from"]

_OPTION_NAMES = frozenset(field.name for field in fields(MemoryOptions))


def create_hindsight_tools(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str | None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: Any = None,
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
    inputs_from_state: Mapping[str, str] | None = None,
) -> list[Tool]:
    """The memory tools of one bank: ``retain_memory``, ``recall_memory``, ``reflect_on_memory``, in that order.

    Whatever is not given comes from ``configure()``, the environment or the default. Nothing is sent before the
    first call of a tool.

    Args:
        bank_id: the memory bank, usually one per user; ``None`` when every run brings its own.
        client: a ``hindsight_client.Hindsight`` of yours; its settings are used, it stays yours to close.
        hindsight_api_url: server address, without a ``client``.
        api_key: bearer key (text or a Haystack ``Secret``), without a ``client``.
        budget: search depth, ``low``, ``mid`` (default) or ``high``.
        max_tokens: upper bound of a recall answer, default 4096 tokens.
        tags: put on everything stored.
        recall_tags: filter of recall and reflect.
        recall_tags_match: ``any`` (default; untagged memories match too), ``all``, ``any_strict``, ``all_strict``,
            ``exact``.
        retain_metadata: put on everything stored.
        retain_document_id: document to store into; by default every call makes its own.
        retain_context: label of where the text comes from, default ``haystack``.
        recall_types: ``world``, ``experience``, ``observation``; default all.
        recall_include_entities: ask for entities as well.
        reflect_context: extra context for reflect.
        reflect_max_tokens: bound of a reflect answer, default ``max_tokens``.
        reflect_response_schema: JSON schema; reflect then answers with JSON text.
        reflect_tags, reflect_tags_match: filter of reflect, default that of recall.
        mission: what the bank is for; given one, the bank is created before its first use.
        include_retain, include_recall, include_reflect: leave tools out.
        raise_on_error: make failures real tool failures instead of sentences.
        retain_async: store in the background; the next recall may not see the memory yet.
        source_tag: also tag what is stored with ``source:haystack``.
        tag_groups: boolean tag filter, instead of ``recall_tags``.
        min_scores: score floors of recall, e.g. ``{"final": 0.2}``.
        deadlines: time limits per operation, in seconds.
        delivery: bounds and pauses of the background queue.
        inputs_from_state: agent state keys for ``"bank_id"`` and ``"tags"``, e.g. ``{"user_id": "bank_id"}``. Tags of
            a run are added to what it stores, and recall and reflect filter by them.

    Raises:
        SettingsError: a value is out of its range; the text names it.

    Example:
        >>> tools = create_hindsight_tools(bank_id="user-123", hindsight_api_url="http://localhost:8888")
        >>> [tool.name for tool in tools]
        ['retain_memory', 'recall_memory', 'reflect_on_memory']
    """
    arguments = dict(locals())
    return list(build_tools(ScopedMemories(memory_from(arguments)), arguments))


def memory_from(arguments: Mapping[str, Any]) -> MemoryOperations:
    """A memory from the arguments of the factory, the wrapper or the hook; other names are passed over."""
    options = MemoryOptions(**{name: value for name, value in arguments.items() if name in _OPTION_NAMES})
    return open_memory(
        PACKAGE,
        options,
        client=arguments.get("client"),
        api_key=key_text(arguments.get("api_key")),
        raise_on_error=arguments.get("raise_on_error", False),
    )


def check_options(owner: str, options: Mapping[str, Any]) -> None:
    """Refuse what :func:`memory_from` would pass over, for an ``owner`` that takes its options by ``**``.

    Raises:
        SettingsError: naming the unknown ones.
    """
    unknown = sorted(set(options) - _OPTION_NAMES - {"client", "api_key"})
    if unknown:
        raise SettingsError(f"{owner} knows no option {', '.join(unknown)}")


def build_tools(memories: ScopedMemories, arguments: Mapping[str, Any]) -> list[HindsightTool]:
    """The tools that ``include_retain``, ``include_recall`` and ``include_reflect`` leave in."""
    included = {name: value for name, value in arguments.items() if name.startswith("include_")}
    return [
        HindsightTool(
            spec, memories, inputs_from_state=arguments.get("inputs_from_state"), api_key=arguments.get("api_key")
        )
        for spec in select_tools(**included)
    ]
