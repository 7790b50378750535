"""The fields that every memory of this package shows, and dumps: the settings it came out with, never a key."""

from __future__ import annotations

from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, Field

from hindsight_adapter_core import MemoryOperations

__all__ = ["BankFields", "resolved_fields"]


class BankFields(BaseModel):
    """Which bank, and how it is written and searched."""

    bank_id: str = Field(frozen=True, description="The memory bank.")
    context: str = Field(default="llamaindex", frozen=True, description="Label of where stored text comes from.")
    budget: str = Field(default="mid", frozen=True, description="Search depth: low, mid or high.")
    max_tokens: int = Field(default=4096, frozen=True, description="Upper bound of a recall, in tokens.")
    tags: list[str] | None = Field(default=None, frozen=True, description="Tags put on everything stored.")
    recall_tags: list[str] | None = Field(default=None, frozen=True, description="Tags that recall filters by.")
    recall_tags_match: str = Field(default="any", frozen=True, description="How recall_tags match.")
    mission: str | None = Field(default=None, frozen=True, description="What the bank is for.")
    hindsight_api_url: str | None = Field(default=None, frozen=True, description="Server address.")
    retain_async: bool = Field(default=False, frozen=True, description="Store in the background.")


def resolved_fields(operations: MemoryOperations) -> dict[str, Any]:
    """The values of :class:`BankFields` after precedence: argument, ``configure()``, environment, default."""
    settings = operations.settings
    return {
        "bank_id": settings.bank(),
        "context": settings.context,
        "budget": settings.budget,
        "max_tokens": settings.max_tokens,
        "tags": list(settings.tags) or None,
        "recall_tags": list(settings.recall_tags) or None,
        "recall_tags_match": settings.recall_tags_match,
        "mission": settings.mission,
        "retain_async": operations.options.retain_async,
        "hindsight_api_url": operations.handle.url,
    }
