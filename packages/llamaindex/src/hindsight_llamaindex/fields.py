"""The fields that every memory of this package shows, and dumps: the settings it came out with, never a key."""

from __future__ import annotations

from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, Field

from hindsight_adapter_core import MemoryOperations, MemoryOptions, id_text

from .defaults import given

__all__ = ["BankFields", "options_among", "resolved_fields"]

#: Fields that only an argument sets.
_AS_GIVEN = ("retain_async", "retain_metadata", "source_tag", "recall_types", "tag_groups", "min_scores")


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
    retain_metadata: dict[str, str] | None = Field(default=None, frozen=True, description="Put on everything stored.")
    source_tag: bool = Field(default=False, frozen=True, description="Also tag what is stored: source:llamaindex.")
    recall_types: list[str] | None = Field(default=None, frozen=True, description="Fact types to search.")
    tag_groups: list[dict[str, Any]] | None = Field(default=None, frozen=True, description="Instead of recall_tags.")
    min_scores: dict[str, float] | None = Field(default=None, frozen=True, description="Score floors of recall.")


def options_among(fields: dict[str, Any], **more: Any) -> MemoryOptions:
    """The options that are fields of :class:`BankFields`, taken out of ``fields``, and ``more`` that are none.

    Raises:
        SettingsError: one is out of its range.
    """
    taken = {name: given(fields.pop(name)) for name in BankFields.model_fields if name in fields}
    if "bank_id" in taken:
        taken["bank_id"] = id_text(taken["bank_id"])
    known = {"retain_context" if name == "context" else name: value for name, value in {**taken, **more}.items()}
    return MemoryOptions(**{name: value for name, value in known.items() if value is not None})


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
        "hindsight_api_url": operations.handle.url,
        **{name: getattr(operations.options, name) for name in _AS_GIVEN},
    }
