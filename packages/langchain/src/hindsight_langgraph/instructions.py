"""Instructions for a model that carry memories."""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import MemoryOptions, check_positive, open_memory
from hindsight_langchain.instructions import DEFAULT_PREFIX, DEFAULT_QUERY, MemoryInstructions
from hindsight_langchain.run_context import BankChoice

from ._client import PACKAGE

__all__ = ["memory_instructions"]


def memory_instructions(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str,
    base_instructions: str = "",
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    query: str = DEFAULT_QUERY,
    budget: str | None = None,
    max_results: int = 5,
    max_tokens: int | None = None,
    prefix: str = DEFAULT_PREFIX,
    tags: list[str] | None = None,
    tags_match: str | None = None,
) -> MemoryInstructions:
    """As :func:`hindsight_langchain.memory_instructions`: ``await instructions()`` gives the text.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=bank_id,
        hindsight_api_url=hindsight_api_url,
        budget=budget,
        max_tokens=max_tokens,
        recall_tags=tags,
        recall_tags_match=tags_match,
    )
    check_positive("max_results", max_results)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key)
    return MemoryInstructions(
        operations,
        BankChoice(bank_id=bank_id),
        base_instructions=base_instructions,
        query=query,
        max_results=max_results,
        prefix=prefix,
    )
