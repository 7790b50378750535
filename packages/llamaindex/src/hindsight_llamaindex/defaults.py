"""The defaults that this package's signatures show, told from the same values given by a caller."""

from __future__ import annotations

from hindsight_adapter_core import default_number, default_text, given

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_CONTEXT",
    "DEFAULT_MAX_TOKENS",
    "DEFAULT_TAGS_MATCH",
    "given",
]

DEFAULT_CONTEXT = default_text("llamaindex")
DEFAULT_BUDGET = default_text("mid")
DEFAULT_TAGS_MATCH = default_text("any")
DEFAULT_MAX_TOKENS = default_number(4096)
