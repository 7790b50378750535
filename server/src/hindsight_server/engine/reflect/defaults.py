"""The settings of a bank that steer reflect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hindsight_server.engine.reflect.searches import SearchSettings
from hindsight_server.engine.reflect.types import ReflectQuery
from hindsight_server.engine.reflect_options import SETTING, read_default_options


def with_bank_defaults(asked: ReflectQuery, config: Mapping[str, Any]) -> ReflectQuery:
    """The query with what it left open filled in from the bank's settings."""
    given = config.get(SETTING) or {}
    wanted = {name: value for name, value in given.items() if name in asked.left_open}
    return replace(asked, **read_default_options(wanted, SETTING)) if wanted else asked


def search_settings(asked: ReflectQuery, config: Mapping[str, Any]) -> SearchSettings:
    """The limits of the searches: what the query says, else a bank's resolved settings."""
    usual = config["recall_chunks_max_tokens"] if asked.passage_tokens is None else asked.passage_tokens
    by_bank = bool(config["recall_include_chunks"]) or asked.passage_tokens is not None
    shows_passages = by_bank if asked.passages is None else asked.passages
    return SearchSettings(
        recall_tokens=config["recall_max_tokens"] if asked.recall_tokens is None else asked.recall_tokens,
        chunk_tokens=usual if shows_passages else 0,
        source_tokens=max(0, config["reflect_source_facts_max_tokens"]),
    )
