"""The tools ``hindsight_retain``, ``hindsight_recall`` and ``hindsight_reflect``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool

from hindsight_adapter_core import (
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    MemoryToolSpec,
    MissingBankError,
    OperationError,
    open_memory,
    select_tools,
)
from hindsight_langchain.failures import reworded
from hindsight_langchain.run_context import BankChoice
from hindsight_langchain.tools import MemoryCall

from ._client import PACKAGE

__all__ = ["create_hindsight_tools"]


class _Call(MemoryCall):
    def __init__(self, spec: MemoryToolSpec, operations: MemoryOperations, bank: BankChoice) -> None:
        super().__init__(replace(spec, name=f"hindsight_{spec.operation}"), operations, bank)

    def worded(self, error: HindsightError, sentence: OperationError) -> HindsightError:
        if isinstance(error, MissingBankError):
            return MissingBankError(
                "No bank_id available for Hindsight tool. "
                f"Pass bank_id or set config['configurable']['{self.bank.key}']."
            )
        return reworded(f"{self.spec.operation.capitalize()} failed: ", sentence)


def create_hindsight_tools(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str | None = None,
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
    recall_types: list[str] | None = None,
    recall_include_entities: bool = False,
    bank_id_from_config: str = "user_id",
    reflect_context: str | None = None,
    reflect_max_tokens: int | None = None,
    reflect_response_schema: dict[str, Any] | None = None,
    reflect_tags: list[str] | None = None,
    reflect_tags_match: str | None = None,
    include_retain: bool = True,
    include_recall: bool = True,
    include_reflect: bool = True,
    raise_on_error: bool = False,
) -> list[BaseTool]:
    """The memory tools under the names of hindsight-langgraph, each sync and async.

    Arguments are those of :func:`hindsight_langchain.create_hindsight_tools`. A failing call becomes a tool message of
    status ``"error"`` ("Retain failed: ..."); with ``raise_on_error=True`` it raises :class:`HindsightError`, which
    ends the run, as hindsight-langgraph does.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=bank_id,
        hindsight_api_url=hindsight_api_url,
        budget=budget,
        max_tokens=max_tokens,
        tags=tags,
        recall_tags=recall_tags,
        recall_tags_match=recall_tags_match,
        retain_metadata=retain_metadata,
        retain_document_id=retain_document_id,
        recall_types=recall_types,
        recall_include_entities=recall_include_entities,
        reflect_context=reflect_context,
        reflect_max_tokens=reflect_max_tokens,
        reflect_response_schema=reflect_response_schema,
        reflect_tags=reflect_tags,
        reflect_tags_match=reflect_tags_match,
    )
    chosen = select_tools(include_retain=include_retain, include_recall=include_recall, include_reflect=include_reflect)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    return [_Call(spec, operations, bank).as_tool() for spec in chosen]
