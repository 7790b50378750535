"""Asking a language model: three verbs over any provider, with limits, retries and a log."""

from hindsight_server.engine.language.checking import check_schema
from hindsight_server.engine.language.model import LanguageModel
from hindsight_server.engine.language.types import Answer, CallAbout, ModelOptions, Models, Spent, Structured, ToolTurn

__all__ = [
    "Answer",
    "CallAbout",
    "LanguageModel",
    "ModelOptions",
    "Models",
    "Spent",
    "Structured",
    "ToolTurn",
    "check_schema",
]
