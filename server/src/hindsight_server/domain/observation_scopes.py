"""Under which sets of tags a fact is consolidated, and which settings hold for such a scope.

A scope is a set of tags: observations of one scope rest on facts of that scope alone, and bear exactly its tags. The
empty scope holds what has no tags, and what was told to be shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any

from hindsight_server.domain.tags import tag_fits

Scope = tuple[str, ...]
"""Distinct tags in ascending order."""

SHARED: Scope = ()
MOST_COMBINED = 6
"""Tags of which every combination is a scope of its own: 63. With more, only each tag and all together are."""

STRATEGY_SETTINGS = (
    "observations_mission",
    "max_observations_per_scope",
    "consolidation_source_facts_max_tokens",
    "consolidation_source_facts_max_tokens_per_observation",
)


def scope_of(tags: Iterable[str]) -> Scope:
    """The scope of a set of tags."""
    return tuple(sorted(set(tags)))


def scopes_of(spec: object | None, tags: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes in which a fact is consolidated, each once.

    Args:
        spec: ``combined`` (as is None: all of its tags together), ``per_tag``, ``all_combinations``, ``shared``, or
            lists of tags. A tag with ``*`` stands for those of the fact that fit it; a list of which none fits is
            left out.
        tags: the fact's own.

    Example:
        >>> scopes_of([["topic:*"]], ["topic:tea", "user:ann"])
        (('topic:tea',),)
    """
    own = scope_of(tags)
    if isinstance(spec, list | tuple):
        found = [_listed(wanted, own) for wanted in spec]
        return tuple(dict.fromkeys(scope for scope in found if scope is not None))
    if spec == "shared" or not own:
        return (SHARED,)
    if spec == "per_tag":
        return tuple((tag,) for tag in own)
    if spec == "all_combinations":
        if len(own) > MOST_COMBINED:
            return (*((tag,) for tag in own), own)
        return tuple(scope for size in range(1, len(own) + 1) for scope in combinations(own, size))
    return (own,)


def _listed(wanted: Sequence[str], own: Scope) -> Scope | None:
    patterns = [tag for tag in wanted if "*" in tag]
    matched = [tag for tag in own if any(_fits(pattern, tag) for pattern in patterns)]
    if patterns and not matched:
        return None
    return scope_of([*matched, *(tag for tag in wanted if "*" not in tag)])


def strategy_of(scope: Scope, strategies: Sequence[Mapping[str, Any]] | None) -> int | None:
    """The place of the first strategy that claims a scope; None when none does."""
    return next((at for at, strategy in enumerate(strategies or ()) if claims(strategy, scope)), None)


def is_active(strategy: Mapping[str, Any]) -> bool:
    """Whether a strategy has a rule that can match and a setting to give."""
    rules = any(rule.get("tags") for rule in strategy.get("scopes") or ())
    return rules and any(strategy.get(name) is not None for name in STRATEGY_SETTINGS)


def claims(strategy: Mapping[str, Any], scope: Scope) -> bool:
    """Whether an active strategy has a rule that matches a scope."""
    return is_active(strategy) and any(rule_matches(rule, scope) for rule in strategy.get("scopes") or ())


def rule_matches(rule: Mapping[str, Any], scope: Scope) -> bool:
    """Whether each of a rule's patterns fits a tag of the scope, and with ``exact`` each tag a pattern."""
    patterns = rule.get("tags") or ()
    if not patterns or not all(any(_fits(pattern, tag) for tag in scope) for pattern in patterns):
        return False
    return rule.get("tags_match") != "exact" or _covered(scope, patterns)


def settings_of(scope: Scope, config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that hold in a scope: its strategy's, the bank's where that leaves them open.

    Args:
        config: the bank's resolved settings. Its older `observation_scope_limits` count as the bank's own limit: the
            first whose globs and the scope's tags cover each other.
    """
    settings = {name: config.get(name) for name in STRATEGY_SETTINGS}
    for limit in config.get("observation_scope_limits") or ():
        patterns = limit.get("scope") or ()
        if patterns and rule_matches({"tags": patterns, "tags_match": "exact"}, scope):
            settings["max_observations_per_scope"] = limit.get("limit")
            break
    strategies = config.get("consolidation_strategies") or ()
    at = strategy_of(scope, strategies)
    if at is not None:
        own = strategies[at]
        settings |= {name: own[name] for name in STRATEGY_SETTINGS if own.get(name) is not None}
    return settings


def _fits(pattern: str, tag: str) -> bool:
    """Whether a tag is a glob's, or the very text of it: a tag may hold brackets."""
    return tag_fits(pattern, tag) or fnmatchcase(tag, pattern)


def _covered(scope: Scope, patterns: Iterable[str]) -> bool:
    held = tuple(patterns)
    return all(any(_fits(pattern, tag) for pattern in held) for tag in scope)
