"""The settings of a bank that steer recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hindsight_server.engine.config import resolve
from hindsight_server.engine.recall.question import Question
from hindsight_server.engine.recall.ranking import LIMITS, Limits
from hindsight_server.engine.recall.types import ArmStatus, Budget, RecallQuery

_MOST_CANDIDATES = 2000
_SWITCHES = {
    "enable_text_search": "keyword",
    "enable_graph_retrieval": "graph",
    "enable_temporal_retrieval": "temporal",
}
_RERANKING = "enable_reranking"
_OFF = (ArmStatus.SKIPPED, "turned off in the bank's settings")

Missing = Mapping[str, tuple[ArmStatus, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BankSettings:
    """What a bank's own settings change.

    Args:
        off: arms that are turned off, with the reason.
        compares: whether the best candidates may be compared word by word.
        limits: how many candidates each arm may bring.
    """

    off: Missing
    compares: bool
    limits: Limits


def read_settings(config: Mapping[str, Any], query: RecallQuery) -> tuple[BankSettings, RecallQuery]:
    """The settings for a query, and the query with what it left open filled in.

    Args:
        config: the bank's own settings, not the defaults.
    """
    if not config:
        return _DEFAULTS[query.budget], query
    query = _filled(config, query)
    off = {arm: _OFF for name, arm in _SWITCHES.items() if not config.get(name, True)}
    limits = _limits(config, query)
    return BankSettings(off=off, compares=config.get(_RERANKING, True), limits=limits), query


def without_arms(question: Question, off: Missing) -> Question:
    """The question without what only the arms that are turned off would read."""
    changes: dict[str, Any] = {}
    if "keyword" in off:
        changes["terms"] = ()
    if "graph" in off:
        changes["names"] = ()
    if "temporal" in off:
        changes |= {"times": (), "asks_when": False}
    return replace(question, **changes) if changes else question


def _filled(config: Mapping[str, Any], query: RecallQuery) -> RecallQuery:
    changes: dict[str, Any] = {}
    left_open = query.left_open
    if "max_tokens" in left_open and "recall_max_tokens" in config:
        changes["max_tokens"] = config["recall_max_tokens"]
    if "prefer_observations" in left_open and "recall_prefer_observations" in config:
        changes["prefer_observations"] = config["recall_prefer_observations"]
    by_bank = "chunks" in left_open and config.get("recall_include_chunks", False)
    if by_bank or (query.chunks_max_tokens is not None and "chunks_max_tokens" in left_open):
        changes["chunks_max_tokens"] = _chunk_tokens(config, query.chunks_max_tokens)
    return replace(query, **changes) if changes else query


def _chunk_tokens(config: Mapping[str, Any], asked: int | None) -> int:
    held = config.get("recall_chunks_max_tokens", asked)
    return int(resolve({})["recall_chunks_max_tokens"] if held is None else held)


def _limits(config: Mapping[str, Any], query: RecallQuery) -> Limits:
    """The limits of the budget, scaled so that an arm brings as many as the bank's settings say."""
    usual = LIMITS[query.budget]
    budget = query.budget.value
    settings = resolve(config)
    if settings["recall_budget_function"] == "adaptive":
        share = int(settings[f"recall_budget_adaptive_{budget}"] * query.max_tokens)
        wanted = max(settings["recall_budget_min"], min(share, settings["recall_budget_max"]))
    elif f"recall_budget_fixed_{budget}" in config:
        wanted = config[f"recall_budget_fixed_{budget}"]
    else:
        return usual
    arm = min(int(wanted), _MOST_CANDIDATES)
    return replace(usual, arm=arm, context=min(round(usual.context * arm / usual.arm), _MOST_CANDIDATES))


_DEFAULTS = {budget: BankSettings(off={}, compares=True, limits=LIMITS[budget]) for budget in Budget}
